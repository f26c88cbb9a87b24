import type {
  DocumentSymbol,
  Location,
  Position,
  Range,
  WorkspaceEdit,
} from "vscode-languageserver-protocol";
import { ReasonixError } from "../core/mod.ts";
import type { NamePort, SymbolPosition } from "../tool/mod.ts";
import { isRecord } from "../util/json.ts";
import { oneLine } from "../util/terminal_text.ts";
import type { LanguageServers, RunningServer } from "./language_servers.ts";
import { fileUri, LineMap, pathOfUri, placeOfSymbol } from "./positions.ts";

export interface NamesOptions {
  readonly servers: Pick<LanguageServers, "serverFor">;
  /** The text of a file and its real path; rejects with a ReasonixError where it may not be read. */
  readonly read: (path: string) => Promise<{ readonly path: string; readonly text: string }>;
  readonly shown: (path: string) => string;
}

/** A file before and after an edit of a symbol. */
export interface ChangedFile {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

const TIMEOUT_MS = 30_000;
const MAX_PLACES = 60;
const MAX_SYMBOLS = 200;
const MAX_HOVER_CHARS = 4_000;
const MAX_LINE_CHARS = 160;

export class Names implements NamePort {
  readonly #options: NamesOptions;

  constructor(options: NamesOptions) {
    this.#options = options;
  }

  async definition(place: SymbolPosition, signal: AbortSignal): Promise<string> {
    const found = await this.#ask("textDocument/definition", place, signal);
    return await this.#places(locationsIn(found), "No definition was found");
  }

  async references(place: SymbolPosition, signal: AbortSignal): Promise<string> {
    const found = await this.#ask("textDocument/references", place, signal, {
      context: { includeDeclaration: true },
    });
    return await this.#places(locationsIn(found), "No reference was found");
  }

  async hover(place: SymbolPosition, signal: AbortSignal): Promise<string> {
    const found = await this.#ask("textDocument/hover", place, signal);
    const text = isRecord(found) ? contentText(found.contents).trim() : "";
    if (text === "") return "Nothing is known about it";
    return text.length > MAX_HOVER_CHARS ? `${text.slice(0, MAX_HOVER_CHARS).toWellFormed()}…` : text;
  }

  /** Lists the symbols of a file, or with a query the similar ones of its project. */
  async symbols(path: string, query: string | undefined, signal: AbortSignal): Promise<string> {
    const { running, file } = await this.#open(path);
    const limits = { timeoutMs: TIMEOUT_MS, signal };
    if (query !== undefined) {
      const found = await running.patiently("workspace/symbol", { query }, limits);
      const lines = recordsIn(found).map((one) => {
        const [place] = locationsIn(one.location);
        const at = place ? this.#at(place.uri, isRange(place.range) ? place.range.start : undefined) : "?";
        return `${at}: ${kindOf(one.kind)} ${oneLine(String(one.name), MAX_LINE_CHARS)}`;
      });
      return listed(lines, "No symbol is like it", MAX_SYMBOLS);
    }
    const params = { textDocument: { uri: fileUri(file.path) } };
    const found = await running.patiently("textDocument/documentSymbol", params, limits);
    return listed(symbolLines(recordsIn(found), ""), "The file has no symbols", MAX_SYMBOLS);
  }

  /** Returns every file with the new name; writes nothing. */
  async rename(place: SymbolPosition, newName: string, signal: AbortSignal): Promise<ChangedFile[]> {
    const { running } = await this.#open(place.path);
    await this.#refresh(running);
    const edit = await this.#ask("textDocument/rename", place, signal, { newName });
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
    throw new ReasonixError(`The language server cannot rename ${JSON.stringify(place.symbol)}`, {
      remedy: "give a place where the name itself stands",
    });
  }

  /** Returns the file without the definition of a symbol, its comment and decorators; writes nothing. */
  async remove(
    { path, symbol, line }: Omit<SymbolPosition, "line"> & { readonly line: number | undefined },
    signal: AbortSignal,
  ): Promise<ChangedFile[]> {
    const { running, file } = await this.#open(path);
    const params = { textDocument: { uri: fileUri(file.path) } };
    const limits = { timeoutMs: TIMEOUT_MS, signal };
    const found = await running.patiently("textDocument/documentSymbol", params, limits);
    const named = symbolsNamed(recordsIn(found), symbol.split(/\.|::/));
    const ranges = named.filter(({ start, end }) =>
      line === undefined || (start.line < line && line <= end.line + 1)
    );
    const lines = new LineMap(file.text, running.encoding);
    const [range, ...others] = ranges.length > 1 && line !== undefined ? innermost(ranges) : ranges;
    if (range && others.length === 0) {
      return [{ path: file.path, before: file.text, after: withoutSymbol(lines, range, symbol) }];
    }
    const shown = this.#options.shown(file.path);
    if (named.length === 0) {
      throw new ReasonixError(`${shown} has no symbol ${JSON.stringify(symbol)}`, {
        remedy: "give the name as the file has it",
      });
    }
    const at = named.map(({ start }) => start.line + 1).join(", ");
    throw new ReasonixError(`${shown} defines ${JSON.stringify(symbol)} on line ${at}`, {
      remedy: "give one of these lines as `line`",
    });
  }

  async #ask(
    method: string,
    { path, line, symbol }: SymbolPosition,
    signal: AbortSignal,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<unknown> {
    const { running, file } = await this.#open(path);
    const position = placeOfSymbol(new LineMap(file.text, running.encoding), line, symbol);
    const params = { textDocument: { uri: fileUri(file.path) }, position, ...more };
    return await running.patiently(method, params, { timeoutMs: TIMEOUT_MS, signal });
  }

  async #open(path: string): Promise<{ running: RunningServer; file: { path: string; text: string } }> {
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

  /** Refreshes files that the server has in memory and that may have changed on the disk. */
  async #refresh(running: RunningServer): Promise<void> {
    for (const path of running.opened) {
      const file = await this.#options.read(path).catch(() => undefined);
      if (file) running.sync(path, file.text);
      else running.close(path);
    }
  }

  async #places(places: readonly Location[], none: string): Promise<string> {
    const lines: string[] = [];
    for (const { uri, range } of places.slice(0, MAX_PLACES)) {
      const path = pathOfUri(uri);
      const file = path === undefined ? undefined : await this.#options.read(path).catch(() => undefined);
      const text = file ? new LineMap(file.text, "utf-16").line(range.start.line).trim() : "";
      lines.push(`${this.#at(uri, range.start)}${text === "" ? "" : `: ${oneLine(text, MAX_LINE_CHARS)}`}`);
    }
    return listed(lines, none, MAX_PLACES, places.length);
  }

  #at(uri: string, start: Position | undefined): string {
    const path = pathOfUri(uri);
    const name = path === undefined ? oneLine(uri, MAX_LINE_CHARS) : this.#options.shown(path);
    return start ? `${name}:${start.line + 1}` : name;
  }
}

function listed(lines: readonly string[], none: string, max: number, total = lines.length): string {
  if (lines.length === 0) return none;
  const shown = lines.slice(0, max);
  return [...shown, ...(total > shown.length ? [`and ${total - shown.length} more`] : [])].join("\n");
}

function recordsIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function isRange(value: unknown): value is Range {
  return isRecord(value) && isRecord(value.start) && isRecord(value.end) &&
    Number.isSafeInteger(value.start.line) && Number.isSafeInteger(value.end.line);
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
    const own = `${indent}${line}${kindOf(kind)} ${oneLine(String(name), MAX_LINE_CHARS)}`;
    return [own, ...symbolLines(recordsIn(children), `${indent}  `)];
  });
}

/** The whole ranges of the symbols of a file with a name, or with a dotted path of names. */
function symbolsNamed(symbols: readonly Record<string, unknown>[], names: readonly string[]): Range[] {
  const [first, ...more] = names;
  return symbols.flatMap(({ name, range, location, children }) => {
    // Go gives methods as `(*Type).Name`, other servers functions as `name(arguments)`.
    const own = String(name).replace(/^\(\*?(\w+)\)\./, "$1.").replace(/\(.*$/s, "");
    const whole = isRange(range) ? range : locationsIn(location)[0]?.range;
    const isIt = own === names.join(".") || (own === first && more.length === 0);
    const inside = recordsIn(children);
    return [
      ...(isIt && whole ? [whole] : []),
      ...symbolsNamed(inside, names),
      ...(own === first && more.length > 0 ? symbolsNamed(inside, more) : []),
    ];
  });
}

/** The range that all others contain, if there is one. */
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
    const own = recordsIn(edits).flatMap(({ range, newText }) =>
      isRange(range) && typeof newText === "string" ? [{ range, newText }] : []
    );
    found.set(uri, [...found.get(uri) ?? [], ...own]);
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
