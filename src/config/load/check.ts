import { formatKey, type KeyPath } from "../problem.ts";
import { effortLevels } from "../query/models.ts";
import { CONFIG_SCHEMA, isTable, type JsonSchema, type TomlTable } from "../schema/json_schema.ts";
import {
  clausesOf,
  type LocalizedMessage,
  message,
  type MessageTexts,
  type Text,
  withRemedy,
} from "../../core/mod.ts";
import { isFault, lintRule, MAX_WEIGHT, readRule, ruleWeight } from "../../rule/mod.ts";
import { suggestNames } from "../../util/suggest.ts";

export interface Finding {
  readonly level: "error" | "warning";
  readonly path: KeyPath;
  /** The end of `key = value` to point at. */
  readonly at: "key" | "value";
  readonly message: string;
  readonly remedy: string;
  readonly texts: MessageTexts;
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
    ...withRemedy(
      message`Cannot hold the permission rules of this file: their wildcards and braces stand for too much`,
      message`write fewer rules, or wildcards in place of braces`,
    ),
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
      return [{ level: "error", path, at: "value", ...read }];
    }
    if ("family" in read.target && read.target.family === "Bash") return [];
    const example = 'dangerous = ["Bash(kubectl delete:*)"]';
    return [{
      level: "error",
      path,
      at: "value",
      ...withRemedy(
        message`Cannot use ${JSON.stringify(rule)} for ${formatKey(path)}: it is no rule about commands`,
        message`write for example ${example}`,
      ),
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
  if (list !== "allow" || read.isTooWide) return [{ level: "error", path, at: "value", ...read }];
  const text = clausesOf([read.texts.message, message`it allows nothing`]);
  return [{ level: "warning", path, at: "value", ...withRemedy(text, read.texts.remedy) }];
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
    ...withRemedy(
      message`Cannot use the name ${JSON.stringify(name)} twice in ${formatKey(path.slice(0, 1))}`,
      message`rename one of the entries, or remove it`,
    ),
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
    ...withRemedy(
      message`${formatKey(here)} is deprecated; it only reads calls that the model writes by itself`,
      message`set tool_mode = "pseudo" of this entry, which also tells the model how to write them`,
    ),
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
    ...withRemedy(
      message`Cannot use this value for ${
        formatKey(here)
      }: a line of the shell, or a program with arguments as an array of texts, is expected`,
      message`write for example ${line}`,
    ),
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
  return [{
    level: "error",
    path: [...path, "effort"],
    at: "value",
    ...withRemedy(
      message`Cannot use ${JSON.stringify(effort)} as effort: the levels are ${levels}`,
      near
        ? message`did you mean "${near}"?`
        : message`use one of them, or name the vendor's own levels: efforts = ["${effort}"]`,
    ),
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
    ...withRemedy(
      message`Cannot use ${JSON.stringify(chosen)} as default: it is not among the models of this entry`,
      message`add it to models, or write default = ${JSON.stringify(near)}`,
    ),
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
      ...withRemedy(
        message`Cannot use transport = "provider" for the plugin ${name}: it is a program on this machine`,
        message`give it type = "http" and url = "https://…", or remove the line`,
      ),
    }];
  }
  return ONLY_DIRECT.filter((key) => entry[key] !== undefined && entry[key] !== "").map((key) => ({
    level: "error",
    path: [...path, key],
    at: "key",
    ...withRemedy(
      message`Cannot use ${key} for the plugin ${name}: with transport = "provider" nothing runs here`,
      message`put what the server requires into headers, or remove the transport line`,
    ),
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
    ? message`add type = "http" for a server with an address`
    : message`add a line such as ${remote ? 'url = "https://…"' : 'command = "npx"'}`;
  return [{
    level: "error",
    path,
    at: "key",
    ...withRemedy(message`The plugin ${JSON.stringify(entry.name)} has no ${needed}`, remedy),
  }];
}
