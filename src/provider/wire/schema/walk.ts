import type { JsonSchema } from "../../../core/mod.ts";
import { isRecord } from "../../../util/json.ts";

/** Keywords whose value is a map from names to schemas, a list of schemas, or a schema. */
const MAPS = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"];
const SINGLES = [
  "items",
  "additionalProperties",
  "unevaluatedProperties",
  "unevaluatedItems",
  "propertyNames",
  "contains",
  "not",
  "if",
  "then",
  "else",
];

/** Rewrites one schema whose inner schemas are rewritten already. */
export type Rewrite = (schema: Record<string, unknown>) => unknown;

/**
 * Rewrites a schema from the inside out; the given one stays as it is. Schemas that are `true` or `false`
 * are left alone.
 */
export function rewriteSchema(schema: unknown, rewrite: Rewrite): unknown {
  if (!isRecord(schema)) return schema;
  const own: Record<string, unknown> = { ...schema };
  for (const key of MAPS) {
    const map = own[key];
    if (isRecord(map)) own[key] = mapValues(map, (inner) => rewriteSchema(inner, rewrite));
  }
  for (const key of [...LISTS, "items"]) {
    const list = own[key];
    if (Array.isArray(list)) own[key] = list.map((inner) => rewriteSchema(inner, rewrite));
  }
  for (const key of SINGLES) if (isRecord(own[key])) own[key] = rewriteSchema(own[key], rewrite);
  return rewrite(own);
}

export function mapValues<T>(
  map: Readonly<Record<string, unknown>>,
  change: (value: unknown, key: string) => T,
): Record<string, T> {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value, key)]));
}

/** The schema that a reference inside of `root` names; undefined when there is none, or it is elsewhere. */
export function schemaAt(root: JsonSchema, reference: string): unknown {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let at: unknown = root;
  for (const step of reference.slice(2).split("/")) {
    const name = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(at)) at = at[Number(name)];
    else at = isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
  return at;
}

/** The description of a schema with more said at its end. */
export function withNote(description: unknown, note: string): string {
  const said = typeof description === "string" ? description.trimEnd() : "";
  if (note === "") return said;
  return said === "" ? note : `${said}${/[.!?]$/.test(said) ? "" : "."} ${note}`;
}
