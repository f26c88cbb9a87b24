import type { JsonSchema } from "../../../core/mod.ts";
import { isRecord } from "../../../util/json.ts";
import { mapValues, rewriteSchema, schemaAt, withNote } from "./walk.ts";

/** Keywords of JSON Schema that Gemini's servers read (`parametersJsonSchema`, `responseJsonSchema`). */
const KEPT = new Set([
  "type",
  "format",
  "title",
  "description",
  "enum",
  "items",
  "prefixItems",
  "minItems",
  "maxItems",
  "minimum",
  "maximum",
  "anyOf",
  "oneOf",
  "properties",
  "additionalProperties",
  "required",
  "propertyOrdering",
]);

/** Keywords that say nothing a model has to know. */
const SILENT = new Set([
  "$schema",
  "$id",
  "$comment",
  "$anchor",
  "$defs",
  "definitions",
  "readOnly",
  "deprecated",
]);
const LONGEST_NOTE = 200;
/** References that lead back to where they stand are followed so often. */
const DEEPEST = 2;
/** At most this many references are followed: schemas of languages refer to each other everywhere. */
const MOST_REFERENCES = 200;

type Schema = Record<string, unknown>;

/**
 * The schema of a function's arguments in the keywords that servers with a subset of JSON Schema read.
 * References inside of it are replaced by what they lead to, `allOf` is laid together, and what has no
 * keyword is said in the description; arguments are checked against the tool's own schema anyhow.
 */
export function subsetSchema(schema: JsonSchema): JsonSchema {
  const { $defs: _, definitions: __, ...own } = schema;
  const subset = rewriteSchema(new References(schema).followed(own), subsetOne);
  return { ...(isRecord(subset) ? subset : {}), type: "object" };
}

/** Puts in place of references what they lead to. */
class References {
  readonly #root: JsonSchema;
  #left = MOST_REFERENCES;

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  /** `open` names those that are being followed. */
  followed(schema: Schema, open: readonly string[] = []): unknown {
    return rewriteSchema(schema, ({ $ref: to, ...own }) => {
      if (typeof to !== "string") return to === undefined ? own : { $ref: to, ...own };
      const times = open.filter((one) => one === to).length;
      const target = times < DEEPEST && this.#left > 0 ? schemaAt(this.#root, to) : undefined;
      if (!isRecord(target)) return own;
      this.#left--;
      return this.followed({ ...target, ...own }, [...open, to]);
    });
  }
}

function subsetOne(given: Schema): Schema {
  const schema = merged(given);
  const own: Schema = {};
  const said: string[] = [];
  for (const [key, value] of Object.entries(schema)) {
    const values = key === "const" ? [value] : key === "enum" && Array.isArray(value) ? value : undefined;
    if (values) {
      const kept = values.filter((one) => typeof one === "string" || typeof one === "number");
      if (kept.length === values.filter((one) => one !== null).length && kept.length > 0) own.enum = kept;
      else said.push(noteOf(key, value));
    } else if (key === "items" && Array.isArray(value)) own.prefixItems = value;
    else if (key === "properties" && isRecord(value)) own.properties = mapValues(value, anyIfTrue);
    else if (KEPT.has(key)) own[key] = value;
    else if (!SILENT.has(key)) said.push(noteOf(key, value));
  }
  if (own.type === undefined && Array.isArray(own.enum)) own.type = typeof own.enum[0];
  const note = said.filter((one) => one !== "").join(", ");
  if (note !== "") own.description = withNote(own.description, `(${note})`);
  return own;
}

/** A schema that is no more than `true` or `false`, which the server does not know, allows anything. */
function anyIfTrue(schema: unknown): unknown {
  return typeof schema === "boolean" ? {} : schema;
}

function noteOf(key: string, value: unknown): string {
  const text = `${key}: ${JSON.stringify(value)}`;
  return text.length > LONGEST_NOTE ? "" : text;
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
