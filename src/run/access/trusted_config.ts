import { loadConfig, type LoadedConfig, type LoadOptions } from "../../config/mod.ts";
import { formatLocation, message, ReasonixError } from "../../core/mod.ts";
import { type TrustItem, TrustStore } from "../../trust/mod.ts";
import type { RunOptions } from "../run_options.ts";
import type { RunPaths } from "../run_paths.ts";

export interface TrustOptions extends Pick<RunOptions, "trustProject" | "ignoreUntrusted"> {
  /** Asks the user about items without a decision; absent: there is no prompt. */
  readonly decide?: ((items: readonly TrustItem[]) => Promise<"trust" | "ignore">) | undefined;
}

/**
 * Loads the configuration of a run with the items of the project that the user trusts. An executable item
 * without a decision ends a headless run (exit 3), unless the options use it or leave it out; otherwise
 * `decide` prompts for it. Permission grants and hooks are left out until they are trusted.
 */
export async function loadTrustedConfig(
  load: Omit<LoadOptions, "trust"> & RunPaths,
  options: TrustOptions,
): Promise<LoadedConfig> {
  const store = new TrustStore({ home: load.home, project: load.cwd, trustAll: options.trustProject });
  const loaded = await loadConfig({ ...load, trust: (item) => store.isTrusted(item) });
  const refused = loaded.needsTrust.filter(({ kind }) => !WAITING.has(kind));
  const [first] = refused;
  if (!first || options.ignoreUntrusted) return loaded;
  if (options.decide) {
    const items = loaded.needsTrust;
    if (await options.decide(items) === "ignore") return loaded;
    await store.trust(items);
    return await loadTrustedConfig(load, { ...options, ignoreUntrusted: true });
  }
  const names = refused.map((item) =>
    `${item.kind} ${item.name} (${formatLocation(item.place)}): ${item.reason}`
  );
  throw new ReasonixError(
    message`This project contains items that you have not trusted yet:\n  ${names.join("\n  ")}`,
    {
      exit: "blocked",
      place: first.place,
      remedy:
        message`look at it, then \`reasonix trust\`; or add --trust-project for this run, or --ignore-untrusted to leave it out`,
    },
  );
}

/** Items that a run can do without: they are named, and left out. */
const WAITING: ReadonlySet<TrustItem["kind"]> = new Set(["widening", "hook"]);
