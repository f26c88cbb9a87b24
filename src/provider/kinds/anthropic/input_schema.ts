import type { JsonSchema } from "../../../core/mod.ts";
import { isRecord } from "../../../util/json.ts";

/** What the server refuses at the top of a schema, though not below. */
const COMBINERS = ["allOf", "anyOf", "oneOf"] as const;

/**
 * The schema of a tool's input as the server takes it: an object, without alternatives at its top. These are
 * laid together there; arguments are checked against the tool's own schema anyhow.
 */
export function inputSchema(schema: JsonSchema): JsonSchema {
  const { allOf, anyOf, oneOf, ...rest } = schema;
  const base = { ...rest, type: "object", properties: isRecord(rest.properties) ? rest.properties : {} };
  return Object.entries({ allOf, anyOf, oneOf }).reduce<JsonSchema>(
    (whole, [combiner, list]) => Array.isArray(list) ? together(whole, list, combiner === "allOf") : whole,
    base,
  );
}

/** Required is what all alternatives require; of `allOf` what any of them does. */
function together(schema: JsonSchema, list: readonly unknown[], all: boolean): JsonSchema {
  const parts = list.filter(isRecord).map((part) =>
    COMBINERS.some((combiner) => combiner in part) ? inputSchema(part) : part
  );
  const properties = Object.assign({}, ...parts.map((part) => part.properties), schema.properties);
  const [first = new Set<unknown>(), ...others] = parts.map(({ required }) => new Set(namesIn(required)));
  const shared = others.reduce(
    (left, right) => all ? left.union(right) : left.intersection(right),
    first,
  );
  const required = [...new Set(namesIn(schema.required)).union(shared)];
  return { ...schema, properties, ...(required.length > 0 ? { required } : {}) };
}

function namesIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
