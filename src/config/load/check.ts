import { type LocalizedMessage, message, type MessageTexts, type Text, withRemedy } from "../../core/mod.ts";
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
  readonly texts?: MessageTexts;
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
    // Such a hook does not run, which is reported where hooks are read.
    else if (schema.properties && path[0] !== "hooks") findings.push(unknownKey(name, schema, path));
  }
  for (const name of schema.required ?? []) {
    if (Object.hasOwn(table, name)) continue;
    const line = `${name} = ${name === "name" ? '"my-name"' : "…"}`;
    findings.push({
      level: "error",
      path,
      at: "key",
      ...withRemedy(message`${formatKey(path)} lacks the key "${name}"`, message`add a line such as ${line}`),
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
  const text = message`Cannot use ${found} for ${formatKey(path)}: ${expectation(schema)} is expected`;
  return {
    level: "error",
    path,
    at: "value",
    ...withRemedy(text, remedyFor(value, schema, path)),
  };
}

function expectation(schema: JsonSchema): LocalizedMessage {
  if (schema.enum) return message`one of ${schema.enum.map((item) => `"${item}"`)}`;
  switch (schema.type) {
    case "string":
      return schema.minLength ? message`a text that is not empty` : message`a text in quotes`;
    case "boolean":
      return message`true or false`;
    case "array":
      return schema.items?.type === "object" ? message`an array of tables` : message`an array`;
    case "object":
      return message`a table`;
    default:
      return range(schema, schema.type === "integer" ? message`a whole number` : message`a number`);
  }
}

function range({ exclusiveMinimum, minimum, maximum }: JsonSchema, what: LocalizedMessage): LocalizedMessage {
  if (exclusiveMinimum !== undefined) return message`${what} above ${exclusiveMinimum}`;
  if (minimum === undefined) return what;
  return maximum === undefined
    ? message`${what} of ${minimum} or more`
    : message`${what} from ${minimum} to ${maximum}`;
}

function remedyFor(value: unknown, schema: JsonSchema, path: KeyPath): LocalizedMessage {
  const last = path.at(-1);
  const left = typeof last === "string" ? `${formatKey([last])} = ` : "";
  const like = (line: string) => message`write for example ${line}`;
  if (schema.enum && typeof value === "string") {
    const near = suggestNames(value, schema.enum, 1)[0];
    return near ? message`did you mean "${near}"?` : like(`${left}"${schema.default ?? schema.enum[0]}"`);
  }
  if (
    schema.type === "array" && typeof value === "string" && schema.items?.type === "string" && !schema.secret
  ) {
    const line = `${left}[${JSON.stringify(value)}]`;
    return message`put it in brackets: ${line}`;
  }
  const unquoted = typeof value === "string" && !schema.secret ? fromText(value, schema) : undefined;
  if (unquoted !== undefined) return message`remove the quotes: ${`${left}${unquoted}`}`;
  if (schema.type === "object") {
    const line = `[${formatKey(path)}]`;
    return message`write it as a table: ${line}`;
  }
  if (schema.type === "array" && schema.items?.type === "object") {
    const line = `[[${left.slice(0, -3)}]]`;
    return message`start each entry with ${line}`;
  }
  return like(`${left}${example(schema)}`);
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
function describeValue(value: unknown): Text {
  if (typeof value === "string") return message`the text ${JSON.stringify(shorten(value))}`;
  if (typeof value === "number" || typeof value === "bigint") return message`the number ${String(value)}`;
  if (typeof value === "boolean") return String(value);
  return kindOf(value);
}

function kindOf(value: unknown): Text {
  if (Array.isArray(value)) return message`an array`;
  if (value instanceof Date) return message`a date`;
  if (isTable(value)) return message`a table`;
  return typeof value === "string" ? message`a text` : message`a value of the type ${typeof value}`;
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
    ...withRemedy(
      message`Unknown key ${formatKey(here)} has no effect`,
      near
        ? message`did you mean "${near}"?`
        : home
        ? message`did you mean ${formatKey(home)}?`
        : message`remove it, or look it up with: reasonix docs config`,
    ),
  };
}

/** Finds the tables that have a key of this name: people often forget the table header. */
function homesOf(schema: JsonSchema, name: string, path: KeyPath): KeyPath[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, child]) => {
    const here = [...path, key];
    return [...(key === name ? [here] : []), ...homesOf(child, name, here)];
  });
}
