import type { JsonSchema } from "../core/mod.ts";
import { isRecord, parseJson } from "../util/json.ts";
import { suggestNames } from "../util/suggest.ts";

/** Arguments in the shape of the schema, or the problem in one line for the model. */
export type CheckedArguments = { readonly args: Record<string, unknown> } | { readonly problem: string };

type Checked = { readonly value: unknown } | { readonly problem: string };

/** Rules for arguments in addition to their schema. */
export interface ArgumentRules {
  /** By the name that a model used; null: the argument is dropped. */
  readonly synonyms?: Readonly<Record<string, string | null>>;
  /** Arguments that are accepted but not named in messages. */
  readonly unoffered?: Readonly<Record<string, JsonSchema>> | undefined;
  /** A 0 where counting begins at 1 is an error, not an absent option. */
  readonly exact?: boolean;
}

/**
 * Checks arguments against the JSON Schema subset tools use (type, properties, required, enum, items,
 * minimum, maximum, additionalProperties: false) and repairs what has only one meaning: "5" for 5, "true" for
 * true, JSON text for a list, null for an absent option, also 0 where counting begins at 1. Parts of a schema
 * outside the subset are not judged.
 */
export function checkArguments(
  schema: JsonSchema,
  given: unknown,
  { synonyms = {}, unoffered = {}, exact = false }: ArgumentRules = {},
): CheckedArguments {
  const object = typeof given === "string" ? parseJson(given) : given ?? {};
  if (!isRecord(object)) return { problem: `arguments must be an object, got ${show(given)}` };
  const marked = Object.entries(unoffered).map(([name, one]) => [name, { ...one, unoffered: true }]);
  const understood = marked.length === 0
    ? schema
    : { ...schema, properties: { ...propertiesOf(schema), ...Object.fromEntries(marked) } };
  const named = renamed(understood, object, synonyms);
  const checked = checkObject(understood, named, "", exact ? () => false : meansNone);
  return "problem" in checked ? checked : { args: checked.value as Record<string, unknown> };
}

function renamed(
  schema: JsonSchema,
  given: Record<string, unknown>,
  synonyms: Readonly<Record<string, string | null>>,
): Record<string, unknown> {
  const properties = propertiesOf(schema);
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(given)) {
    const ours = Object.hasOwn(properties, key) ? key : Object.hasOwn(synonyms, key) ? synonyms[key] : key;
    if (ours === null || ours === undefined) continue;
    if (ours === key || !Object.hasOwn(given, ours)) out[ours] = value;
  }
  return out;
}

function checkObject(
  schema: JsonSchema,
  given: Record<string, unknown>,
  at: string,
  isAbsent: (property: JsonSchema, value: unknown) => boolean = meansNone,
): Checked {
  const properties = propertiesOf(schema);
  const required = Array.isArray(schema.required) ? schema.required as string[] : [];
  const out: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [key, value] of Object.entries(given)) {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (!property) {
      if (schema.additionalProperties === false) {
        problems.push(unknownKey(at + key, key, offered(properties)));
      } else out[key] = value;
      continue;
    }
    if ((value === null && !allowsNull(property)) || value === undefined) continue;
    if (!required.includes(key) && isAbsent(property, value)) continue;
    const checked = checkValue(property, value, at + key);
    if ("problem" in checked) problems.push(checked.problem);
    else out[key] = checked.value;
  }
  for (const key of required) {
    if (Object.hasOwn(out, key) || (Object.hasOwn(given, key) && given[key] !== null)) continue;
    problems.unshift(`${at}${key} is required (${expected(properties[key] ?? {})})`);
  }
  return problems.length > 0 ? { problem: problems.slice(0, 3).join("; ") } : { value: out };
}

function offered(properties: Readonly<Record<string, JsonSchema>>): string[] {
  return Object.keys(properties).filter((name) => properties[name]?.unoffered !== true);
}

function unknownKey(field: string, key: string, known: string[]): string {
  const near = suggestNames(key, known, 1)[0];
  return `${field} is not an argument${near ? `; did you mean ${near}?` : ""} (known: ${
    known.join(", ") || "none"
  })`;
}

function checkValue(schema: JsonSchema, given: unknown, field: string): Checked {
  const type = schema.type;
  if (typeof type !== "string") return { value: given };
  const value = coerced(schema, type, given);
  if (value === undefined) return { problem: `${field} must be ${expected(schema)}, got ${show(given)}` };
  if (Array.isArray(schema.enum)) {
    const hit = enumValue(schema.enum, value);
    return hit === undefined
      ? { problem: `${field} must be ${expected(schema)}, got ${show(given)}` }
      : { value: hit };
  }
  if (typeof value === "number") return inBounds(schema, value, field);
  if (Array.isArray(value)) return checkList(schema, value, field);
  if (isRecord(value)) return checkObject(schema, value, `${field}.`);
  return { value };
}

function enumValue(allowed: readonly unknown[], value: unknown): unknown {
  if (allowed.includes(value)) return value;
  const lower = String(value).toLowerCase();
  const names = allowed.filter((one) => typeof one === "string");
  const same = names.find((one) => one.toLowerCase() === lower);
  if (same !== undefined) return same;
  // Such as files_with_matches for files.
  const longer = names.filter((one) =>
    /^[_ -]/.test(lower.slice(one.length)) && lower.startsWith(one.toLowerCase())
  );
  return longer.length === 1 ? longer[0] : undefined;
}

/** A 0 where the minimum is 1 means that the model asks for no offset or limit. */
function meansNone(schema: JsonSchema, value: unknown): boolean {
  return schema.type === "integer" && schema.minimum === 1 && (value === 0 || value === "0");
}

function inBounds(schema: JsonSchema, value: number, field: string): Checked {
  if (typeof schema.minimum === "number" && value < schema.minimum) {
    return { problem: `${field} must be at least ${schema.minimum}, got ${value}` };
  }
  if (typeof schema.maximum === "number" && value > schema.maximum) {
    return { problem: `${field} must be at most ${schema.maximum}, got ${value}` };
  }
  return { value };
}

function checkList(schema: JsonSchema, values: readonly unknown[], field: string): Checked {
  if (typeof schema.minItems === "number" && values.length < schema.minItems) {
    return { problem: `${field} must have at least ${schema.minItems} entries, got ${values.length}` };
  }
  if (!isRecord(schema.items)) return { value: values };
  const out: unknown[] = [];
  for (const [index, value] of values.entries()) {
    const checked = checkValue(schema.items, value, `${field}[${index}]`);
    if ("problem" in checked) return checked;
    out.push(checked.value);
  }
  return { value: out };
}

/** Undefined when the value has no single meaning in that type. */
function coerced(schema: JsonSchema, type: string, given: unknown): unknown {
  switch (type) {
    case "string":
      return typeof given === "number" || typeof given === "boolean"
        ? String(given)
        : typeof given === "string"
        ? given
        : undefined;
    case "integer":
    case "number": {
      const text = typeof given === "string" && /^\s*[+-]?\d+(\.\d+)?\s*$/.test(given);
      const number = text ? Number(given) : given;
      if (typeof number !== "number" || !Number.isFinite(number)) return undefined;
      return type === "integer" && !Number.isInteger(number) ? undefined : number;
    }
    case "boolean": {
      const word = typeof given === "string" ? given.trim().toLowerCase() : given;
      return word === "true" ? true : word === "false" ? false : typeof word === "boolean" ? word : undefined;
    }
    case "array": {
      const list = typeof given === "string" ? parseJson(given) : given;
      if (Array.isArray(list)) return list;
      // One entry where a list of entries is wanted.
      const item = isRecord(schema.items) ? schema.items.type : undefined;
      if (item === "object" && isRecord(list)) return [list];
      return item === "string" && typeof given === "string" ? [given] : undefined;
    }
    case "object": {
      const object = typeof given === "string" ? parseJson(given) : given;
      return isRecord(object) ? object : undefined;
    }
    default:
      return given;
  }
}

function expected(schema: JsonSchema): string {
  if (Array.isArray(schema.enum)) return `one of ${schema.enum.join(", ")}`;
  const article = typeof schema.type === "string" && /^[aio]/.test(schema.type) ? "an" : "a";
  return typeof schema.type === "string" ? `${article} ${schema.type}` : "a value";
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}

function propertiesOf(schema: JsonSchema): Record<string, JsonSchema> {
  return isRecord(schema.properties) ? schema.properties as Record<string, JsonSchema> : {};
}

function allowsNull(schema: JsonSchema): boolean {
  return typeof schema.type !== "string" || schema.type === "null";
}
