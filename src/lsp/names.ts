import type { DocumentSymbol, Location, Range, WorkspaceEdit } from "vscode-languageserver-protocol";
import { ReasonixError } from "../core/mod.ts";
import type { NamePort, SymbolPosition } from "../tool/mod.ts";
import { isRecord } from "../util/json.ts";
import { oneLine } from "../util/terminal_text.ts";
import type { LanguageServers, RunningServer } from "./language_servers.ts";
import { fileUri, findSymbol, isRange, LineMap, pathOfUri, recordsIn } from "./positions.ts";

interface SourceFile {
  readonly path: string;
  readonly text: string;
}

interface NamesOptions {
  readonly servers: Pick<LanguageServers, "serverFor">;
  /** The text of a file and its real path; rejects with a ReasonixError where it may not be read. */
  readonly read: (path: string) => Promise<SourceFile>;
  readonly shown: (path: string) => string;
}

interface OpenedFile {
  readonly running: RunningServer;
  readonly file: SourceFile;
}

/** A file before and after an edit of a symbol. */
export interface ChangedFile {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

const TIMEOUT_MS = 30_000;
const MAX_LOCATIONS = 60;
const MAX_SYMBOLS = 200;
const MAX_HOVER_CHARS = 4_000;
const MAX_LINE_CHARS = 160;

export class Names implements NamePort {
  readonly #options: NamesOptions;

  constructor(options: NamesOptions) {
    this.#options = options;
  }

  async definition(position: SymbolPosition, signal: AbortSignal): Promise<string> {
    return await this.#locations(await this.#ask("definition", position, signal), "No definition was found");
  }

  async references(position: SymbolPosition, signal: AbortSignal): Promise<string> {
    const context = { includeDeclaration: true };
    const found = await this.#ask("references", position, signal, { context });
    return await this.#locations(found, "No reference was found");
  }

  async hover(position: SymbolPosition, signal: AbortSignal): Promise<string> {
    const found = await this.#ask("hover", position, signal);
    const text = isRecord(found) ? contentText(found.contents).trim() : "";
    if (text === "") return "Nothing is known about it";
    return text.length > MAX_HOVER_CHARS ? `${text.slice(0, MAX_HOVER_CHARS).toWellFormed()}…` : text;
  }

  /** Lists the symbols of a file, or with a query the similar ones of its project. */
  async symbols(path: string, query: string | undefined, signal: AbortSignal): Promise<string> {
    const opened = await this.#open(path);
    if (query === undefined) {
      return listed(symbolLines(await symbolsIn(opened, signal), ""), "The file has no symbols", MAX_SYMBOLS);
    }
    const limits = { timeoutMs: TIMEOUT_MS, signal };
    const found = await opened.running.patiently("workspace/symbol", { query }, limits);
    const lines = recordsIn(found).map(({ location, kind, name }) => {
      const [at] = locationsIn(location);
      return `${at ? this.#shown(at) : "?"}: ${kindOf(kind)} ${oneLine(String(name), MAX_LINE_CHARS)}`;
    });
    return listed(lines, "No symbol is like it", MAX_SYMBOLS);
  }

  /** Returns every file with the new name; writes nothing. */
  async rename(position: SymbolPosition, newName: string, signal: AbortSignal): Promise<ChangedFile[]> {
    const { running } = await this.#open(position.path);
    // Files that the server has in memory may have changed on the disk.
    for (const path of running.opened) {
      const file = await this.#options.read(path).catch(() => undefined);
      if (file) running.sync(path, file.text);
      else running.close(path);
    }
    const edit = await this.#ask("rename", position, signal, { newName });
    const files: ChangedFile[] = [];
    for (const [uri, edits] of editsIn(edit)) {
      const path = pathOfUri(uri);
      if (path === undefined) {
        throw new ReasonixError(`The language server would change ${uri}, which is no file`);
      }
      const { path: real, text } = await this.#options.read(path);
      const after = new LineMap(text, running.encoding).edited(edits);
      if (after !== text) files.push({ path: real, before: text, after });
    }
    if (files.length > 0) return files;
    throw new ReasonixError(`The language server cannot rename ${JSON.stringify(position.symbol)}`, {
      remedy: "give a position of the name itself",
    });
  }

  /** Returns the file without the definition of a symbol, its comment and decorators; writes nothing. */
  async remove(
    { path, symbol, line }: Omit<SymbolPosition, "line"> & { readonly line: number | undefined },
    signal: AbortSignal,
  ): Promise<ChangedFile[]> {
    const opened = await this.#open(path);
    const { running, file } = opened;
    const named = symbolsNamed(await symbolsIn(opened, signal), symbol.split(/\.|::/));
    const ranges = named.filter(({ start, end }) =>
      line === undefined || (start.line < line && line <= end.line + 1)
    );
    const lines = new LineMap(file.text, running.encoding);
    const [range, ...others] = ranges.length > 1 && line !== undefined ? innermost(ranges) : ranges;
    if (range && others.length === 0) {
      return [{ path: file.path, before: file.text, after: withoutSymbol(lines, range, symbol) }];
    }
    const shown = this.#options.shown(file.path);
    const at = named.map(({ start }) => start.line + 1).join(", ");
    const [problem, remedy] = named.length === 0
      ? [`${shown} has no symbol ${JSON.stringify(symbol)}`, "give the name as the file has it"]
      : [`${shown} defines ${JSON.stringify(symbol)} on line ${at}`, "give one of these lines as `line`"];
    throw new ReasonixError(problem, { remedy });
  }

  async #ask(
    method: string,
    { path, line, symbol }: SymbolPosition,
    signal: AbortSignal,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<unknown> {
    const { running, file } = await this.#open(path);
    const position = findSymbol(new LineMap(file.text, running.encoding), line, symbol);
    const params = { textDocument: { uri: fileUri(file.path) }, position, ...more };
    return await running.patiently(`textDocument/${method}`, params, { timeoutMs: TIMEOUT_MS, signal });
  }

  async #open(path: string): Promise<OpenedFile> {
    const file = await this.#options.read(path);
    const server = this.#options.servers.serverFor(file.path);
    if (!server) {
      throw new ReasonixError(`There is no language server for ${this.#options.shown(file.path)}`, {
        remedy: "use grep and read_file",
      });
    }
    const running = await server.running();
    running.sync(file.path, file.text);
    return { running, file };
  }

  async #locations(found: unknown, none: string): Promise<string> {
    const locations = locationsIn(found);
    const lines: string[] = [];
    for (const location of locations.slice(0, MAX_LOCATIONS)) {
      const path = pathOfUri(location.uri);
      const file = path === undefined ? undefined : await this.#options.read(path).catch(() => undefined);
      const text = file ? new LineMap(file.text, "utf-16").line(location.range.start.line).trim() : "";
      lines.push(`${this.#shown(location)}${text === "" ? "" : `: ${oneLine(text, MAX_LINE_CHARS)}`}`);
    }
    return listed(lines, none, MAX_LOCATIONS, locations.length);
  }

  #shown({ uri, range }: Location): string {
    const path = pathOfUri(uri);
    const name = path === undefined ? oneLine(uri, MAX_LINE_CHARS) : this.#options.shown(path);
    return `${name}:${range.start.line + 1}`;
  }
}

async function symbolsIn({ running, file }: OpenedFile, signal: AbortSignal) {
  const params = { textDocument: { uri: fileUri(file.path) } };
  const limits = { timeoutMs: TIMEOUT_MS, signal };
  return recordsIn(await running.patiently("textDocument/documentSymbol", params, limits));
}

function listed(lines: readonly string[], none: string, max: number, total = lines.length): string {
  if (lines.length === 0) return none;
  const shown = lines.slice(0, max);
  return [...shown, ...(total > shown.length ? [`and ${total - shown.length} more`] : [])].join("\n");
}

/** Locations of any of the forms that servers answer in: one, several, or links. */
function locationsIn(value: unknown): Location[] {
  const list = Array.isArray(value) ? value : [value];
  return list.filter(isRecord).flatMap((one) => {
    const uri = one.uri ?? one.targetUri;
    const range = one.range ?? one.targetSelectionRange ?? one.targetRange;
    return typeof uri === "string" && isRange(range) ? [{ uri, range }] : [];
  });
}

function contentText(contents: unknown): string {
  if (typeof contents === "string") return contents;
  if (Array.isArray(contents)) return contents.map(contentText).join("\n\n");
  return isRecord(contents) && typeof contents.value === "string" ? contents.value : "";
}

const KINDS =
  "file module namespace package class method property field constructor enum interface function variable constant string number boolean array object key null enum-member struct event operator type-parameter"
    .split(" ");

function kindOf(kind: unknown): string {
  return KINDS[Number(kind) - 1] ?? "symbol";
}

function symbolLines(symbols: readonly Record<string, unknown>[], indent: string): string[] {
  return symbols.flatMap((one) => {
    const { name, kind, selectionRange, children } = one as Partial<DocumentSymbol>;
    const range = isRange(selectionRange) ? selectionRange : locationsIn(one.location)[0]?.range;
    const line = range ? `${range.start.line + 1}: ` : "";
    const shown = `${indent}${line}${kindOf(kind)} ${oneLine(String(name), MAX_LINE_CHARS)}`;
    return [shown, ...symbolLines(recordsIn(children), `${indent}  `)];
  });
}

/** The whole ranges of the symbols of a file with a name, or with a dotted path of names. */
function symbolsNamed(symbols: readonly Record<string, unknown>[], names: readonly string[]): Range[] {
  const [first, ...more] = names;
  return symbols.flatMap(({ name, range, location, children }) => {
    // Go gives methods as `(*Type).Name`, other servers functions as `name(arguments)`.
    const bare = String(name).replace(/^\(\*?(\w+)\)\./, "$1.").replace(/\(.*$/s, "");
    const whole = isRange(range) ? range : locationsIn(location)[0]?.range;
    const isIt = bare === names.join(".") || (bare === first && more.length === 0);
    const inside = recordsIn(children);
    return [
      ...(isIt && whole ? [whole] : []),
      ...symbolsNamed(inside, names),
      ...(bare === first && more.length > 0 ? symbolsNamed(inside, more) : []),
    ];
  });
}

/** The ranges that begin last. */
function innermost(ranges: readonly Range[]): Range[] {
  const latest = Math.max(...ranges.map(({ start }) => start.line));
  return ranges.filter(({ start }) => start.line === latest);
}

const MODIFIERS = new RegExp(
  `^\\s*(?:(?:${
    ("abstract async class const constexpr crate declare def default export extern final fn fun func function " +
      "inline internal let mut override private protected pub(?:\\(\\w+\\))? public readonly static struct type " +
      "unsafe val var virtual").split(" ").join("|")
  })\\s+)*$`,
);
/** A line above a definition that belongs to it: a comment, a decorator, an attribute. */
const ATTACHED = /^\s*(?:\/\/|@|#\[|#\s|\/\*.*\*\/\s*$)/;

/** Removes whole lines. Throws a ReasonixError where they hold other code. */
function withoutSymbol(lines: LineMap, range: Range, symbol: string): string {
  const whole = (line: number) => ({ start: { line, character: 0 }, end: { line: line + 1, character: 0 } });
  let [first, last] = [range.start.line, range.end.line];
  // Some servers end a range at the start of the next line.
  if (range.end.character === 0 && last > first) last -= 1;
  const before = lines.textIn({ start: whole(first).start, end: range.start });
  const after = last === range.end.line ? lines.textIn({ start: range.end, end: whole(last).end }) : "";
  if (!MODIFIERS.test(before) || !/^\s*[;,]?\s*(?:(?:\/\/|#).*)?\s*$/.test(after)) {
    throw new ReasonixError(`${JSON.stringify(symbol)} shares its lines with other code`, {
      remedy: "use edit_file",
    });
  }
  while (first > 0) {
    const above = lines.line(first - 1);
    if (ATTACHED.test(above)) first -= 1;
    else if (/\*\/\s*$/.test(above)) {
      let start = first - 1;
      while (start > 0 && !lines.line(start).includes("/*")) start -= 1;
      if (!/^\s*\/\*/.test(lines.line(start))) break;
      first = start;
    } else break;
  }
  const isBlank = (line: number) => line < 0 || (line < lines.count && lines.line(line).trim() === "");
  if (isBlank(first - 1) && isBlank(last + 1)) last += 1;
  const [from, to] = [lines.indexOf(whole(first).start), lines.indexOf(whole(last).end)];
  return lines.text.slice(0, from) + lines.text.slice(to);
}

type Edits = Parameters<LineMap["edited"]>[0];

/** The edits of each file. Throws where the server would make, move or remove files. */
function editsIn(edit: unknown): (readonly [uri: string, edits: Edits])[] {
  if (!isRecord(edit)) return [];
  const { changes, documentChanges } = edit as WorkspaceEdit;
  const found = new Map<string, Edits>();
  const add = (uri: string, edits: unknown) => {
    const wellFormed = recordsIn(edits).flatMap(({ range, newText }) =>
      isRange(range) && typeof newText === "string" ? [{ range, newText }] : []
    );
    found.set(uri, [...found.get(uri) ?? [], ...wellFormed]);
  };
  for (const [uri, edits] of Object.entries(changes ?? {})) add(uri, edits);
  for (const change of recordsIn(documentChanges)) {
    if (typeof change.kind === "string" || !isRecord(change.textDocument)) {
      throw new ReasonixError("The language server would move or remove files, which a renaming may not");
    }
    add(String(change.textDocument.uri), change.edits);
  }
  // In an order that does not depend on the server.
  return [...found].sort(([a], [b]) => a < b ? -1 : 1);
}
