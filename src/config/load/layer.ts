import { parse, TomlError } from "smol-toml";
import { checkConfig, checkEntries, type Finding } from "./check.ts";
import type { ConfigProblem, KeyPath } from "../problem.ts";
import {
  childSchema,
  CONFIG_SCHEMA,
  isTable,
  type JsonSchema,
  type TomlTable,
} from "../schema/json_schema.ts";
import {
  errorMessage,
  type LocalizedMessage,
  message,
  type SourceLocation,
  type Text,
  withRemedy,
} from "../../core/mod.ts";
import { attempt } from "../../util/lazy.ts";

export type SourceName = "client" | "flag" | "environment" | "project" | "user" | "preset" | "default";

export interface Layer {
  readonly source: SourceName;
  readonly table: TomlTable;
  /** The file (or the name of the preset) behind it, and its text. */
  readonly file?: string;
  readonly text?: string;
  /** Directory of the installed bundle that it is a part of. */
  readonly root?: string;
  /** Locates a value, for a text that is not TOML. */
  readonly find?: (path: KeyPath) => { readonly line: number; readonly column: number };
}

/** Reads and checks one file. Undefined for a missing file, and for a faulty one, which adds a problem. */
export function readLayer(source: SourceName, file: string, problems: ConfigProblem[]): Layer | undefined {
  const text = source === "project" ? readProjectText(file, problems) : readText(file, problems);
  return text === undefined ? undefined : parseLayer({ source, file, text }, problems);
}

export function parseLayer(
  input: Required<Pick<Layer, "source" | "file" | "text">>,
  problems: ConfigProblem[],
): Layer | undefined {
  const table = parseToml(input.text, input.file, problems);
  if (!table) return undefined;
  renameMatchers(table.hooks);
  const layer = { ...input, table };
  problems.push(...checkLayer(layer));
  return layer;
}

/** A hook's `matcher` may be written `match`, as in settings.json. */
function renameMatchers(hooks: unknown): void {
  for (const hook of Array.isArray(hooks) ? hooks : []) {
    if (!isTable(hook) || hook.match === undefined || hook.matcher !== undefined) continue;
    hook.matcher = hook.match;
    delete hook.match;
  }
}

export function checkLayer(layer: Layer): ConfigProblem[] {
  const findings = [...checkConfig(layer.table), ...checkEntries(layer.table)];
  return findings.map((finding) => locateFinding(layer, finding)).sort(inFileOrder);
}

function inFileOrder(a: ConfigProblem, b: ConfigProblem): number {
  return (a.place?.line ?? 0) - (b.place?.line ?? 0) || (a.place?.column ?? 0) - (b.place?.column ?? 0);
}

export function locateFinding(layer: Layer, finding: Finding): ConfigProblem {
  const { path, at, ...problem } = finding;
  const place = locationOf(layer, path, at);
  return { ...problem, ...(place ? { place } : {}) };
}

const positions = new WeakMap<Layer, Positions>();

/** Returns the location of a value; only the file when the text does not show it. */
export function locationOf(
  layer: Layer,
  path: KeyPath,
  at: "key" | "value" = "key",
): SourceLocation | undefined {
  if (layer.file === undefined) return undefined;
  if (layer.find) return { file: layer.file, ...layer.find(path) };
  if (layer.text === undefined) return { file: layer.file };
  let found = positions.get(layer);
  if (!found) positions.set(layer, found = new Positions(layer.text));
  return { file: layer.file, ...found.find(path, at) };
}

export function parseToml(text: string, file: string, problems: ConfigProblem[]): TomlTable | undefined {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const reason = (error.message.split("\n", 1)[0] ?? "").replace(/^Invalid TOML document: /, "");
    const at = quoteLine(text, error.line);
    problems.push({
      level: "error",
      ...withRemedy(
        at === ""
          ? message`Cannot read the TOML here: ${reason}`
          : message`Cannot read the TOML here: ${reason} (at ${at})`,
        syntaxRemedy(reason),
      ),
      place: { file, line: error.line, column: error.column },
    });
    return undefined;
  }
}

/** Names the key or table of a line. Values are left out: they may be secrets. */
function quoteLine(text: string, line: number): string {
  const content = (text.split("\n")[line - 1] ?? "").trim().replace(/\p{Cc}/gu, "␀");
  const name = /^(?:\[+[^\]]*\]*|[^=]+(?==))/.exec(content)?.[0].trim().slice(0, 60);
  return name ? JSON.stringify(name) : "";
}

/** Remedies by words of the parser. */
const SYNTAX_REMEDIES: readonly (readonly [words: string, remedy: LocalizedMessage])[] = [
  ["redefine", message`merge the two places into one, or use [[…]] for a list of tables`],
  ["illegal character in key", message`put the key in quotes, or close the bracket before it`],
  ["invalid value", message`write texts in quotes ("…"), and true, false or numbers without`],
  ["unfinished", message`close the quote or bracket that begins here`],
  ["control character", message`close the quote on its line, or write """ around several lines`],
  ["", message`correct this line; https://toml.io shows the syntax`],
];

function syntaxRemedy(reason: string): Text {
  return SYNTAX_REMEDIES.find(([words]) => reason.includes(words))?.[1] ?? "";
}

/**
 * Merges two tables key by key: lists with `merge` are joined, named entries (providers, plugins) replace
 * those of their name and come first, anything else is replaced.
 */
export function mergeTables(
  lower: TomlTable,
  upper: TomlTable,
  schema: JsonSchema | undefined = CONFIG_SCHEMA,
): TomlTable {
  const merged = new Map(Object.entries(lower));
  for (const [name, value] of Object.entries(upper)) {
    merged.set(name, mergeValue(merged.get(name), value, childSchema(schema, name)));
  }
  return Object.fromEntries(merged);
}

function mergeValue(lower: unknown, upper: unknown, schema: JsonSchema | undefined): unknown {
  if (isTable(lower) && isTable(upper)) return mergeTables(lower, upper, schema);
  if (!Array.isArray(lower) || !Array.isArray(upper)) return upper;
  if (schema?.merge === "concat") return [...new Set([...lower, ...upper])];
  if (!schema?.items?.properties) return upper;
  const names = new Set(upper.map(nameOf));
  return [...upper, ...lower.filter((entry) => !names.has(nameOf(entry)))];
}

function nameOf(entry: unknown): unknown {
  return isTable(entry) ? entry.name : entry;
}

const MAX_BYTES = 1 << 20;

/** Reads a file of the user; undefined when it is missing, or unreadable, which adds a problem. */
export function readText(file: string, problems: ConfigProblem[]): string | undefined {
  try {
    const text = Deno.readTextFileSync(file);
    if (text.length > MAX_BYTES) return reject(file, tooLarge(text.length), problems);
    // The fast read replaces broken bytes; only then is the slow look worth it.
    return text.includes("\uFFFD") && !isUtf8(file) ? reject(file, "it is not UTF-8", problems) : text;
  } catch (error) {
    return unread(file, error, problems);
  }
}

/** Reads a file of a project, which may be a link to an endless device. */
export function readProjectText(file: string, problems: ConfigProblem[]): string | undefined {
  try {
    const { isFile, isDirectory, size } = Deno.statSync(file);
    if (isFile && size <= MAX_BYTES) return readText(file, problems);
    const reason = isDirectory ? IS_DIRECTORY : isFile ? tooLarge(size) : "it is not a regular file";
    return reject(file, reason, problems);
  } catch (error) {
    return unread(file, error, problems);
  }
}

const IS_DIRECTORY = "it is a directory";

function tooLarge(size: number): string {
  return `its size of ${size} is above the limit of 1 MiB`;
}

function unread(file: string, error: unknown, problems: ConfigProblem[]): undefined {
  if (error instanceof Deno.errors.NotFound) return undefined;
  const isDirectory = error instanceof Deno.errors.IsADirectory;
  return reject(file, isDirectory ? IS_DIRECTORY : errorMessage(error), problems);
}

function isUtf8(file: string): boolean {
  return attempt(() => new TextDecoder("utf-8", { fatal: true }).decode(Deno.readFileSync(file))) !==
    undefined;
}

function reject(file: string, reason: string, problems: ConfigProblem[]): undefined {
  problems.push({
    level: "error",
    ...withRemedy(
      message`Cannot read the configuration file: ${reason}`,
      message`put a readable text file in UTF-8 there, or remove it`,
    ),
    place: { file },
  });
}

/**
 * Parses a `.env` file: `NAME=value`, an optional `export`, single or double quotes, `#` comments. Nothing is
 * expanded: keys may contain `$`.
 */
function parseDotenv(text: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const line of text.replace(/^\uFEFF/, "").split(/\r?\n/)) {
    const match = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*(.*)$/.exec(line);
    if (match) values.set(match[1] ?? "", unquote(match[2] ?? ""));
  }
  return values;
}

function unquote(raw: string): string {
  const quoted = /^(?:"((?:[^"\\]|\\.)*)"|'([^']*)')\s*(?:#.*)?$/.exec(raw);
  if (quoted) {
    return quoted[2] ?? (quoted[1] ?? "").replace(/\\(.)/g, (_, char) => char === "n" ? "\n" : char);
  }
  return raw.replace(/\s#.*$/, "").trim();
}

/** The values of a `.env` file, read on first use; none when it is missing or unreadable. */
export function lazyDotenv(read: () => string | undefined): () => ReadonlyMap<string, string> {
  let values: ReadonlyMap<string, string> | undefined;
  return () => values ??= parseDotenv(read() ?? "");
}

/** Offsets of a key and of its value in the text. For a table both are those of its header. */
interface Span {
  readonly key: number;
  readonly value: number;
}

interface Token {
  readonly text: string;
  readonly at: number;
  readonly startsLine: boolean;
}

const SEPARATOR = "\u0000";

/** Blanks, a comment, a string, a sign or a bare word: every character of a text belongs to one. */
const TOKEN = new RegExp(
  [
    String.raw`[\s\uFEFF]+`,
    String.raw`#[^\n]*`,
    String.raw`"""(?:\\[^]|[^\\])*?"{3,5}|'''[^]*?'{3,5}`,
    String.raw`"(?:\\.|[^"\\\n])*"?|'[^'\n]*'?`,
    String.raw`[[\]{}=,.]`,
    String.raw`[^\s\uFEFF#"'[\]{}=,.]+`,
  ].join("|"),
  "g",
);

/**
 * Locates keys and values in a TOML text that the parser has accepted. Only problems need this. The walk ends
 * on any text.
 */
export class Positions {
  readonly #text: string;
  readonly #tokens: Token[] = [];
  readonly #spans = new Map<string, Span>();
  /** Number of entries of each array of tables so far. */
  readonly #entries = new Map<string, number>();
  #next = 0;

  constructor(text: string) {
    this.#text = text;
    let startsLine = true;
    for (const { 0: token, index } of text.matchAll(TOKEN)) {
      if (/^[\s\uFEFF#]/.test(token)) startsLine ||= token.includes("\n");
      else {
        this.#tokens.push({ text: token, at: index, startsLine });
        startsLine = false;
      }
    }
    let table: KeyPath = [];
    while (this.#token()) {
      if (this.#is("[")) table = this.#header();
      else this.#pair(table);
    }
  }

  /**
   * 1-based line and column, counted in UTF-16 units; the nearest enclosing key when the path itself is not
   * written.
   */
  find(path: KeyPath, at: "key" | "value"): { line: number; column: number } | undefined {
    for (let length = path.length; length > 0; length--) {
      const span = this.#spans.get(path.slice(0, length).join(SEPARATOR));
      if (span) return lineAndColumn(this.#text, span[length === path.length ? at : "key"]);
    }
    return undefined;
  }

  #token(): Token | undefined {
    return this.#tokens[this.#next];
  }

  #is(text: string): boolean {
    return this.#token()?.text === text;
  }

  #offset(): number {
    return this.#token()?.at ?? this.#text.length;
  }

  #header(): KeyPath {
    const start = this.#offset();
    const isArray = this.#text.startsWith("[[", start);
    this.#next += isArray ? 2 : 1;
    const keys = this.#keys();
    for (let closing = isArray ? 2 : 1; closing > 0 && this.#is("]"); closing--) this.#next++;
    if (!isArray) return this.#mark(this.#resolve(keys), start, start);
    const path = [...this.#resolve(keys.slice(0, -1)), ...keys.slice(-1)];
    const count = this.#entries.get(path.join(SEPARATOR)) ?? 0;
    this.#entries.set(path.join(SEPARATOR), count + 1);
    if (count === 0) this.#mark(path, start, start);
    return this.#mark([...path, count], start, start);
  }

  /** `[a.b]` after `[[a]]` means the last entry of `a`. */
  #resolve(keys: readonly string[]): KeyPath {
    const path: (string | number)[] = [];
    for (const key of keys) {
      path.push(key);
      const count = this.#entries.get(path.join(SEPARATOR));
      if (count !== undefined) path.push(count - 1);
    }
    return path;
  }

  #pair(table: KeyPath): void {
    const start = this.#offset();
    const path = [...table, ...this.#keys()];
    if (this.#is("=")) this.#next++;
    this.#mark(path, start, this.#offset());
    this.#value(path);
  }

  #value(path: KeyPath): void {
    const first = this.#token();
    this.#next++;
    if (first?.text === "[") {
      for (let index = 0; this.#more("]"); index++) {
        const item = [...path, index];
        this.#mark(item, this.#offset(), this.#offset());
        this.#value(item);
      }
    } else if (first?.text === "{") { while (this.#more("}")) this.#pair(path); }
    else {
      for (let token = this.#token(); token && !token.startsLine && !/^[,\]}]$/.test(token.text);) {
        this.#next++;
        token = this.#token();
      }
    }
  }

  /** Reports whether another item follows; steps over commas, or over the closing bracket. */
  #more(close: string): boolean {
    while (this.#is(",")) this.#next++;
    if (!this.#is(close)) return this.#token() !== undefined;
    this.#next++;
    return false;
  }

  #keys(): string[] {
    const keys: string[] = [];
    do {
      while (this.#is(".")) this.#next++;
      keys.push(keyName(this.#token()?.text ?? ""));
      this.#next++;
    } while (this.#is("."));
    return keys;
  }

  #mark(path: KeyPath, key: number, value: number): KeyPath {
    // `a.b = 1` writes the tables on its way, too; the first place counts.
    for (let length = 1; length < path.length; length++) {
      const parent = path.slice(0, length).join(SEPARATOR);
      if (!this.#spans.has(parent)) this.#spans.set(parent, { key, value: key });
    }
    const name = path.join(SEPARATOR);
    if (!this.#spans.has(name)) this.#spans.set(name, { key, value });
    return path;
  }
}

function keyName(token: string): string {
  if (token.startsWith("'")) return token.slice(1, -1);
  if (!token.startsWith('"')) return token;
  // A key with an escape that JSON does not know is not one of ours.
  return attempt(() => String(JSON.parse(token))) ?? token.slice(1, -1);
}

function lineAndColumn(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  // A byte order mark is no visible column.
  const shift = lineStart === 0 && text.startsWith("\uFEFF") ? 0 : 1;
  return { line: before.split("\n").length, column: offset - lineStart + shift };
}
