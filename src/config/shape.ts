import shapeData from "./shape.json" with { type: "json" };
import type { KeyNotes } from "./schema_key.ts";

/** Plain data as it comes out of a TOML parser. */
export type Tree = { [key: string]: unknown };

/** What a value must look like: the subset of JSON Schema that shape.json uses, plus our notes. */
export interface Shape extends KeyNotes {
  readonly type?: "object" | "array" | "string" | "number" | "integer" | "boolean";
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Shape;
  readonly items?: Shape;
  /** Unknown keys of this table are kept. */
  readonly open?: boolean;
}

/**
 * The shape of a configuration file, generated from schema.ts. Start-up checks files against this table, because
 * evaluating the zod schema would cost more than everything else in this room together.
 */
export const CONFIG_SHAPE = shapeData as Shape;

export function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** The shape of the value that a key names inside a value of this shape, when the key is known. */
export function childShape(shape: Shape | undefined, key: string | number): Shape | undefined {
  if (typeof key === "number") return shape?.items;
  const properties = shape?.properties;
  if (properties && Object.hasOwn(properties, key)) return properties[key];
  return shape?.additionalProperties;
}
