import type { JsonSchema } from "../../../core/mod.ts";
import { isRecord } from "../../../util/json.ts";
import { mapValues, rewriteSchema, schemaAt, withNote } from "./walk.ts";

/** Formats of texts that strict schemas may ask for. */
const FORMATS = new Set([
  "date-time",
  "time",
  "date",
  "duration",
  "email",
  "hostname",
  "ipv4",
  "ipv6",
  "uuid",
]);

/** Keywords that strict schemas may hold, beside those that hold schemas. */
const KEPT = new Set([
  "type",
  "description",
  "title",
  "enum",
  "$ref",
  "$defs",
  "definitions",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "anyOf",
  "pattern",
  "format",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minItems",
  "maxItems",
]);

/** Keywords with schemas in them that only narrow what is allowed: the tool checks them itself. */
const NARROWING = [
  "not",
  "if",
  "then",
  "else",
  "contains",
  "propertyNames",
  "unevaluatedItems",
  "unevaluatedProperties",
  "dependentSchemas",
];
const LONGEST_NOTE = 200;

/** Keywords that say nothing a model has to know. */
const SILENT = new Set(["$schema", "$id", "$comment", "$anchor", "examples", "deprecated", "readOnly"]);

const LIMITS = { depth: 10, properties: 5000, choices: 1000 };

/** Thrown inside: a construct that has no strict form. */
class NoStrictForm extends Error {}

/**
 * The schema as strict function calling takes it: every object closed, every key required, keys that were
 * optional may be null, refused keywords said in the description. Undefined when it allows what no strict
 * schema can (keys of any name, any value at all, references to elsewhere).
 *
 * Source: the guide to structured outputs of OpenAI, "Supported schemas".
 */
export function strictSchema(schema: JsonSchema): JsonSchema | undefined {
  try {
    const strict = rewriteSchema(rewriteSchema(schema, withoutNarrowing), (one) => strictOne(one, schema));
    if (!isRecord(strict) || strict.type !== "object" || "anyOf" in strict) return undefined;
    return isWithinLimits(strict) ? strict : undefined;
  } catch (error) {
    if (error instanceof NoStrictForm) return undefined;
    throw error;
  }
}

function withoutNarrowing(schema: Record<string, unknown>): Record<string, unknown> {
  const own = { ...schema };
  for (const key of NARROWING) {
    if (own[key] === undefined) continue;
    own.description = withNote(own.description, noteOf([[key, own[key]]]));
    delete own[key];
  }
  return own;
}

/** Keywords in words, for a description. */
function noteOf(keywords: readonly (readonly [string, unknown])[]): string {
  const text = keywords.map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join(", ");
  return text.length > LONGEST_NOTE ? "" : `(${text})`;
}

function strictOne(given: Record<string, unknown>, root: JsonSchema): Record<string, unknown> {
  if (typeof given.$ref === "string") return reference(given, given.$ref, root);
  const schema = oneAlternative(merged(given));
  const notes: [string, unknown][] = [];
  const own: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (KEPT.has(key) && !isRefused(key, value)) own[key] = value;
    else if (key === "const") own.enum = [value];
    else if (!SILENT.has(key)) notes.push([key, value]);
  }
  if (notes.length > 0) own.description = withNote(own.description, noteOf(notes));
  if (isObject(own)) return closed(own, schema);
  if (typesOf(own).includes("array") && !isRecord(own.items)) throw new NoStrictForm();
  if (own.type === undefined && own.anyOf === undefined) return typed(own);
  return own;
}

function isRefused(key: string, value: unknown): boolean {
  if (key === "format") return !FORMATS.has(String(value));
  // Patterns that look around are refused.
  return key === "pattern" && /\(\?/.test(String(value));
}

/** A reference stands alone: what it means is said where it leads. */
function reference(given: Record<string, unknown>, to: string, root: JsonSchema): Record<string, unknown> {
  if (!isRecord(schemaAt(root, to))) throw new NoStrictForm();
  const definitions = Object.entries(given).filter(([key]) => key === "$defs" || key === "definitions");
  return { $ref: to, ...Object.fromEntries(definitions) };
}

/** `allOf` of objects is one object; of one schema, that schema. */
function merged(schema: Record<string, unknown>): Record<string, unknown> {
  const { allOf, ...own } = schema;
  if (!Array.isArray(allOf)) return schema;
  let all = own;
  for (const part of allOf) {
    if (!isRecord(part) || "$ref" in part && Object.keys(all).some((key) => key !== "description")) {
      throw new NoStrictForm();
    }
    for (const key of Object.keys(part)) {
      const both = key in all && JSON.stringify(all[key]) !== JSON.stringify(part[key]);
      if (both && !["properties", "required", "description"].includes(key)) throw new NoStrictForm();
    }
    const { properties, required } = part;
    all = {
      ...part,
      ...all,
      ...(isRecord(properties) ? { properties: { ...record(all.properties), ...properties } } : {}),
      ...(Array.isArray(required) ? { required: [...list(all.required), ...required] } : {}),
    };
  }
  return all;
}

/** Strict schemas know `anyOf` only. */
function oneAlternative(schema: Record<string, unknown>): Record<string, unknown> {
  const { oneOf, ...own } = schema;
  if (!Array.isArray(oneOf)) return schema;
  if (own.anyOf !== undefined) throw new NoStrictForm();
  return { ...own, anyOf: oneOf };
}

function closed(own: Record<string, unknown>, given: Record<string, unknown>): Record<string, unknown> {
  // The inner schemas are closed already, so `false` is all that may stand here.
  const open = own.additionalProperties !== undefined && own.additionalProperties !== false;
  const keys = record(own.properties);
  const anyKey = Object.keys(keys).length === 0 && own.additionalProperties !== false;
  const empty = isRecord(given.properties) && Object.keys(given.properties).length === 0;
  if (open || given.patternProperties !== undefined || (anyKey && !empty)) throw new NoStrictForm();
  const required = new Set(list(given.required));
  return {
    ...own,
    type: own.type ?? "object",
    properties: mapValues(keys, (schema, key) => required.has(key) ? schema : nullable(schema)),
    required: Object.keys(keys),
    additionalProperties: false,
  };
}

/** A schema that lists values has their type; one that says nothing at all allows too much. */
function typed(own: Record<string, unknown>): Record<string, unknown> {
  if (!Array.isArray(own.enum)) throw new NoStrictForm();
  const types = [...new Set(own.enum.map((value) => value === null ? "null" : typeof value))];
  if (types.includes("object")) throw new NoStrictForm();
  return { type: types.length === 1 ? types[0] : types, ...own };
}

function nullable(schema: unknown): unknown {
  if (!isRecord(schema) || acceptsNull(schema)) return schema;
  if (schema.$ref !== undefined) return { anyOf: [schema, { type: "null" }] };
  const { type, enum: values, anyOf } = schema;
  return {
    ...schema,
    ...(type === undefined ? {} : { type: [...typesOf(schema), "null"] }),
    ...(Array.isArray(values) ? { enum: [...values, null] } : {}),
    ...(Array.isArray(anyOf) ? { anyOf: [...anyOf, { type: "null" }] } : {}),
  };
}

function acceptsNull(schema: unknown): boolean {
  if (!isRecord(schema)) return schema === true;
  if (Array.isArray(schema.enum) && !schema.enum.includes(null)) return false;
  if ("const" in schema) return schema.const === null;
  const choices = [...list(schema.anyOf), ...list(schema.oneOf)];
  if (choices.some(acceptsNull)) return true;
  return typesOf(schema).includes("null") || list(schema.enum).includes(null);
}

/**
 * The arguments of a strict call without the nulls that stand for optional keys, as the declared schema
 * takes them. The given text when there are none.
 */
export function withoutNulls(text: string, schema: JsonSchema): string {
  if (!text.includes("null")) return text;
  let found = false;
  const clean = (value: unknown, at: unknown): unknown => {
    const one = objectSchema(at, schema);
    if (Array.isArray(value)) return value.map((item) => clean(item, isRecord(one) ? one.items : undefined));
    if (!isRecord(value)) return value;
    const keys = record(one?.properties);
    const required = list(one?.required);
    const kept = Object.entries(value).filter(([key, inner]) => {
      const unset = inner === null && key in keys && !required.includes(key) && !acceptsNull(keys[key]);
      found ||= unset;
      return !unset;
    });
    return Object.fromEntries(kept.map(([key, inner]) => [key, clean(inner, keys[key])]));
  };
  const value: unknown = JSON.parse(text);
  const cleaned = clean(value, schema);
  return found ? JSON.stringify(cleaned) : text;
}

/** The schema that says what is inside of a value: behind references, and the first such choice. */
function objectSchema(at: unknown, root: JsonSchema): Record<string, unknown> | undefined {
  if (!isRecord(at)) return undefined;
  if (typeof at.$ref === "string") {
    const target = schemaAt(root, at.$ref);
    return target === at ? undefined : objectSchema(target, root);
  }
  if (at.properties !== undefined || at.items !== undefined) return at;
  const choices = [...list(at.anyOf), ...list(at.oneOf), ...list(at.allOf)];
  return choices.map((choice) => objectSchema(choice, root)).find((found) => found !== undefined);
}

function isWithinLimits(schema: Record<string, unknown>): boolean {
  let [properties, choices, deepest] = [0, 0, 0];
  const depth = (value: unknown): number => {
    if (Array.isArray(value)) return Math.max(0, ...value.map(depth));
    if (!isRecord(value)) return 0;
    return (isRecord(value.properties) ? 1 : 0) + Math.max(0, ...Object.values(value).map(depth));
  };
  deepest = depth(schema);
  rewriteSchema(schema, (one) => {
    properties += Object.keys(record(one.properties)).length;
    choices += list(one.enum).length;
    return one;
  });
  return deepest <= LIMITS.depth && properties <= LIMITS.properties && choices <= LIMITS.choices;
}

function isObject(schema: Record<string, unknown>): boolean {
  return typesOf(schema).includes("object") || isRecord(schema.properties);
}

function typesOf({ type }: Record<string, unknown>): readonly unknown[] {
  return Array.isArray(type) ? type : type === undefined ? [] : [type];
}

function record(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
