import type { SourcePlace } from "../../core/mod.ts";
import { type Layer, placeOf } from "../load/layer.ts";
import type { LoadedConfig } from "../load/load.ts";
import type { TrustItem } from "../project/project_policy.ts";
import type { HookEntry } from "../schema/hook_schema.ts";
import { isTable } from "../schema/json_schema.ts";
import { hookCandidate } from "../plugins/plugin_trust.ts";
import { canonicalJson } from "../../util/canonical_json.ts";
import type { EnvLookup } from "../config_paths.ts";

/** A hook that the files describe and that counts. */
export interface ConfiguredHook extends HookEntry {
  readonly source: Layer["source"];
  readonly place?: SourcePlace;
  /** Paths that its line names, absolute, whether or not there are such files. */
  readonly paths: readonly string[];
  /** What the user's decision is about, of a hook that the project brings. */
  readonly item?: TrustItem;
}

/** Returns the hooks in the order in which they count: those of the weakest file first. */
export function configuredHooks(
  { config, layers }: Pick<LoadedConfig, "config" | "layers">,
  context: { readonly cwd: string; readonly env: EnvLookup },
): ConfiguredHook[] {
  const places = layers.toReversed().flatMap((layer) => {
    const written = Array.isArray(layer.table.hooks) ? layer.table.hooks : [];
    return written.flatMap((entry: unknown, index) => isTable(entry) ? [{ layer, entry, index }] : []);
  });
  return config.hooks.map((hook, at): ConfiguredHook => {
    const { layer, entry, index } = places[at] ?? {};
    if (!layer || !entry) return { ...hook, source: "default", paths: [] };
    const place = placeOf(layer, ["hooks", index ?? 0]);
    const { source } = layer;
    const { written, ...candidate } = hookCandidate(entry, context);
    const { paths } = candidate;
    const item = {
      ...candidate,
      content: canonicalJson(written),
      place: place ?? { file: layer.file ?? "" },
    };
    return { ...hook, source, paths, ...(place ? { place } : {}), ...(source === "project" ? { item } : {}) };
  });
}
