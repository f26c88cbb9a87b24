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

type Problem = readonly [text: LocalizedMessage, remedy: LocalizedMessage];

function errorAt(path: KeyPath, [text, remedy]: Problem, at: Finding["at"] = "value"): Finding {
  return { level: "error", path, at, ...withRemedy(text, remedy) };
}

function warningAt(path: KeyPath, [text, remedy]: Problem): Finding {
  return { level: "warning", path, at: "key", ...withRemedy(text, remedy) };
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
    const text = message`${formatKey(path)} lacks the key "${name}"`;
    findings.push(errorAt(path, [text, message`add a line such as ${line}`], "key"));
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
  return errorAt(path, [text, remedyFor(value, schema, path)]);
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
  const remedy = near
    ? message`did you mean "${near}"?`
    : home
    ? message`did you mean ${formatKey(home)}?`
    : message`remove it, or look it up with: reasonix docs config`;
  return warningAt(here, [message`Unknown key ${formatKey(here)} has no effect`, remedy]);
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
  let weight = 0;
  return (["deny", "ask", "allow"] as const).flatMap((list) =>
    listIn(permissions, list).flatMap((rule, index) => {
      const path = ["permissions", list, index];
      const added = ruleWeight(rule);
      const before = weight;
      weight += added;
      if (added === 0 || weight <= MAX_WEIGHT) return checkRule(rule, list, path);
      return before > MAX_WEIGHT ? [] : [errorAt(path, [
        message`Cannot hold the permission rules of this file: their wildcards and braces have too many expansions`,
        message`write fewer rules, or wildcards in place of braces`,
      ])];
    })
  );
}

function checkRule(rule: unknown, list: "deny" | "ask" | "allow", path: KeyPath): Finding[] {
  const read = typeof rule === "string" ? readRule(rule) : undefined;
  if (!read) return [];
  if (!isFault(read)) {
    const warning = lintRule(read);
    return warning ? [{ level: "warning", path, at: "value", ...warning }] : [];
  }
  if (list !== "allow" || read.isTooWide) return [{ level: "error", path, at: "value", ...read }];
  const text = clausesOf([read.texts.message, message`it allows nothing`]);
  return [{ level: "warning", path, at: "value", ...withRemedy(text, read.texts.remedy) }];
}

/** Only rules about commands can be confirmed this way. */
function checkDangerous(safety: unknown): Finding[] {
  return listIn(safety, "dangerous").flatMap((rule, index): Finding[] => {
    const read = typeof rule === "string" ? readRule(rule) : undefined;
    if (!read) return [];
    const path = ["safety", "dangerous", index];
    if (isFault(read)) return [{ level: "error", path, at: "value", ...read }];
    if ("family" in read.target && read.target.family === "Bash") return [];
    return [errorAt(path, [
      message`Cannot use ${JSON.stringify(rule)} for ${formatKey(path)}: it is no rule about commands`,
      message`write for example ${'dangerous = ["Bash(kubectl delete:*)"]'}`,
    ])];
  });
}

function listIn(table: unknown, key: string): readonly unknown[] {
  const list = isTable(table) ? table[key] : undefined;
  return Array.isArray(list) ? list : [];
}

function textsIn(table: TomlTable, key: string): string[] {
  return listIn(table, key).filter((item) => typeof item === "string");
}

function checkList(
  table: TomlTable,
  list: string,
  check: (entry: TomlTable, path: KeyPath) => Finding[],
): Finding[] {
  const seen = new Set<unknown>();
  return listIn(table, list).flatMap((entry, index) => {
    if (!isTable(entry)) return [];
    const path = [list, index];
    const findings = check(entry, path);
    if (seen.has(entry.name)) {
      const text = message`Cannot use the name ${JSON.stringify(entry.name)} twice in ${list}`;
      findings.push(errorAt([...path, "name"], [text, message`rename one of the entries, or remove it`]));
    }
    seen.add(entry.name);
    return findings;
  });
}

function checkProvider(entry: TomlTable, path: KeyPath): Finding[] {
  const models = isTable(entry.model_settings) ? Object.entries(entry.model_settings) : [];
  return [
    ...checkDefault(entry, path),
    ...checkKeyCommand(entry.api_key_command, [...path, "api_key_command"]),
    ...checkEffort(entry, path),
    ...models.flatMap(([name, settings]) =>
      isTable(settings)
        ? checkEffort({ efforts: entry.efforts, ...settings }, [...path, "model_settings", name])
        : []
    ),
    ...checkTextCalls(entry.compat, [...path, "compat", "text_calls"]),
  ];
}

function checkTextCalls(compat: unknown, path: KeyPath): Finding[] {
  if (!isTable(compat) || compat.text_calls !== true) return [];
  return [warningAt(path, [
    message`${formatKey(path)} is deprecated; it only reads calls that the model writes unprompted`,
    message`set tool_mode = "pseudo" of this entry, which also explains the format to the model`,
  ])];
}

function checkKeyCommand(command: unknown, path: KeyPath): Finding[] {
  const isList = Array.isArray(command) && command.length > 0 &&
    command.every((word) => typeof word === "string") && command[0] !== "";
  if (command === undefined || typeof command === "string" || isList) return [];
  return [errorAt(path, [
    message`Cannot use this value for ${
      formatKey(path)
    }: a line of the shell, or a program with arguments as an array of texts, is expected`,
    message`write for example ${'api_key_command = "pass show my-key"'}`,
  ])];
}

/** An effort is a known level, or a word of the vendor that `efforts` names. */
function checkEffort(entry: TomlTable, path: KeyPath): Finding[] {
  const { effort } = entry;
  const levels = effortLevels(textsIn(entry, "efforts"));
  if (typeof effort !== "string" || effort === "" || levels.includes(effort)) return [];
  const near = suggestNames(effort, levels, 1)[0];
  const remedy = near
    ? message`did you mean "${near}"?`
    : message`use one of them, or name the vendor's own levels: efforts = ["${effort}"]`;
  const text = message`Cannot use ${JSON.stringify(effort)} as effort: the levels are ${levels}`;
  return [errorAt([...path, "effort"], [text, remedy])];
}

function checkDefault(entry: TomlTable, path: KeyPath): Finding[] {
  const models = [...textsIn(entry, "models"), ...(typeof entry.model === "string" ? [entry.model] : [])];
  const chosen = entry.default;
  if (typeof chosen !== "string" || models.length === 0 || models.includes(chosen)) return [];
  const near = suggestNames(chosen, models, 1)[0] ?? models[0];
  return [errorAt([...path, "default"], [
    message`Cannot use ${JSON.stringify(chosen)} as default: it is not among the models of this entry`,
    message`add it to models, or write default = ${JSON.stringify(near)}`,
  ])];
}

/** Finds providers that plugins may not use: those that do not exist, and those whose server we start. */
export function checkGrants(table: TomlTable, providers: readonly TomlTable[]): Finding[] {
  return listIn(table, "plugins").flatMap((entry, at) =>
    listIn(entry, "providers").flatMap((name, index): Finding[] => {
      const path = ["plugins", at, "providers", index];
      const plugin = isTable(entry) ? JSON.stringify(entry.name) : "";
      const found = providers.find((each) => each.name === name);
      if (found?.server !== undefined) {
        return [errorAt(path, [
          message`Cannot give the plugin ${plugin} the provider ${
            JSON.stringify(name)
          }: only this program can start its server`,
          message`start the server yourself, and name its base_url in another entry of [[providers]]`,
        ])];
      }
      if (found) return [];
      const near = suggestNames(String(name), providers.map((each) => String(each.name)), 1)[0];
      return [errorAt(path, [
        message`Cannot give the plugin ${plugin} the provider ${
          JSON.stringify(name)
        }: there is no such entry in [[providers]]`,
        near
          ? message`did you mean "${near}"?`
          : message`add a [[providers]] entry of this name to your own file`,
      ])];
    })
  );
}

/** Keys that a server without a process or connection here cannot have. */
const ONLY_DIRECT = ["command", "headers_helper", "oauth"];

function checkPlugin(entry: TomlTable, path: KeyPath): Finding[] {
  const { enabled, transport, type = "stdio", url } = entry;
  const name = JSON.stringify(entry.name);
  const isRemote = ["http", "streamable-http", "sse"].some((remote) => remote === type);
  const findings: Finding[] = [];
  if (transport === "provider" && !isRemote) {
    findings.push(errorAt([...path, "transport"], [
      message`Cannot use transport = "provider" for the plugin ${name}: it is a program on this machine`,
      message`give it type = "http" and url = "https://…", or remove the line`,
    ]));
  } else if (transport === "provider") {
    for (const key of ONLY_DIRECT.filter((key) => entry[key] !== undefined && entry[key] !== "")) {
      findings.push(errorAt([...path, key], [
        message`Cannot use ${key} for the plugin ${name}: with transport = "provider" nothing runs here`,
        message`put what the server requires into headers, or remove the transport line`,
      ], "key"));
    }
  }
  const needed = isRemote ? "url" : "command";
  // A type that does not exist has been reported already.
  if (enabled === false || (!isRemote && type !== "stdio") || entry[needed]) return findings;
  // An address without a type is the usual mistake, so it gets a separate remedy.
  const remedy = !isRemote && url
    ? message`add type = "http" for a server with an address`
    : message`add a line such as ${isRemote ? 'url = "https://…"' : 'command = "npx"'}`;
  return [...findings, errorAt(path, [message`The plugin ${name} has no ${needed}`, remedy], "key")];
}
