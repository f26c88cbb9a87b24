import { formatKey, type KeyPath } from "../problem.ts";
import { effortLevels } from "../query/models.ts";
import { CONFIG_SCHEMA, isTable, type JsonSchema, type TomlTable } from "../schema/json_schema.ts";
import type { Expected, Phrase, Sayings } from "../../core/mod.ts";
import { isFault, lintRule, MAX_WEIGHT, readRule, ruleWeight } from "../../rule/mod.ts";
import { suggestNames } from "../../util/suggest.ts";

export interface Finding {
  readonly level: "error" | "warning";
  readonly path: KeyPath;
  /** The end of `key = value` to point at. */
  readonly at: "key" | "value";
  readonly message: string;
  readonly remedy: string;
  readonly said?: Sayings | undefined;
}

/** Compares a parsed file with the schema: wrong types are errors, unknown keys are warnings. */
export function checkConfig(table: TomlTable, schema: JsonSchema = CONFIG_SCHEMA): Finding[] {
  const findings: Finding[] = [];
  checkTable(table, schema, [], findings);
  return findings;
}

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
    // Programs that pass their settings as an object leave keys undefined.
    if (value === undefined) continue;
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
      message: `${formatKey(path)} lacks the key "${name}"`,
      remedy: `add a line such as ${line}`,
      said: [["lacksKey", formatKey(path), name], ["addLine", line]],
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
  const { kind, detail } = expectation(schema);
  const key = formatKey(path);
  const { text: remedy, said } = remedyFor(value, schema, path);
  const shown = schema.secret || typeof value === "object"
    ? typeof value
    : shorten(JSON.stringify(value) ?? "");
  return {
    level: "error",
    path,
    at: "value",
    message: `Cannot use ${found} for ${key}: ${EXPECTED[kind]}${detail.text} is expected`,
    remedy,
    said: [["wrongValue", shown, key, kind, detail.said], said],
  };
}

const EXPECTED: Readonly<Record<Expected, string>> = {
  "one of": "one of ",
  "text": "a text in quotes",
  "some text": "a text that is not empty",
  "true or false": "true or false",
  "array": "an array",
  "array of tables": "an array of tables",
  "table": "a table",
  "whole number": "a whole number",
  "number": "a number",
};

/** The expected kind of a value, with its detail in English and as signs. */
interface Expectation {
  readonly kind: Expected;
  readonly detail: { readonly text: string; readonly said: string };
}

function expectation(schema: JsonSchema): Expectation {
  const plain = (kind: Expected): Expectation => ({ kind, detail: { text: "", said: "" } });
  if (schema.enum) {
    const text = schema.enum.map((item) => `"${item}"`).join(", ");
    return { kind: "one of", detail: { text, said: text } };
  }
  switch (schema.type) {
    case "string":
      return plain(schema.minLength ? "some text" : "text");
    case "boolean":
      return plain("true or false");
    case "array":
      return plain(schema.items?.type === "object" ? "array of tables" : "array");
    case "object":
      return plain("table");
    default:
      return { kind: schema.type === "integer" ? "whole number" : "number", detail: range(schema) };
  }
}

function range({ exclusiveMinimum, minimum, maximum }: JsonSchema): Expectation["detail"] {
  if (exclusiveMinimum !== undefined) {
    return { text: ` above ${exclusiveMinimum}`, said: `（> ${exclusiveMinimum}）` };
  }
  if (minimum === undefined) return { text: "", said: "" };
  return maximum === undefined
    ? { text: ` of ${minimum} or more`, said: `（≥ ${minimum}）` }
    : { text: ` from ${minimum} to ${maximum}`, said: `（${minimum}–${maximum}）` };
}

function remedyFor(value: unknown, schema: JsonSchema, path: KeyPath): Phrase {
  const last = path.at(-1);
  const left = typeof last === "string" ? `${formatKey([last])} = ` : "";
  const like = (line: string): Phrase => ({ text: `write for example ${line}`, said: ["writeLike", line] });
  if (schema.enum && typeof value === "string") {
    const near = suggestNames(value, schema.enum, 1)[0];
    return near
      ? { text: `did you mean "${near}"?`, said: ["didYouMean", `"${near}"`] }
      : like(`${left}"${schema.default ?? schema.enum[0]}"`);
  }
  if (
    schema.type === "array" && typeof value === "string" && schema.items?.type === "string" && !schema.secret
  ) {
    const line = `${left}[${JSON.stringify(value)}]`;
    return { text: `put it in brackets: ${line}`, said: ["putInBrackets", line] };
  }
  const unquoted = typeof value === "string" && !schema.secret ? fromText(value, schema) : undefined;
  if (unquoted !== undefined) {
    return { text: `remove the quotes: ${left}${unquoted}`, said: ["removeQuotes", `${left}${unquoted}`] };
  }
  if (schema.type === "object") {
    const line = `[${formatKey(path)}]`;
    return { text: `write it as a table: ${line}`, said: ["writeLike", line] };
  }
  if (schema.type === "array" && schema.items?.type === "object") {
    const line = `[[${left.slice(0, -3)}]]`;
    return { text: `start each entry with ${line}`, said: ["writeLike", line] };
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
    said: [
      ["unknownKey", formatKey(here)],
      near ? ["didYouMean", `"${near}"`] : home ? ["didYouMean", formatKey(home)] : ["removeKey"],
    ],
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

/** Checks beyond types: unique names, required fields, permission rules. */
export function checkEntries(table: TomlTable): Finding[] {
  return [
    ...checkList(table, "providers", checkProvider),
    ...checkList(table, "plugins", checkPlugin),
    ...checkPermissions(table.permissions),
    ...checkDangerous(table.safety),
  ];
}

/** A restricting rule without effect is an error; an allowing one only leaves a prompt. */
function checkPermissions(permissions: unknown): Finding[] {
  if (!isTable(permissions)) return [];
  let weight = 0;
  return (["deny", "ask", "allow"] as const).flatMap((list) => {
    const rules = permissions[list];
    return Array.isArray(rules)
      ? rules.flatMap((rule, index) => {
        const added = ruleWeight(rule);
        const before = weight;
        weight += added;
        if (added === 0 || weight <= MAX_WEIGHT) return checkRule(rule, list, index);
        return before <= MAX_WEIGHT ? [tooManyRules(["permissions", list, index])] : [];
      })
      : [];
  });
}

function tooManyRules(path: KeyPath): Finding {
  return {
    level: "error",
    path,
    at: "value",
    message: "Cannot hold the permission rules of this file: their wildcards and braces stand for too much",
    remedy: "write fewer rules, or wildcards in place of braces",
    said: [["wideRules"], ["writeFewerRules"]],
  };
}

/** Only rules about commands can be confirmed this way. */
function checkDangerous(safety: unknown): Finding[] {
  const rules = isTable(safety) && Array.isArray(safety.dangerous) ? safety.dangerous : [];
  return rules.flatMap((rule, index): Finding[] => {
    const read = typeof rule === "string" ? readRule(rule) : undefined;
    if (!read) return [];
    const path = ["safety", "dangerous", index];
    if (isFault(read)) {
      return [{ level: "error", path, at: "value", message: read.message, remedy: read.remedy }];
    }
    if ("family" in read.target && read.target.family === "Bash") return [];
    const example = 'dangerous = ["Bash(kubectl delete:*)"]';
    return [{
      level: "error",
      path,
      at: "value",
      message: `Cannot use ${JSON.stringify(rule)} for ${formatKey(path)}: it is no rule about commands`,
      remedy: `write for example ${example}`,
      said: [["noCommandRule", JSON.stringify(rule), formatKey(path)], ["writeLike", example]],
    }];
  });
}

function checkRule(rule: unknown, list: "deny" | "ask" | "allow", index: number): Finding[] {
  const read = typeof rule === "string" ? readRule(rule) : undefined;
  if (!read) return [];
  const path = ["permissions", list, index];
  if (!isFault(read)) {
    const warning = lintRule(read);
    return warning ? [{ level: "warning", path, at: "value", ...warning }] : [];
  }
  const { message, remedy, isTooWide } = read;
  return list === "allow" && !isTooWide
    ? [{ level: "warning", path, at: "value", message: `${message}; it allows nothing`, remedy }]
    : [{ level: "error", path, at: "value", message, remedy }];
}

type EntryCheck = (entry: TomlTable, path: KeyPath) => Finding[];

function checkList(table: TomlTable, list: string, check: EntryCheck): Finding[] {
  const entries = table[list];
  if (!Array.isArray(entries)) return [];
  const seen = new Set<unknown>();
  return entries.flatMap((entry, index) => {
    if (!isTable(entry)) return [];
    const path = [list, index];
    const repeated = seen.has(entry.name);
    seen.add(entry.name);
    const findings = check(entry, path);
    return repeated ? [...findings, duplicate(path, entry.name)] : findings;
  });
}

function duplicate(path: KeyPath, name: unknown): Finding {
  return {
    level: "error",
    path: [...path, "name"],
    at: "value",
    message: `Cannot use the name ${JSON.stringify(name)} twice in ${formatKey(path.slice(0, 1))}`,
    remedy: "rename one of the entries, or remove it",
    said: [["usedTwice", JSON.stringify(name), formatKey(path.slice(0, 1))], ["renameEntry"]],
  };
}

function checkProvider(entry: TomlTable, path: KeyPath): Finding[] {
  return [
    ...checkDefault(entry, path),
    ...checkKeyCommand(entry.api_key_command, path),
    ...checkEfforts(entry, path),
    ...checkTextCalls(entry, path),
  ];
}

function checkTextCalls({ compat }: TomlTable, path: KeyPath): Finding[] {
  if (!isTable(compat) || compat.text_calls !== true) return [];
  const here = [...path, "compat", "text_calls"];
  return [{
    level: "warning",
    path: here,
    at: "key",
    message: `${formatKey(here)} is deprecated; it only reads calls that the model writes by itself`,
    remedy: 'set tool_mode = "pseudo" of this entry, which also tells the model how to write them',
    said: [["textCallsOld", formatKey(here)], ["usePseudo"]],
  }];
}

function checkKeyCommand(command: unknown, path: KeyPath): Finding[] {
  const isLine = typeof command === "string";
  const isList = Array.isArray(command) && command.length > 0 &&
    command.every((word) => typeof word === "string") && command[0] !== "";
  if (command === undefined || isLine || isList) return [];
  const here = [...path, "api_key_command"];
  const line = 'api_key_command = "pass show my-key"';
  return [{
    level: "error",
    path: here,
    at: "value",
    message:
      `Cannot use this value for ${formatKey(here)}: a line of the shell, or a program with arguments ` +
      "as an array of texts, is expected",
    remedy: `write for example ${line}`,
    said: [[
      "wrongValue",
      Array.isArray(command) ? "[…]" : isTable(command) ? "{…}" : String(command),
      formatKey(here),
      "text",
      "",
    ], [
      "writeLike",
      line,
    ]],
  }];
}

/** An effort is a known level, or a word of the vendor that `efforts` names. */
function checkEfforts(entry: TomlTable, path: KeyPath): Finding[] {
  const models = isTable(entry.model_settings) ? Object.entries(entry.model_settings) : [];
  const ofModels = models.flatMap(([name, settings]) =>
    isTable(settings)
      ? checkEffort({ efforts: entry.efforts, ...settings }, [...path, "model_settings", name])
      : []
  );
  return [...checkEffort(entry, path), ...ofModels];
}

function checkEffort({ effort, efforts }: TomlTable, path: KeyPath): Finding[] {
  const words = Array.isArray(efforts) ? efforts.filter((word) => typeof word === "string") : [];
  const levels = effortLevels(words);
  if (typeof effort !== "string" || effort === "" || levels.includes(effort)) return [];
  const near = suggestNames(effort, levels, 1)[0];
  const list = levels.join(", ");
  return [{
    level: "error",
    path: [...path, "effort"],
    at: "value",
    message: `Cannot use ${JSON.stringify(effort)} as effort: the levels are ${list}`,
    remedy: near
      ? `did you mean "${near}"?`
      : `use one of them, or name the vendor's own words: efforts = ["${effort}"]`,
    said: [
      ["noSuchEffort", effort, list],
      near ? ["didYouMean", `"${near}"`] : ["nameEfforts", `efforts = ["${effort}"]`],
    ],
  }];
}

function checkDefault(entry: TomlTable, path: KeyPath): Finding[] {
  const models = Array.isArray(entry.models) ? entry.models.filter((model) => typeof model === "string") : [];
  if (typeof entry.model === "string") models.push(entry.model);
  const chosen = entry.default;
  if (typeof chosen !== "string" || models.length === 0 || models.includes(chosen)) return [];
  const near = suggestNames(chosen, models, 1)[0] ?? models[0];
  return [{
    level: "error",
    path: [...path, "default"],
    at: "value",
    message: `Cannot use ${JSON.stringify(chosen)} as default: it is not among the models of this entry`,
    remedy: `add it to models, or write default = ${JSON.stringify(near)}`,
  }];
}

const REMOTE_TYPES: readonly unknown[] = ["http", "streamable-http", "sse"];

/** Keys that a server without a process or connection here cannot have. */
const ONLY_DIRECT = ["command", "headers_helper", "oauth"];

function checkTransport(entry: TomlTable, path: KeyPath): Finding[] {
  if (entry.transport !== "provider") return [];
  const name = JSON.stringify(entry.name);
  if (!REMOTE_TYPES.includes(entry.type)) {
    return [{
      level: "error",
      path: [...path, "transport"],
      at: "value",
      message: `Cannot use transport = "provider" for the plugin ${name}: it is a program on this machine`,
      remedy: 'give it type = "http" and url = "https://…", or take the line out',
    }];
  }
  return ONLY_DIRECT.filter((key) => entry[key] !== undefined && entry[key] !== "").map((key) => ({
    level: "error",
    path: [...path, key],
    at: "key",
    message: `Cannot use ${key} for the plugin ${name}: with transport = "provider" nothing runs here`,
    remedy: "put what the server wants into headers, or take the transport line out",
  }));
}

function checkPlugin(entry: TomlTable, path: KeyPath): Finding[] {
  return [...checkTransport(entry, path), ...checkNeeds(entry, path)];
}

function checkNeeds(entry: TomlTable, path: KeyPath): Finding[] {
  const remote = REMOTE_TYPES.includes(entry.type);
  // A type that does not exist has been reported already.
  if (entry.enabled === false || (!remote && (entry.type ?? "stdio") !== "stdio")) return [];
  const needed = remote ? "url" : "command";
  if (entry[needed]) return [];
  // An address without a type is the usual mistake, so it gets a separate remedy.
  const remedy = !remote && entry.url
    ? 'add type = "http" for a server with an address'
    : remote
    ? 'add a line such as url = "https://…"'
    : 'add a line such as command = "npx"';
  return [{
    level: "error",
    path,
    at: "key",
    message: `The plugin ${JSON.stringify(entry.name)} has no ${needed}`,
    remedy,
  }];
}
