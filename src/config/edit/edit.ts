import { checkValue, type Finding } from "../load/check.ts";
import { checkLayer, parseToml, readText } from "../load/layer.ts";
import { ConfigError, type ConfigProblem, formatKey, type KeyPath } from "../problem.ts";
import { isTable, locate, parseKeyPath, schemaAt, type TomlTable } from "../schema/json_schema.ts";
import { message, ReasonixError, usageError } from "../../core/mod.ts";
import { saveFile } from "../../util/atomic_write.ts";
import { canonicalJson } from "../../util/json.ts";

export interface EditOptions {
  /** The file belongs to a project, so others read it; otherwise it gets mode 0600. */
  readonly shared?: boolean;
}

export function isUserOnly(key: string): boolean {
  return schemaAt(parseKeyPath(key)).project === "ignored";
}

/**
 * Changes one key of a configuration file and keeps everything else as it is: comments, order, line ends. The
 * file is created when it is missing and replaced in one step. `undefined` removes the key.
 *
 * @param key such as `sandbox.bash` or `providers.deepseek.effort`
 * @throws {ReasonixError} when the key, the value or the file is not valid; the file is then unchanged
 */
export async function setConfigValue(
  file: string,
  key: string,
  value: unknown,
  { shared = false }: EditOptions = {},
): Promise<void> {
  const path = parseKeyPath(key);
  checkNewValue(path, value);
  await editFile(file, shared, (table) => {
    const target = parentOf(table, path, value !== undefined);
    const last = path.at(-1) ?? "";
    if (!target) return;
    if (value === undefined) removeFrom(target, last);
    else (target as TomlTable)[last] = value;
  });
}

/**
 * Adds an item to a list in a configuration file, unless it is in it. Otherwise like {@linkcode
 * setConfigValue}.
 */
export async function addConfigItem(file: string, key: string, item: unknown): Promise<void> {
  const path = parseKeyPath(key);
  if (schemaAt(path).type !== "array") {
    throw usageError(message`Cannot add to ${key}: it is not a list`, message`set it instead`);
  }
  checkNewValue(path, [item]);
  await editFile(file, false, (table) => {
    const target = parentOf(table, path, true) as TomlTable;
    const last = String(path.at(-1));
    const list = Array.isArray(target[last]) ? target[last] : [];
    const same = JSON.stringify(item);
    if (!list.some((present) => JSON.stringify(present) === same)) target[last] = [...list, item];
  });
}

/**
 * Adds a provider to a configuration file, or updates it; `isDefault` makes it the default one. `header`
 * begins a new file.
 */
export async function saveProvider(
  file: string,
  entry: ProviderTable,
  { isDefault, header = "" }: { readonly isDefault: boolean; readonly header?: string },
): Promise<void> {
  await editFile(file, false, (table) => {
    if (isDefault) table.default_model = entry.name;
    putProvider(table, entry);
  }, header);
}

/** Parses a value by the type of the key, so that `config set default_model x` needs no quotes. */
export function parseConfigValue(key: string, text: string): unknown {
  const schema = schemaAt(parseKeyPath(key));
  if (schema.type === "string") return text;
  if (schema.type === "array" && schema.items?.type === "string" && !text.trim().startsWith("[")) {
    return text.split(",").map((item) => item.trim()).filter((item) => item !== "");
  }
  const problems: ConfigProblem[] = [];
  const table = parseToml(`value = ${text}`, "", problems);
  // What is no TOML is a text, and the check of its type says what is expected.
  return table ? table.value : text;
}

function checkNewValue(path: KeyPath, value: unknown): void {
  const schema = schemaAt(path);
  const findings: Finding[] = [];
  if (value !== undefined) checkValue(value, schema, path, findings);
  const errors = findings.filter((finding) => finding.level === "error");
  if (errors.length > 0) throw new ConfigError(errors.map(({ path: _, at: __, ...problem }) => problem));
}

function parentOf(table: TomlTable, path: KeyPath, create: boolean): TomlTable | unknown[] | undefined {
  const parentPath = path.slice(0, -1);
  if (create) makeTables(table, parentPath);
  const located = locate(table, parentPath);
  if (!located) {
    if (!create) return undefined;
    throw new ReasonixError(message`Cannot set ${formatKey(path)}: this file has no such entry`, {
      exit: "config",
      remedy: message`add the entry to the file first`,
    });
  }
  return located.reduce<unknown>((value, part) => (value as TomlTable)[part], table) as TomlTable | unknown[];
}

function makeTables(table: TomlTable, path: KeyPath): void {
  let here: unknown = table;
  for (const [index, part] of path.entries()) {
    const found = isTable(here) || Array.isArray(here) ? locate({ here }, ["here", part]) : undefined;
    if (!found) {
      const isList = schemaAt(path.slice(0, index + 1)).type === "array";
      if (!isTable(here) || isList) return;
      here[part] = {};
    }
    here = (here as TomlTable)[found?.at(-1) ?? part];
  }
}

function removeFrom(target: TomlTable | unknown[], part: string | number): void {
  if (!Array.isArray(target)) return void delete target[part];
  const index = typeof part === "number"
    ? part
    : target.findIndex((item) => isTable(item) && item.name === part);
  if (index >= 0) target.splice(index, 1);
}

async function editFile(
  file: string,
  shared: boolean,
  change: (table: TomlTable) => void,
  header = "",
): Promise<void> {
  const { before, after } = await rewriteConfig(file, change, header);
  if (before !== after) await writeConfig(file, after, { shared });
}

/**
 * Returns the text of a configuration file after a change, with everything else unchanged. `header` begins a
 * new file. Nothing is written.
 */
export async function rewriteConfig(
  file: string,
  change: (table: TomlTable) => void,
  header = "",
): Promise<{ readonly before: string; readonly after: string }> {
  const problems: ConfigProblem[] = [];
  const found = readText(file, problems);
  const before = found ?? "";
  const table = parseToml(before, file, problems);
  if (!table || problems.length > 0) throw new ConfigError(problems);
  const wanted = structuredClone(table);
  change(wanted);
  if (JSON.stringify(wanted) === JSON.stringify(table)) return { before, after: before };
  const head = found === undefined && header !== "" ? `${header}\n` : "";
  const rewritten = await rewrite(before, table, wanted).catch((cause) => {
    // The package refuses a few texts that are TOML.
    throw unchangeable(file, cause);
  });
  const after = head + wrapNewLists(before, rewritten);
  verify(file, after, wanted);
  return { before, after };
}

export async function writeConfig(
  file: string,
  text: string,
  { shared = false }: EditOptions,
): Promise<void> {
  await saveFile(file, text, shared ? {} : { setMode: 0o600 });
}

/** Returns the text with the smallest change that yields `wanted`. */
async function rewrite(before: string, table: TomlTable, wanted: TomlTable): Promise<string> {
  if (canonicalJson(table) === canonicalJson(wanted)) return before;
  const removed = removedEntry(table, wanted);
  const shrunk = removed && removeTable(before, removed.list, removed.index);
  if (shrunk !== undefined) return shrunk;
  const { patch, stringify } = await import("@decimalturn/toml-patch");
  const added = addedEntry(table, wanted);
  if (added) {
    const { list, entry } = added;
    const without = { ...wanted, [list]: (wanted[list] as TomlTable[]).slice(0, -1) };
    const grown = insertTable(await rewrite(before, table, without), list, stringify({ [list]: [entry] }));
    if (grown !== undefined) return grown;
  }
  // The package cannot begin a list of tables in an existing text; its entries go to the end instead.
  const isNewList = ([name, value]: [string, unknown]) =>
    !Object.hasOwn(table, name) && Array.isArray(value) && value.some(isTable);
  const lists = Object.entries(wanted).filter(isNewList);
  const rest = Object.fromEntries(Object.entries(wanted).filter((entry) => !isNewList(entry)));
  if (lists.length === 0 && before !== "") return patch(before, rest);
  const newline = before.includes("\r\n") ? "\r\n" : "\n";
  const parts = [
    canonicalJson(rest) === canonicalJson(table) ? before : patch(before, rest),
    ...lists.map((list) => stringify(Object.fromEntries([list])).replaceAll("\n", newline)),
  ].filter((part) => part !== "");
  return parts.map((part) => part.endsWith("\n") ? part : part + newline).join(newline);
}

function addedEntry(table: TomlTable, wanted: TomlTable): { list: string; entry: TomlTable } | undefined {
  for (const list of ["providers", "plugins"]) {
    const [before, after] = [table[list], wanted[list]];
    if (!Array.isArray(before) || !Array.isArray(after) || before.length === 0) continue;
    const entry = after.at(-1);
    const isLonger = after.length > before.length &&
      canonicalJson(after.slice(0, before.length)) === canonicalJson(before);
    if (isLonger && isTable(entry)) return { list, entry };
  }
  return undefined;
}

function removedEntry(table: TomlTable, wanted: TomlTable): { list: string; index: number } | undefined {
  for (const list of ["providers", "plugins"]) {
    const [before, after = []] = [table[list], wanted[list]];
    if (!Array.isArray(before) || !Array.isArray(after) || after.length !== before.length - 1) continue;
    const index = before.findIndex((entry, at) => canonicalJson(entry) !== canonicalJson(after[at]));
    const rest = before.toSpliced(index, 1);
    const others = Object.fromEntries(Object.entries(table).filter(([name]) => name !== list));
    const expected = rest.length > 0 ? { ...others, [list]: rest } : others;
    if (canonicalJson(expected) === canonicalJson(wanted)) return { list, index };
  }
  return undefined;
}

/** Throws for a text that does not load, or that is not what was wanted. */
function verify(file: string, text: string, wanted: TomlTable): void {
  const problems: ConfigProblem[] = [];
  const table = parseToml(text, file, problems);
  if (table) problems.push(...checkLayer({ source: "user", file, text, table }));
  const errors = problems.filter((problem) => problem.level === "error");
  if (errors.length > 0) throw new ConfigError(errors);
  if (canonicalJson(table) === canonicalJson(wanted)) return;
  throw unchangeable(file);
}

function unchangeable(file: string, cause?: unknown): ReasonixError {
  return new ReasonixError(message`Cannot change ${file} without touching other lines`, {
    exit: "config",
    remedy: message`make the change by hand`,
    cause,
  });
}

export type ProviderTable = TomlTable & { readonly name: string };

/**
 * Adds a provider entry after the others, or over the one of that name, whose other settings and models stay.
 */
function putProvider(table: TomlTable, entry: ProviderTable): void {
  const list = Array.isArray(table.providers) ? table.providers : [];
  const present = list.find((candidate): candidate is TomlTable =>
    isTable(candidate) && candidate.name === entry.name
  );
  if (!present) {
    table.providers = [...list, entry];
    return;
  }
  const { models, model, ...rest } = entry;
  if (Array.isArray(models)) {
    const known = Array.isArray(present.models) ? present.models : [];
    present.models = [...new Set([...known, ...models])];
    delete present.model;
  } else if (model !== undefined) {
    present.model = model;
    delete present.models;
    delete present.default;
  }
  // A setting that follows the address or the model does not outlive them.
  for (const name of ["api_key_env", "context_window"]) if (rest[name] === undefined) delete present[name];
  Object.assign(present, rest);
}

/**
 * Inserts an entry after the last one of a list of tables, before comments that belong to the next table.
 * Undefined when the text has no such list.
 */
function insertTable(text: string, name: string, entry: string): string | undefined {
  const lines = text.split("\n");
  const { header, inside } = headersOf(name);
  const last = lines.findLastIndex((line) => header.test(line));
  if (last < 0) return undefined;
  const next = lines.findIndex((line, index) => index > last && /^\s*\[/.test(line) && !inside.test(line));
  const end = endOfEntry(lines, last, next < 0 ? lines.length : next);
  // The last line of a file without a newline is ended first, so that the two do not run together.
  const ending = text.includes("\r\n") ? "\r" : "";
  const added = ["", ...entry.trimEnd().split("\n")].map((line) => line + ending);
  const before = lines.slice(0, end).map((line) =>
    ending !== "" && !line.endsWith(ending) ? line + ending : line
  );
  const after = lines.slice(end);
  return [...before, ...added, ...(after.length > 0 ? after : [""])].join("\n");
}

/**
 * Removes an entry of a list of tables; comments before it stay. Undefined when the text has no such list.
 */
function removeTable(text: string, name: string, index: number): string | undefined {
  const lines = text.split("\n");
  const { header, inside } = headersOf(name);
  const starts = lines.flatMap((line, at) => header.test(line) ? [at] : []);
  const start = starts[index];
  if (start === undefined) return undefined;
  const next = lines.findIndex((line, at) =>
    at > start && /^\s*\[/.test(line) && (header.test(line) || !inside.test(line))
  );
  const end = endOfEntry(lines, start, next < 0 ? lines.length : next);
  const blank = (at: number) => /^\s*$/.test(lines[at] ?? "");
  // Avoids two consecutive blank lines.
  const first = start > 0 && blank(start - 1) && blank(end) ? start - 1 : start;
  return [...lines.slice(0, first), ...lines.slice(first === 0 && blank(end) ? end + 1 : end)].join("\n");
}

function headersOf(name: string): { readonly header: RegExp; readonly inside: RegExp } {
  return {
    header: new RegExp(`^\\s*\\[\\[\\s*${name}\\s*\\]\\]`),
    inside: new RegExp(`^\\s*\\[\\[?\\s*${name}\\s*[.\\]]`),
  };
}

/** The line after an entry: comments and blank lines at its end belong to the next one. */
function endOfEntry(lines: readonly string[], start: number, next: number): number {
  let end = next;
  while (end > start + 1 && /^\s*(?:#|$)/.test(lines[end - 1] ?? "")) end--;
  return end;
}

const MAX_LINE = 110;

/** Wraps new lists that are too long for a line, one item per line. */
function wrapNewLists(before: string, after: string): string {
  const known = new Set(before.split("\n"));
  return after.split("\n").map((line) => {
    const [, head = "", body = "", ending = ""] = /^(\w+ = )\[ (.*) \](\r?)$/.exec(line) ?? [];
    if (body === "" || line.length <= MAX_LINE || known.has(line)) return line;
    const items = body.match(/"(?:[^"\\]|\\.)*"|'[^']*'/g) ?? [];
    if (items.join(", ") !== body) return line;
    return [`${head}[`, ...items.map((item) => `  ${item},`), "]"].join(`${ending}\n`) + ending;
  }).join("\n");
}

/** Saves a key in the key file (mode 0600), in place of a line of that name; everything else stays. */
export async function saveKey(file: string, name: string, value: string): Promise<void> {
  const line = `${name}=${/^[\w.+/=:-]+$/.test(value) ? value : `'${value}'`}`;
  const lines = linesWithout(file, [name]);
  while (lines.at(-1) === "") lines.pop();
  await saveFile(file, `${[...lines, line].join("\n")}\n`, { setMode: 0o600 });
}

export async function removeKeys(file: string, names: readonly string[]): Promise<void> {
  await saveFile(file, linesWithout(file, names).join("\n"), { setMode: 0o600 });
}

function linesWithout(file: string, names: readonly string[]): string[] {
  const lines = readIfThere(file).split("\n");
  return lines.filter((text) => {
    const name = /^(?:export\s+)?([A-Za-z_]\w*)\s*=/.exec(text)?.[1];
    return name === undefined || !names.includes(name);
  });
}

function readIfThere(file: string): string {
  try {
    return Deno.readTextFileSync(file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}
