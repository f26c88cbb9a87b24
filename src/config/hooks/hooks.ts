import type { SourcePlace } from "../../core/mod.ts";
import { type Layer, placeOf } from "../load/layer.ts";
import type { LoadedConfig } from "../load/load.ts";
import type { TrustItem } from "../project/project_policy.ts";
import type { HookEntry } from "../schema/hook_schema.ts";
import { isTable, type TomlTable } from "../schema/json_schema.ts";
import { hookCandidate } from "./hook_trust.ts";
import { canonicalJson } from "../../util/canonical_json.ts";
import type { EnvLookup } from "../config_paths.ts";

/** A hook that the files describe and that counts. */
export interface ConfiguredHook extends HookEntry {
  readonly source: Layer["source"];
  readonly place?: SourcePlace;
  /** What the user's decision is about, of a hook that the project brings. */
  readonly item?: Pick<TrustItem, "kind" | "name" | "content" | "paths">;
}

/** The entries of `[[hooks]]` of a layer that count. */
export function hooksOf({ table: { hooks } }: Pick<Layer, "table">): TomlTable[] {
  return Array.isArray(hooks) ? hooks.filter(isTable) : [];
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
    if (!layer || !entry) return { ...hook, source: "default" };
    const place = placeOf(layer, ["hooks", index ?? 0]);
    const { source } = layer;
    const { kind, name, paths, written } = hookCandidate(entry, context);
    return {
      ...hook,
      source,
      ...(place ? { place } : {}),
      ...(source === "project" ? { item: { kind, name, paths, content: canonicalJson(written) } } : {}),
    };
  });
}
