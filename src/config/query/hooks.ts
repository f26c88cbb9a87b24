import type { EnvLookup } from "../config_paths.ts";
import { SETTINGS_KEYS } from "../foreign/claude.ts";
import { type Layer, locationOf } from "../load/layer.ts";
import type { LoadedConfig } from "../load/load.ts";
import { hookEntry } from "../project/project_policy.ts";
import type { HookEntry } from "../schema/config_types.ts";
import { CONFIG_SCHEMA, isTable } from "../schema/json_schema.ts";
import type { SourceLocation } from "../../core/mod.ts";
import { entryItem, type TrustItem } from "../../trust/mod.ts";
import { suggestNames } from "../../util/suggest.ts";

export interface ConfiguredHook extends HookEntry {
  readonly source: Layer["source"];
  readonly place?: SourceLocation;
  /** Directory of the installed bundle that it is a part of. */
  readonly root?: string;
  /** Absolute paths that its line names, whether or not they exist. */
  readonly paths: readonly string[];
  /** The fault that keeps it from running: an unknown key may restrict it to fewer calls. */
  readonly fault?: { readonly message: string; readonly remedy: string };
  readonly item?: TrustItem;
}

/** Returns the hooks in their order: those of the weakest file first. */
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
    const place = locationOf(layer, ["hooks", index ?? 0]);
    const { source } = layer;
    const trustEntry = hookEntry(entry, context);
    const { paths } = trustEntry;
    const { cwd } = context;
    const item = entryItem(trustEntry, { cwd, place: () => place ?? { file: layer.file ?? "" } });
    const fault = layer.find
      ? unknownKey(entry.unknown, SETTINGS_KEYS)
      : unknownKey(Object.keys(entry).find((key) => !HOOK_KEYS.includes(key)), HOOK_KEYS);
    return {
      ...hook,
      source,
      paths,
      ...(place ? { place } : {}),
      ...(layer.root === undefined ? {} : { root: layer.root }),
      ...(fault ? { fault } : {}),
      ...(source === "project" ? { item } : {}),
    };
  });
}

const HOOK_KEYS = Object.keys(CONFIG_SCHEMA.properties?.hooks?.items?.properties ?? {});

function unknownKey(name: unknown, known: readonly string[]): ConfiguredHook["fault"] {
  if (typeof name !== "string") return undefined;
  const near = suggestNames(name, known, 1)[0];
  const remedy = near ? `did you mean "${near}"?` : "remove it, or see reasonix docs hooks";
  return { message: `Unknown key ${JSON.stringify(name)}`, remedy };
}
