import { checkConfig } from "./check.ts";
import type { Layer } from "./layer.ts";
import { ConfigError } from "../problem.ts";
import type { Config, ConfigInput, PluginEntry, ProviderEntry } from "../schema/config_types.ts";
import { CONFIG_SCHEMA, isTable, type JsonSchema, type TomlTable, valueAt } from "../schema/json_schema.ts";
import { builtInEntry, type HasKey, namedVendorEntry, type VendorEntry } from "../vendors.ts";
import { mapValues } from "../../util/json.ts";

/** The settings without any file: one vendor, so that a key is all a new user needs. */
export const DEFAULT_LAYER: Layer = defaultLayer("", () => false);

/** Returns the same for the vendor whose key there is; see {@linkcode builtInEntry}. */
export function defaultLayer(wanted: string, hasKey: HasKey): Layer {
  const entry = builtInEntry(wanted, hasKey);
  return { source: "default", table: { providers: entry ? [entry] : [] } };
}

const MODEL_KEYS: readonly (readonly string[])[] = [
  ["default_model"],
  ["agent_model"],
  ["vision_model"],
  ["agent", "fallback"],
  ["compaction", "summary_model"],
  ["agent", "planner_model"],
  ["agent", "subagent_model"],
];

/**
 * Returns the entries of well-known vendors that settings name in a reference such as `openrouter/…` and that
 * are not among the providers.
 */
export function namedVendors(
  settings: TomlTable,
  providers: readonly TomlTable[],
  hasKey: HasKey,
): TomlTable[] {
  const known = new Set(providers.map(({ name }) => name));
  const added = new Map<string, VendorEntry>();
  const named = valueAt(settings, ["agent", "subagent_models"]);
  const references = [
    ...MODEL_KEYS.flatMap((key) => valueAt(settings, key) ?? []),
    ...isTable(named) ? Object.values(named) : [],
    ...(Array.isArray(settings.plugins) ? settings.plugins : []).flatMap((entry) =>
      isTable(entry) && Array.isArray(entry.providers) ? entry.providers : []
    ),
    ...providers.flatMap(({ fallback }) => Array.isArray(fallback) ? fallback : []),
  ];
  for (const reference of references) {
    const entry = typeof reference === "string" ? namedVendorEntry(reference, hasKey) : undefined;
    if (!entry || known.has(entry.name)) continue;
    const models = [...new Set([...added.get(entry.name)?.models ?? [], ...entry.models])];
    added.set(entry.name, { ...entry, models, ...(models.length > 0 ? { default: models[0] } : {}) });
  }
  return [...added.values()];
}

/** Returns the typed configuration with every default. The table must have passed `checkConfig`. */
export function fillDefaults(table: TomlTable): Config {
  return fillValue(table, CONFIG_SCHEMA) as Config;
}

export function fillValue(value: unknown, schema: JsonSchema | undefined): unknown {
  if (Array.isArray(value)) return value.map((item) => fillValue(item, schema?.items));
  if (!isTable(value)) return value;
  if (!schema?.properties) return mapValues(value, (item) => fillValue(item, schema?.additionalProperties));
  const filled: TomlTable = schema.open ? { ...value } : {};
  for (const [name, child] of Object.entries(schema.properties)) {
    if (Object.hasOwn(value, name)) filled[name] = fillValue(value[name], child);
    else if (child.default !== undefined) filled[name] = fillValue(child.default, child);
  }
  return filled;
}

type Entries = Pick<Config, "providers" | "plugins">;
type EntryInput<List extends keyof Entries> = NonNullable<ConfigInput[List]>[number];

/**
 * A provider entry from a plain object, with every default filled in: what `[[providers]]` is in a file.
 *
 * @throws {ConfigError} when a value does not fit
 */
export function parseProvider(input: EntryInput<"providers">): ProviderEntry {
  return parseEntry("providers", input);
}

/** The same for an MCP server, which is `[[plugins]]` in a file. */
export function parsePlugin(input: EntryInput<"plugins">): PluginEntry {
  return parseEntry("plugins", input);
}

function parseEntry<List extends keyof Entries>(list: List, input: EntryInput<List>): Entries[List][number] {
  const table: TomlTable = { [list]: [input] };
  const errors = checkConfig(table).filter((finding) => finding.level === "error");
  if (errors.length > 0) throw new ConfigError(errors);
  const [entry] = fillDefaults(table)[list];
  if (!entry) throw new TypeError(`Cannot read the entry of ${list}: it is missing`);
  return entry;
}

/** Returns the commented file that `reasonix setup` writes. */
export async function defaultConfigText(): Promise<string> {
  const text = await import("./default_config.toml", { with: { type: "text" } });
  return text.default;
}
