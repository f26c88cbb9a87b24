import * as z from "zod/mini";
import { configSchema } from "../src/config/schema/schema.ts";

/** A JSON Schema node with our `x-` keywords; see {@linkcode KeyNotes}. */
export interface JsonNode {
  type?: string;
  description?: string;
  default?: unknown;
  enum?: string[];
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  minLength?: number;
  properties?: Record<string, JsonNode>;
  required?: string[];
  additionalProperties?: JsonNode | boolean;
  items?: JsonNode;
  [keyword: string]: unknown;
}

/** JSON Schema 2020-12 of a configuration file, for editors (`#:schema` in the first line of the file). */
export function configJsonSchema(): JsonNode {
  const { $schema, ...schema } = z.toJSONSchema(configSchema, { io: "input" }) as JsonNode;
  return {
    $schema,
    title: "Reasonix configuration",
    description: "Keys of reasonix.toml and of config.toml in the Reasonix home.",
    ...sayIdle(tidy(schema)),
  };
}

/** Removes what says nothing, and closes the tables so that editors mark unknown keys. */
function tidy(node: JsonNode): JsonNode {
  const { propertyNames: _, ...kept } = node;
  if (kept.maximum === Number.MAX_SAFE_INTEGER) delete kept.maximum;
  if (kept.minimum === Number.MIN_SAFE_INTEGER) delete kept.minimum;
  if (kept.items) kept.items = tidy(kept.items);
  if (kept.properties) {
    if (kept.additionalProperties !== undefined) kept["x-open"] = true;
    kept.properties = mapValues(kept.properties, tidy);
    kept.additionalProperties = false;
  } else if (typeof kept.additionalProperties === "object") {
    kept.additionalProperties = tidy(kept.additionalProperties);
  }
  return kept;
}

/** Says in the description of every key that nothing reads that it has no effect. */
function sayIdle(node: JsonNode, inherited?: unknown): JsonNode {
  const idle = node["x-idle"] ?? inherited;
  const isTable = node.properties !== undefined || node.items?.properties !== undefined;
  const remark = idle === undefined || isTable
    ? ""
    : idle === "yet"
    ? " Has no effect yet."
    : " Has no effect.";
  return {
    ...node,
    ...(node.description ? { description: node.description + remark } : {}),
    ...(node.items ? { items: sayIdle(node.items, idle) } : {}),
    ...(node.properties ? { properties: mapValues(node.properties, (child) => sayIdle(child, idle)) } : {}),
  };
}

function mapValues<A, B>(record: Record<string, A>, map: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
}
