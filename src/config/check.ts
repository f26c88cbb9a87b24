import { nearNames } from "../util/near_names.ts";
import { formatKey, type KeyPath } from "./problem.ts";
import { CONFIG_SHAPE, isTree, type Shape, type Tree } from "./shape.ts";

/** A problem before its position in the text is known. */
export interface Finding {
  readonly level: "error" | "warning";
  readonly path: KeyPath;
  /** Which end of `key = value` to point at. */
  readonly at: "key" | "value";
  readonly message: string;
  readonly remedy: string;
}

/** Compares a parsed file with the shape: wrong types are errors, unknown keys are warnings. */
export function checkTree(tree: Tree, shape: Shape = CONFIG_SHAPE): Finding[] {
  const findings: Finding[] = [];
  checkTable(tree, shape, [], findings);
  return findings;
}

/** The same for a single value. */
export function checkValue(value: unknown, shape: Shape, path: KeyPath, findings: Finding[]): void {
  if (shape.type === undefined) return;
  if (!hasType(value, shape)) {
    findings.push(wrongType(value, shape, path));
    return;
  }
  if (Array.isArray(value)) {
    const { items } = shape;
    if (items) value.forEach((item, index) => checkValue(item, items, [...path, index], findings));
  } else if (isTree(value)) checkTable(value, shape, path, findings);
}

function checkTable(tree: Tree, shape: Shape, path: KeyPath, findings: Finding[]): void {
  for (const [name, value] of Object.entries(tree)) {
    const known = shape.properties && Object.hasOwn(shape.properties, name)
      ? shape.properties[name]
      : undefined;
    const child = known ?? shape.additionalProperties;
    if (child) checkValue(value, child, [...path, name], findings);
    else if (shape.properties) findings.push(unknownKey(name, shape, path));
  }
  for (const name of shape.required ?? []) {
    if (Object.hasOwn(tree, name)) continue;
    findings.push({
      level: "error",
      path,
      at: "key",
      message: `${formatKey(path)} lacks the key "${name}"`,
      remedy: `Add a line such as ${name} = ${name === "name" ? '"my-name"' : "…"}`,
    });
  }
}

function hasType(value: unknown, shape: Shape): boolean {
  switch (shape.type) {
    case "string":
      return typeof value === "string" && value.length >= (shape.minLength ?? 0) &&
        (!shape.enum || shape.enum.includes(value));
    case "boolean":
      return typeof value === "boolean";
    case "integer":
      return Number.isSafeInteger(value) && inRange(Number(value), shape);
    case "number":
      return typeof value === "number" && Number.isFinite(value) && inRange(value, shape);
    case "array":
      return Array.isArray(value);
    default:
      return isTree(value);
  }
}

function inRange(value: number, shape: Shape): boolean {
  return value >= (shape.minimum ?? -Infinity) && value <= (shape.maximum ?? Infinity) &&
    value > (shape.exclusiveMinimum ?? -Infinity);
}

function wrongType(value: unknown, shape: Shape, path: KeyPath): Finding {
  const found = shape.secret ? kindOf(value) : describeValue(value);
  return {
    level: "error",
    path,
    at: "value",
    message: `Cannot use ${found} for ${formatKey(path)}: ${expectation(shape)} is expected`,
    remedy: remedyFor(value, shape, path),
  };
}

function expectation(shape: Shape): string {
  if (shape.enum) return `one of ${shape.enum.map((item) => `"${item}"`).join(", ")}`;
  switch (shape.type) {
    case "string":
      return shape.minLength ? "a text that is not empty" : "a text in quotes";
    case "boolean":
      return "true or false";
    case "array":
      return shape.items?.type === "object" ? "an array of tables" : "an array";
    case "object":
      return "a table";
    default:
      return `${shape.type === "integer" ? "a whole number" : "a number"}${range(shape)}`;
  }
}

function range(shape: Shape): string {
  if (shape.exclusiveMinimum !== undefined) return ` above ${shape.exclusiveMinimum}`;
  if (shape.minimum === undefined) return "";
  return shape.maximum === undefined
    ? ` of ${shape.minimum} or more`
    : ` from ${shape.minimum} to ${shape.maximum}`;
}

function remedyFor(value: unknown, shape: Shape, path: KeyPath): string {
  const last = path.at(-1);
  const left = typeof last === "string" ? `${formatKey([last])} = ` : "";
  if (shape.enum && typeof value === "string") {
    const near = nearNames(value, shape.enum, 1)[0];
    return near ? `Did you mean "${near}"?` : `Write for example ${left}"${shape.default ?? shape.enum[0]}"`;
  }
  if (
    shape.type === "array" && typeof value === "string" && shape.items?.type === "string" && !shape.secret
  ) {
    return `Put it in brackets: ${left}[${JSON.stringify(value)}]`;
  }
  const unquoted = typeof value === "string" && !shape.secret ? fromText(value, shape) : undefined;
  if (unquoted !== undefined) return `Remove the quotes: ${left}${unquoted}`;
  if (shape.type === "object") return `Write it as a table: [${formatKey(path)}]`;
  if (shape.type === "array" && shape.items?.type === "object") {
    return `Start each entry with [[${left.slice(0, -3)}]]`;
  }
  return `Write for example ${left}${example(shape)}`;
}

function fromText(value: string, shape: Shape): string | undefined {
  if (shape.type === "boolean") return /^(true|false)$/.test(value) ? value : undefined;
  if (shape.type !== "integer" && shape.type !== "number") return undefined;
  return value.trim() !== "" && hasType(Number(value), shape) ? value.trim() : undefined;
}

function example(shape: Shape): string {
  if (shape.default !== undefined) return JSON.stringify(shape.default);
  switch (shape.type) {
    case "string":
      return '"…"';
    case "boolean":
      return "true";
    case "array":
      return "[]";
    default:
      return String(shape.minimum ?? 1);
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
  if (isTree(value)) return "a table";
  return typeof value === "string" ? "a text" : `a ${typeof value}`;
}

function shorten(value: string): string {
  return value.length > 60 ? `${value.slice(0, 57)}…` : value;
}

function unknownKey(name: string, shape: Shape, path: KeyPath): Finding {
  const here = [...path, name];
  const near = nearNames(name, Object.keys(shape.properties ?? {}), 1)[0];
  const home = near ? undefined : homesOf(CONFIG_SHAPE, name, [])[0];
  return {
    level: "warning",
    path: here,
    at: "key",
    message: `Unknown key ${formatKey(here)} has no effect`,
    remedy: near
      ? `Did you mean "${near}"?`
      : home
      ? `Did you mean ${formatKey(home)}?`
      : "Remove it, or look it up in docs/config.md",
  };
}

/** Where a key of this name exists: people often forget the table header. */
function homesOf(shape: Shape, name: string, path: KeyPath): KeyPath[] {
  return Object.entries(shape.properties ?? {}).flatMap(([key, child]) => {
    const here = [...path, key];
    return [...(key === name ? [here] : []), ...homesOf(child, name, here)];
  });
}
