import type { LoadedConfig, TrustItem } from "../src/config/mod.ts";
import { formatPlace, ReasonixError } from "../src/core/mod.ts";
import { type TrustItem as Trustable, TrustStore } from "../src/sandbox/mod.ts";
import { isFile } from "../src/util/look.ts";
import type { Place } from "./place.ts";
import { loadRunConfig } from "./run_config.ts";
import type { RunFlags } from "./run_flags.ts";

/**
 * The configuration of a run with what the user trusts of the project. Anything executable that the project brings and that
 * nobody trusted ends a run without a person in front of it (exit 3), unless the flags say to use it or to leave it out.
 */
export async function loadTrustedConfig(place: Place, flags: RunFlags): Promise<LoadedConfig> {
  const loaded = await loadRunConfig(place, flags, () => flags.trustProject ?? false);
  const waiting = executables(loaded);
  if (waiting.length === 0) return loaded;
  const trusted = await trustedContents(place, waiting);
  const refused = waiting.filter((item) => !trusted.has(item.content));
  const [first] = refused;
  if (first && !flags.ignoreUntrusted) {
    const names = refused.map((item) =>
      `${item.kind} ${item.name} (${formatPlace(item.place)}): ${item.reason}`
    );
    throw new ReasonixError(`This project brings what has not been trusted:\n  ${names.join("\n  ")}`, {
      exit: "blocked",
      place: first.place,
      remedy:
        "look at it, then `reasonix trust`; or add --trust-project for this run, or --ignore-untrusted to leave it out",
    });
  }
  return await loadRunConfig(place, flags, (item) => trusted.has(item.content));
}

/** What would run or receive the conversation; an entry that only lost its key works without it. */
export function executables(loaded: LoadedConfig): TrustItem[] {
  return loaded.needsTrust.filter((item) => item.kind !== "key");
}

/** The item as the trust store keys it: the entry as written, and the project's own files it names. */
export function trustable(place: Place, item: TrustItem): Trustable {
  const words = item.content.match(/[^\s"'[\]{},:=]+/g) ?? [];
  const files = words.map((word) => word.startsWith("/") ? word : `${place.cwd}/${word}`).filter((path) =>
    path.startsWith(`${place.cwd}/`) && isFile(path)
  );
  return { kind: item.kind, name: item.name, definition: item.content, files: [...new Set(files)] };
}

async function trustedContents(place: Place, items: readonly TrustItem[]): Promise<ReadonlySet<unknown>> {
  const store = new TrustStore({ home: place.home, project: place.cwd });
  const report = await store.inspect(items.map((item) => trustable(place, item)));
  return new Set(report.trusted.map((item) => item.definition));
}
