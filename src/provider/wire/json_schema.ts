/**
 * JSON schemas of tools in the forms that vendors take: strict for OpenAI, a subset of the keywords for
 * Gemini, without alternatives at the top for Anthropic. Arguments are checked against the schema of the tool
 * all the same.
 */
import type { JsonSchema } from "../../core/mod.ts";
import { defined, isRecord, mapValues, recordOf } from "../../util/json.ts";

type Schema = Record<string, unknown>;

function words(text: string): readonly string[] {
  return text.split(" ");
}

/** Keywords whose value is a map from names to schemas. */
const MAPS = new Set(words("properties patternProperties $defs definitions dependentSchemas"));
/** Keywords whose value is a schema or a list of schemas. */
const INNER = new Set(words(
  "allOf anyOf oneOf prefixItems items additionalProperties unevaluatedProperties unevaluatedItems " +
    "propertyNames contains not if then else",
));
const LONGEST_NOTE = 200;

/** A copy of a schema, rewritten from the inside out; boolean schemas stay. */
function rewriteSchema(schema: unknown, rewrite: (schema: Schema) => unknown): unknown {
  if (Array.isArray(schema)) return schema.map((one) => rewriteSchema(one, rewrite));
  if (!isRecord(schema)) return schema;
  const inner = (value: unknown) => rewriteSchema(value, rewrite);
  return rewrite(mapValues(schema, (value, key) => {
    if (MAPS.has(key) && isRecord(value)) return mapValues(value, inner);
    return INNER.has(key) ? inner(value) : value;
  }));
}

/** The schema that a reference inside of `root` names; undefined when there is none, or it is elsewhere. */
function schemaAt(root: JsonSchema, reference: string): unknown {
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

function withNote(description: unknown, note: string): string {
  const text = typeof description === "string" ? description.trimEnd() : "";
  if (note === "") return text;
  return text === "" ? note : `${text}${/[.!?]$/.test(text) ? "" : "."} ${note}`;
}

function noteOf(key: string, value: unknown): string {
  return `${key}: ${JSON.stringify(value)}`;
}

const STRICT_FORMATS = new Set(words("date-time time date duration email hostname ipv4 ipv6 uuid"));

const STRICT_KEYWORDS = new Set(words(
  "type description title enum $ref $defs definitions properties required additionalProperties items anyOf " +
    "pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems",
));

/** Keywords with schemas in them that only narrow what is allowed: the tool checks them itself. */
const NARROWING = words(
  "not if then else contains propertyNames unevaluatedItems unevaluatedProperties dependentSchemas",
);

const STRICT_SILENT = new Set(words("$schema $id $comment $anchor examples deprecated readOnly"));

const LIMITS = { depth: 10, properties: 5000, choices: 1000 };

class NoStrictForm extends Error {}

/**
 * The schema as strict function calling takes it: every object closed, every key required, keys that were
 * optional may be null, refused keywords noted in the description. Undefined when it allows what no strict
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

function withoutNarrowing(schema: Schema): Schema {
  const own = { ...schema };
  for (const key of NARROWING) {
    if (own[key] === undefined) continue;
    own.description = withNote(own.description, strictNote([[key, own[key]]]));
    delete own[key];
  }
  return own;
}

/** Keywords as a note for a description; empty where it would be long. */
function strictNote(keywords: readonly (readonly [string, unknown])[]): string {
  const text = keywords.map(([key, value]) => noteOf(key, value)).join(", ");
  return text.length > LONGEST_NOTE ? "" : `(${text})`;
}

function strictOne(given: Schema, root: JsonSchema): Schema {
  if (typeof given.$ref === "string") {
    if (!isRecord(schemaAt(root, given.$ref))) throw new NoStrictForm();
    // It has no other keywords: its target has them.
    const { $ref, $defs, definitions } = given;
    return defined({ $ref, $defs, definitions });
  }
  const schema = oneAlternative(mergedStrictly(given));
  const notes: [string, unknown][] = [];
  const own: Schema = {};
  for (const [key, value] of Object.entries(schema)) {
    if (STRICT_KEYWORDS.has(key) && !isRefused(key, value)) own[key] = value;
    else if (key === "const") own.enum = [value];
    else if (!STRICT_SILENT.has(key)) notes.push([key, value]);
  }
  if (notes.length > 0) own.description = withNote(own.description, strictNote(notes));
  if (isObject(own)) return closed(own, schema);
  if (typesOf(own).includes("array") && !isRecord(own.items)) throw new NoStrictForm();
  if (own.type === undefined && own.anyOf === undefined) return typed(own);
  return own;
}

function isRefused(key: string, value: unknown): boolean {
  if (key === "format") return !STRICT_FORMATS.has(String(value));
  // Patterns that look around are refused.
  return key === "pattern" && /\(\?/.test(String(value));
}

/** `allOf` of objects is one object; of one schema, that schema. */
function mergedStrictly(schema: Schema): Schema {
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
      ...(isRecord(properties) ? { properties: { ...recordOf(all.properties), ...properties } } : {}),
      ...(Array.isArray(required) ? { required: [...list(all.required), ...required] } : {}),
    };
  }
  return all;
}

function oneAlternative(schema: Schema): Schema {
  const { oneOf, ...own } = schema;
  if (!Array.isArray(oneOf)) return schema;
  if (own.anyOf !== undefined) throw new NoStrictForm();
  return { ...own, anyOf: oneOf };
}

function closed(own: Schema, given: Schema): Schema {
  // The inner schemas are closed already, so `false` is all that may stand here.
  const open = own.additionalProperties !== undefined && own.additionalProperties !== false;
  const keys = recordOf(own.properties);
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
function typed(own: Schema): Schema {
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

/** The arguments of a strict call without the nulls of optional keys. */
export function withoutNulls(text: string, schema: JsonSchema): string {
  if (!text.includes("null")) return text;
  let found = false;
  const clean = (value: unknown, at: unknown): unknown => {
    const one = objectSchema(at, schema);
    if (Array.isArray(value)) return value.map((item) => clean(item, isRecord(one) ? one.items : undefined));
    if (!isRecord(value)) return value;
    const keys = recordOf(one?.properties);
    const required = list(one?.required);
    const left = Object.entries(value).filter(([key, inner]) => {
      const unset = inner === null && key in keys && !required.includes(key) && !acceptsNull(keys[key]);
      found ||= unset;
      return !unset;
    });
    return Object.fromEntries(left.map(([key, inner]) => [key, clean(inner, keys[key])]));
  };
  const value: unknown = JSON.parse(text);
  const cleaned = clean(value, schema);
  return found ? JSON.stringify(cleaned) : text;
}

/** The schema that says what is inside of a value: behind references, and the first such choice. */
function objectSchema(at: unknown, root: JsonSchema): Schema | undefined {
  if (!isRecord(at)) return undefined;
  if (typeof at.$ref === "string") {
    const target = schemaAt(root, at.$ref);
    return target === at ? undefined : objectSchema(target, root);
  }
  if (at.properties !== undefined || at.items !== undefined) return at;
  const choices = [...list(at.anyOf), ...list(at.oneOf), ...list(at.allOf)];
  return choices.map((choice) => objectSchema(choice, root)).find((found) => found !== undefined);
}

function isWithinLimits(schema: Schema): boolean {
  let [properties, choices] = [0, 0];
  const depth = (value: unknown): number => {
    if (Array.isArray(value)) return Math.max(0, ...value.map(depth));
    if (!isRecord(value)) return 0;
    return (isRecord(value.properties) ? 1 : 0) + Math.max(0, ...Object.values(value).map(depth));
  };
  rewriteSchema(schema, (one) => {
    properties += Object.keys(recordOf(one.properties)).length;
    choices += list(one.enum).length;
    return one;
  });
  return depth(schema) <= LIMITS.depth && properties <= LIMITS.properties && choices <= LIMITS.choices;
}

function isObject(schema: Schema): boolean {
  return typesOf(schema).includes("object") || isRecord(schema.properties);
}

function typesOf({ type }: Schema): readonly unknown[] {
  return Array.isArray(type) ? type : type === undefined ? [] : [type];
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Keywords that Gemini's servers read (`parametersJsonSchema`, `responseJsonSchema`). */
const SUBSET_KEYWORDS = new Set(words(
  "type format title description enum items prefixItems minItems maxItems minimum maximum anyOf oneOf " +
    "properties additionalProperties required propertyOrdering",
));
const SUBSET_SILENT = new Set(
  words("$schema $id $comment $anchor $defs definitions readOnly deprecated"),
);
/** Limit of following a reference that leads back to itself. */
const DEEPEST = 2;
/** Limit of references in all: schemas of languages refer to each other everywhere. */
const MOST_REFERENCES = 200;

/**
 * The schema of a function's arguments in the keywords that servers with a subset of JSON Schema read.
 * References inside of it are replaced by what they lead to, `allOf` is laid together, and what has no
 * keyword is noted in the description; arguments are checked against the schema of the tool all the same.
 */
export function subsetSchema(schema: JsonSchema): JsonSchema {
  const { $defs: _, definitions: __, ...own } = schema;
  const subset = rewriteSchema(withoutReferences(own, schema), subsetOne);
  return { ...recordOf(subset), type: "object" };
}

function withoutReferences(schema: Schema, root: JsonSchema): unknown {
  let left = MOST_REFERENCES;
  /** `open` names the references that are being followed. */
  const follow = (schema: Schema, open: readonly string[]): unknown =>
    rewriteSchema(schema, ({ $ref: to, ...own }) => {
      if (typeof to !== "string") return to === undefined ? own : { $ref: to, ...own };
      const times = open.filter((one) => one === to).length;
      const target = times < DEEPEST && left > 0 ? schemaAt(root, to) : undefined;
      if (!isRecord(target)) return own;
      left--;
      return follow({ ...target, ...own }, [...open, to]);
    });
  return follow(schema, []);
}

function subsetOne(given: Schema): Schema {
  const schema = merged(given);
  const own: Schema = {};
  const notes: string[] = [];
  for (const [key, value] of Object.entries(schema)) {
    const values = key === "const" ? [value] : key === "enum" && Array.isArray(value) ? value : undefined;
    if (values) {
      const left = values.filter((one) => typeof one === "string" || typeof one === "number");
      if (left.length === values.filter((one) => one !== null).length && left.length > 0) own.enum = left;
      else notes.push(noteOf(key, value));
    } else if (key === "items" && Array.isArray(value)) own.prefixItems = value;
    else if (key === "properties" && isRecord(value)) own.properties = mapValues(value, anyIfTrue);
    else if (SUBSET_KEYWORDS.has(key)) own[key] = value;
    else if (!SUBSET_SILENT.has(key)) notes.push(noteOf(key, value));
  }
  if (own.type === undefined && Array.isArray(own.enum)) own.type = typeof own.enum[0];
  const note = notes.filter((one) => one.length <= LONGEST_NOTE).join(", ");
  if (note !== "") own.description = withNote(own.description, `(${note})`);
  return own;
}

/** Replaces `true` and `false`, which the server does not support, by a schema that allows anything. */
function anyIfTrue(schema: unknown): unknown {
  return typeof schema === "boolean" ? {} : schema;
}

/** All parts of `allOf` in one schema: their properties and what they require together. */
function merged(schema: Schema): Schema {
  const { allOf, ...own } = schema;
  if (!Array.isArray(allOf)) return schema;
  return [...allOf.filter(isRecord), own].reduce((all, part) => {
    const properties = isRecord(all.properties) && isRecord(part.properties)
      ? { properties: { ...all.properties, ...part.properties } }
      : {};
    const required = Array.isArray(all.required) && Array.isArray(part.required)
      ? { required: [...new Set([...all.required, ...part.required])] }
      : {};
    return { ...all, ...part, ...properties, ...required };
  }, {});
}

/** Keywords that the server refuses at the top of a schema only. */
const COMBINERS = ["allOf", "anyOf", "oneOf"] as const;

/** The schema as an object without alternatives at its top, which are merged. */
export function flatSchema(schema: JsonSchema): JsonSchema {
  const { allOf, anyOf, oneOf, ...rest } = schema;
  const base = { ...rest, type: "object", properties: recordOf(rest.properties) };
  return Object.entries({ allOf, anyOf, oneOf }).reduce<JsonSchema>(
    (whole, [combiner, list]) => Array.isArray(list) ? together(whole, list, combiner === "allOf") : whole,
    base,
  );
}

/** Required is what all alternatives require; of `allOf` what any of them does. */
function together(schema: JsonSchema, alternatives: readonly unknown[], all: boolean): JsonSchema {
  const parts = alternatives.filter(isRecord).map((part) =>
    COMBINERS.some((combiner) => combiner in part) ? flatSchema(part) : part
  );
  const properties = Object.assign({}, ...parts.map((part) => part.properties), schema.properties);
  const [first = new Set<unknown>(), ...others] = parts.map(({ required }) => new Set(list(required)));
  const shared = others.reduce(
    (left, right) => all ? left.union(right) : left.intersection(right),
    first,
  );
  const required = [...new Set(list(schema.required)).union(shared)];
  return { ...schema, properties, ...(required.length > 0 ? { required } : {}) };
}
