import { suggestNames } from "../../util/suggest.ts";
import { formatKey, type KeyPath } from "../problem.ts";
import { CONFIG_SCHEMA, isTable, type JsonSchema, type TomlTable } from "../schema/json_schema.ts";

/** A problem before its position in the text is known. */
export interface Finding {
  readonly level: "error" | "warning";
  readonly path: KeyPath;
  /** Which end of `key = value` to point at. */
  readonly at: "key" | "value";
  readonly message: string;
  readonly remedy: string;
}

/** Compares a parsed file with the schema: wrong types are errors, unknown keys are warnings. */
export function checkConfig(table: TomlTable, schema: JsonSchema = CONFIG_SCHEMA): Finding[] {
  const findings: Finding[] = [];
  checkTable(table, schema, [], findings);
  return findings;
}

/** The same for a single value. */
export function checkValue(value: unknown, schema: JsonSchema, path: KeyPath, findings: Finding[]): void {
  if (schema.type === undefined) return;
  if (!hasType(value, schema)) {
    findings.push(wrongType(value, schema, path));
    return;
  }
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items) value.forEach((item, index) => checkValue(item, items, [...path, index], findings));
  } else if (isTable(value)) checkTable(value, schema, path, findings);
}

function checkTable(table: TomlTable, schema: JsonSchema, path: KeyPath, findings: Finding[]): void {
  for (const [name, value] of Object.entries(table)) {
    const known = schema.properties && Object.hasOwn(schema.properties, name)
      ? schema.properties[name]
      : undefined;
    const child = known ?? schema.additionalProperties;
    if (child) checkValue(value, child, [...path, name], findings);
    else if (schema.properties) findings.push(unknownKey(name, schema, path));
  }
  for (const name of schema.required ?? []) {
    if (Object.hasOwn(table, name)) continue;
    findings.push({
      level: "error",
      path,
      at: "key",
      message: `${formatKey(path)} lacks the key "${name}"`,
      remedy: `add a line such as ${name} = ${name === "name" ? '"my-name"' : "…"}`,
    });
  }
}

function hasType(value: unknown, schema: JsonSchema): boolean {
  switch (schema.type) {
    case "string":
      return typeof value === "string" && value.length >= (schema.minLength ?? 0) &&
        (!schema.enum || schema.enum.includes(value));
    case "boolean":
      return typeof value === "boolean";
    case "integer":
      return Number.isSafeInteger(value) && inRange(Number(value), schema);
    case "number":
      return typeof value === "number" && Number.isFinite(value) && inRange(value, schema);
    case "array":
      return Array.isArray(value);
    default:
      return isTable(value);
  }
}

function inRange(value: number, schema: JsonSchema): boolean {
  return value >= (schema.minimum ?? -Infinity) && value <= (schema.maximum ?? Infinity) &&
    value > (schema.exclusiveMinimum ?? -Infinity);
}

function wrongType(value: unknown, schema: JsonSchema, path: KeyPath): Finding {
  const found = schema.secret ? kindOf(value) : describeValue(value);
  return {
    level: "error",
    path,
    at: "value",
    message: `Cannot use ${found} for ${formatKey(path)}: ${expectation(schema)} is expected`,
    remedy: remedyFor(value, schema, path),
  };
}

function expectation(schema: JsonSchema): string {
  if (schema.enum) return `one of ${schema.enum.map((item) => `"${item}"`).join(", ")}`;
  switch (schema.type) {
    case "string":
      return schema.minLength ? "a text that is not empty" : "a text in quotes";
    case "boolean":
      return "true or false";
    case "array":
      return schema.items?.type === "object" ? "an array of tables" : "an array";
    case "object":
      return "a table";
    default:
      return `${schema.type === "integer" ? "a whole number" : "a number"}${range(schema)}`;
  }
}

function range(schema: JsonSchema): string {
  if (schema.exclusiveMinimum !== undefined) return ` above ${schema.exclusiveMinimum}`;
  if (schema.minimum === undefined) return "";
  return schema.maximum === undefined
    ? ` of ${schema.minimum} or more`
    : ` from ${schema.minimum} to ${schema.maximum}`;
}

function remedyFor(value: unknown, schema: JsonSchema, path: KeyPath): string {
  const last = path.at(-1);
  const left = typeof last === "string" ? `${formatKey([last])} = ` : "";
  if (schema.enum && typeof value === "string") {
    const near = suggestNames(value, schema.enum, 1)[0];
    return near
      ? `did you mean "${near}"?`
      : `write for example ${left}"${schema.default ?? schema.enum[0]}"`;
  }
  if (
    schema.type === "array" && typeof value === "string" && schema.items?.type === "string" && !schema.secret
  ) {
    return `put it in brackets: ${left}[${JSON.stringify(value)}]`;
  }
  const unquoted = typeof value === "string" && !schema.secret ? fromText(value, schema) : undefined;
  if (unquoted !== undefined) return `remove the quotes: ${left}${unquoted}`;
  if (schema.type === "object") return `write it as a table: [${formatKey(path)}]`;
  if (schema.type === "array" && schema.items?.type === "object") {
    return `start each entry with [[${left.slice(0, -3)}]]`;
  }
  return `write for example ${left}${example(schema)}`;
}

function fromText(value: string, schema: JsonSchema): string | undefined {
  if (schema.type === "boolean") return /^(true|false)$/.test(value) ? value : undefined;
  if (schema.type !== "integer" && schema.type !== "number") return undefined;
  return value.trim() !== "" && hasType(Number(value), schema) ? value.trim() : undefined;
}

function example(schema: JsonSchema): string {
  if (schema.default !== undefined) return JSON.stringify(schema.default);
  switch (schema.type) {
    case "string":
      return '"…"';
    case "boolean":
      return "true";
    case "array":
      return "[]";
    default:
      return String(schema.minimum ?? 1);
  }
}

/** A value as people read it in a message: typed and short. */
function describeValue(value: unknown): string {
  if (typeof value === "string") return `the text ${JSON.stringify(shorten(value))}`;
  if (typeof value === "number" || typeof value === "bigint") return `the number ${value}`;
  if (typeof value === "boolean") return String(value);
  return kindOf(value);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  if (value instanceof Date) return "a date";
  if (isTable(value)) return "a table";
  return typeof value === "string" ? "a text" : `a ${typeof value}`;
}

function shorten(value: string): string {
  return value.length > 60 ? `${value.slice(0, 57)}…` : value;
}

function unknownKey(name: string, schema: JsonSchema, path: KeyPath): Finding {
  const here = [...path, name];
  const near = suggestNames(name, Object.keys(schema.properties ?? {}), 1)[0];
  const home = near ? undefined : homesOf(CONFIG_SCHEMA, name, [])[0];
  return {
    level: "warning",
    path: here,
    at: "key",
    message: `Unknown key ${formatKey(here)} has no effect`,
    remedy: near
      ? `did you mean "${near}"?`
      : home
      ? `did you mean ${formatKey(home)}?`
      : "remove it, or look it up with: reasonix docs config",
  };
}

/** Finds the tables that have a key of this name: people often forget the table header. */
function homesOf(schema: JsonSchema, name: string, path: KeyPath): KeyPath[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, child]) => {
    const here = [...path, key];
    return [...(key === name ? [here] : []), ...homesOf(child, name, here)];
  });
}
