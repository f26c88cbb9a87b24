import type { LoadedConfig, TrustItem } from "../config/mod.ts";
import { formatPlace, ReasonixError } from "../core/mod.ts";
import { type TrustItem as Trustable, TrustStore } from "../sandbox/mod.ts";
import { isFile } from "../path/probe.ts";
import type { RunPaths } from "./run_paths.ts";
import type { RunOptions } from "./run_options.ts";

/**
 * The configuration of a run with what the user trusts of the project. Anything executable that the project brings and that
 * nobody trusted ends a run without a person in front of it (exit 3), unless the flags say to use it or to leave it out.
 */
export async function loadTrustedConfig(
  paths: RunPaths,
  options: Pick<RunOptions, "trustProject" | "ignoreUntrusted">,
  load: (trust: (item: TrustItem) => boolean) => Promise<LoadedConfig>,
): Promise<LoadedConfig> {
  const loaded = await load(() => options.trustProject ?? false);
  const waiting = executables(loaded);
  if (waiting.length === 0) return loaded;
  const trusted = await trustedContents(paths, waiting);
  const refused = waiting.filter((item) => !trusted.has(item.content));
  const [first] = refused;
  if (first && !options.ignoreUntrusted) {
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
  return await load((item) => trusted.has(item.content));
}

/** What would run or receive the conversation. Nothing starts plugins yet, so nobody has to decide about them. */
export function executables(loaded: LoadedConfig): TrustItem[] {
  return loaded.needsTrust.filter((item) => item.kind !== "plugin");
}

/** The item as the trust store keys it: the entry as written, and the project's own files it names. */
export function trustable(paths: RunPaths, item: TrustItem): Trustable {
  const words = item.content.match(/[^\s"'[\]{},:=]+/g) ?? [];
  const files = words.map((word) => word.startsWith("/") ? word : `${paths.cwd}/${word}`).filter((path) =>
    path.startsWith(`${paths.cwd}/`) && isFile(path)
  );
  return { kind: item.kind, name: item.name, definition: item.content, files: [...new Set(files)] };
}

async function trustedContents(paths: RunPaths, items: readonly TrustItem[]): Promise<ReadonlySet<unknown>> {
  const store = new TrustStore({ home: paths.home, project: paths.cwd });
  const report = await store.inspect(items.map((item) => trustable(paths, item)));
  return new Set(report.trusted.map((item) => item.definition));
}
