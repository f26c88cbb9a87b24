import type { Position, PositionEncodingKind, Range, TextEdit } from "vscode-languageserver-protocol";
import { ReasonixError } from "../core/mod.ts";
import { byteLength } from "../util/bytes.ts";
import { isRecord } from "../util/json.ts";
import { attempt } from "../util/lazy.ts";

/** The lines of a text, with conversions between positions of a server and indexes. */
export class LineMap {
  readonly text: string;
  readonly #encoding: PositionEncodingKind;
  readonly #starts: readonly number[];

  constructor(text: string, encoding: PositionEncodingKind) {
    this.text = text;
    this.#encoding = encoding;
    const starts = [0];
    for (const { index, 0: end } of text.matchAll(/\r\n|\n|\r/g)) starts.push(index + end.length);
    this.#starts = starts;
  }

  /** A line without its end, counted from 0; empty where there is none. */
  line(number: number): string {
    const start = this.#starts[number];
    if (start === undefined) return "";
    return this.text.slice(start, this.#starts[number + 1]).replace(/(?:\r\n|\n|\r)$/, "");
  }

  get count(): number {
    return this.#starts.length;
  }

  /** The index of a position in the text, in UTF-16 units; a position beyond an end is that end. */
  indexOf({ line, character }: Position): number {
    const start = this.#starts[line];
    return start === undefined ? this.text.length : start + this.#unitsOf(this.line(line), character);
  }

  /** Returns the position of a column of a line, both in UTF-16 units from 0. */
  positionOf(line: number, column: number): Position {
    const before = this.line(line).slice(0, column);
    return { line, character: this.#lengthOf(before) };
  }

  /** The column, in characters from 1 as people and compilers count them. */
  columnOf({ line, character }: Position): number {
    const text = this.line(line);
    return [...text.slice(0, this.#unitsOf(text, character))].length + 1;
  }

  textIn({ start, end }: Range): string {
    return this.text.slice(this.indexOf(start), this.indexOf(end));
  }

  /** Applies edits that do not overlap. Throws a ReasonixError where they do. */
  edited(edits: readonly TextEdit[]): string {
    const ranges = edits.map(({ range, newText }) => ({
      from: this.indexOf(range.start),
      to: this.indexOf(range.end),
      newText,
    })).sort((a, b) => a.from - b.from || a.to - b.to);
    let [text, at] = ["", 0];
    for (const { from, to, newText } of ranges) {
      if (from < at || to < from) throw new ReasonixError("The language server sent edits that overlap");
      text += this.text.slice(at, from) + newText;
      at = to;
    }
    return text + this.text.slice(at);
  }

  #lengthOf(text: string): number {
    if (this.#encoding === "utf-8") return byteLength(text);
    return this.#encoding === "utf-32" ? [...text].length : text.length;
  }

  /** Returns the UTF-16 units of a line before a character in the server's encoding. */
  #unitsOf(line: string, character: number): number {
    if (this.#encoding === "utf-16") return Math.min(Math.max(character, 0), line.length);
    let [units, at] = [0, 0];
    for (const char of line) {
      if (at >= character) break;
      at += this.#lengthOf(char);
      units += char.length;
    }
    return units;
  }
}

const WORD = /[\p{L}\p{N}_$]/u;

/**
 * Finds a name on a line, counted from 1, or within three lines of it: models miscount. Throws a
 * ReasonixError that quotes the line.
 */
export function findSymbol(lines: LineMap, line: number, symbol: string): Position {
  const nearest = [0, -1, 1, -2, 2, -3, 3].map((distance) => line + distance);
  for (const number of nearest.filter((one) => one >= 1 && one <= lines.count)) {
    const column = columnOfWord(lines.line(number - 1), symbol);
    if (column !== undefined) return lines.positionOf(number - 1, column);
  }
  if (line > lines.count) {
    throw new ReasonixError(`There is no line ${line}: the file has ${lines.count}`, {
      remedy: "read_file it for the right line",
    });
  }
  const shown = lines.line(line - 1).trim().slice(0, 200);
  throw new ReasonixError(
    `${JSON.stringify(symbol)} is not on line ${line}, which is ${JSON.stringify(shown)}`,
    {
      remedy: "give the line that has the name, and the name exactly as it is there",
    },
  );
}

/** Returns the column of the last part of a dotted name. A whole word comes before a part of one. */
function columnOfWord(line: string, symbol: string): number | undefined {
  const last = Math.max(symbol.lastIndexOf("."), symbol.lastIndexOf(":")) + 1;
  for (let at = line.indexOf(symbol); at >= 0; at = line.indexOf(symbol, at + 1)) {
    const [before, behind] = [line[at - 1] ?? " ", line[at + symbol.length] ?? " "];
    if (!WORD.test(before) && !WORD.test(behind)) return at + last;
  }
  const part = line.indexOf(symbol);
  return part < 0 ? undefined : part + last;
}

/** The address of a file as language servers take it. */
export function fileUri(path: string): string {
  const slashed = path.replaceAll("\\", "/");
  const encoded = slashed.split("/").map(encodeURIComponent).join("/");
  return `file://${encoded.startsWith("/") ? "" : "/"}${encoded}`;
}

/** Returns the file of a `file:` address, in any encoding of servers; undefined for any other address. */
export function pathOfUri(uri: string): string | undefined {
  const encoded = /^file:\/\/(?:localhost)?(\/.*)$/.exec(uri)?.[1];
  const path = encoded === undefined ? undefined : attempt(() => decodeURIComponent(encoded));
  return path !== undefined && /^\/[A-Za-z]:/.test(path) ? path.slice(1) : path;
}

export function recordsIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

export function isRange(value: unknown): value is Range {
  return isRecord(value) && isPosition(value.start) && isPosition(value.end);
}

function isPosition(value: unknown): value is Position {
  return isRecord(value) &&
    [value.line, value.character].every((one) =>
      typeof one === "number" && Number.isSafeInteger(one) && one >= 0
    );
}
