import schemaData from "./schema.json" with { type: "json" };
import type { KeyNotes } from "./schema_key.ts";

/** Plain data as it comes out of a TOML parser. */
export type TomlTable = { [key: string]: unknown };

/** The form of a value: the subset of JSON Schema that schema.json uses, plus our notes. */
export interface JsonSchema extends KeyNotes {
  readonly type?: "object" | "array" | "string" | "number" | "integer" | "boolean";
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema;
  readonly items?: JsonSchema;
  /** Unknown keys of this table are kept. */
  readonly open?: boolean;
}

/**
 * The schema of a configuration file, generated from schema.ts. Start-up checks files against this table,
 * because evaluating the zod schema would cost more than everything else in this package together.
 */
export const CONFIG_SCHEMA = schemaData as JsonSchema;

export function isTable(value: unknown): value is TomlTable {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** The schema of the value that a key names inside a value of this schema, when the key is known. */
export function childSchema(schema: JsonSchema | undefined, key: string | number): JsonSchema | undefined {
  if (typeof key === "number") return schema?.items;
  const properties = schema?.properties;
  if (properties && Object.hasOwn(properties, key)) return properties[key];
  return schema?.additionalProperties;
}
