import {
  childSchema,
  CONFIG_SCHEMA,
  isTable,
  type JsonSchema,
  type TomlTable,
} from "../schema/json_schema.ts";

/**
 * Lays one table over another: tables join key by key, lists marked so are joined, entries with a name
 * (providers, plugins) replace their namesakes and come first, anything else is replaced.
 */
export function mergeTables(
  lower: TomlTable,
  upper: TomlTable,
  schema: JsonSchema | undefined = CONFIG_SCHEMA,
): TomlTable {
  const merged = new Map(Object.entries(lower));
  for (const [name, value] of Object.entries(upper)) {
    merged.set(name, mergeValue(merged.get(name), value, childSchema(schema, name)));
  }
  return Object.fromEntries(merged);
}

function mergeValue(lower: unknown, upper: unknown, schema: JsonSchema | undefined): unknown {
  if (isTable(lower) && isTable(upper)) return mergeTables(lower, upper, schema);
  if (!Array.isArray(lower) || !Array.isArray(upper)) return upper;
  if (schema?.merge === "concat") return [...new Set([...lower, ...upper])];
  if (!schema?.items?.properties) return upper;
  const names = new Set(upper.map(nameOf));
  return [...upper, ...lower.filter((entry) => !names.has(nameOf(entry)))];
}

function nameOf(entry: unknown): unknown {
  return isTable(entry) ? entry.name : entry;
}
