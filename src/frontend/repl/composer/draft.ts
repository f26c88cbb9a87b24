import type { ImagePart } from "../../../core/mod.ts";
import { TextBuffer } from "./buffer.ts";
import type { Texts } from "../../../i18n/mod.ts";
import { isFile } from "../../../path/probe.ts";
import { fileUrlPath, imageType } from "../../../path/reference_text.ts";
import { characterEnds, characterWidth, fitDisplay, soloWidth } from "../../../util/display_width.ts";
import { CONTROLS, oneLine, REORDERING } from "../../../util/terminal_text.ts";

/** A part of a draft that is shown as a label and behaves as one character. */
type Part =
  | { readonly kind: "paste"; readonly content: string }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "image"; readonly image: ImagePart };

export type Piece = string | Part;

/** Label of a part; numbers distinguish parts of a draft. */
type PartLabel = (part: Part, number: number) => string;

/**
 * A lone low surrogate is the mark of a part within the text of the draft: text from a terminal or a file
 * never has one.
 */
const FIRST_MARK = 0xdc00;
const MARKS = 0x400;
const MARK = /[\udc00-\udfff]/;
const LONE = /\p{Surrogate}/gu;

/** The parts of a draft by their marks. */
export class Parts {
  readonly #label: PartLabel;
  readonly #entries = new Map<string, { readonly part: Part; readonly number: number }>();
  #next = 0;

  constructor(label: PartLabel) {
    this.#label = label;
  }

  /** Returns the mark of a new part; `text` is the draft that contains it. */
  add(part: Part, text: string): string {
    const mark = String.fromCharCode(FIRST_MARK + this.#next);
    this.#next = (this.#next + 1) % MARKS;
    const numbers = (text.match(LONE) ?? []).map((each) => this.#entries.get(each)?.number ?? 0);
    this.#entries.set(mark, { part, number: 1 + Math.max(0, ...numbers) });
    return mark;
  }

  /** The label of a mark; undefined for every other character. */
  labelOf(character: string): string | undefined {
    const entry = this.#entries.get(character);
    return entry && this.#label(entry.part, entry.number);
  }

  pieces(text: string): Piece[] {
    return split(text).map((piece) => this.#entries.get(piece)?.part ?? piece);
  }

  /** Joins pieces, with marks for parts; `before` is the draft that contains them. */
  marked(pieces: readonly Piece[], before = ""): string {
    let text = "";
    for (const piece of pieces) text += typeof piece === "string" ? piece : this.add(piece, before + text);
    return text;
  }

  /** The text for an editor: pastes in full, images as their labels. */
  editable(text: string): string {
    return split(text).map((piece) => {
      const part = this.#entries.get(piece)?.part;
      return part?.kind === "paste" ? part.content : this.labelOf(piece) ?? piece;
    }).join("");
  }

  /** Restores the marks of parts that are unchanged in the edited text. */
  restoreMarks(edited: string, former: string): string {
    let text = "";
    let rest = edited;
    for (const mark of former.match(LONE) ?? []) {
      const shown = this.editable(mark);
      const at = rest.indexOf(shown);
      if (at < 0 || shown === mark) continue;
      text += rest.slice(0, at) + mark;
      rest = rest.slice(at + shown.length);
    }
    return text + rest;
  }

  keepOnly(text: string): void {
    for (const mark of this.#entries.keys()) if (!text.includes(mark)) this.#entries.delete(mark);
  }
}

/** Splits a text at its marks; each mark is one element. */
function split(text: string): string[] {
  if (!MARK.test(text)) return text === "" ? [] : [text];
  return text.split(/(\p{Surrogate})/u).filter((piece) => piece !== "");
}

export function messageOf(pieces: readonly Piece[]): { text: string; images: ImagePart[] } {
  const images: ImagePart[] = [];
  let text = "";
  for (const piece of pieces) {
    if (typeof piece === "string") text += piece;
    else if (piece.kind === "paste") text += piece.content;
    else if (piece.kind === "image") text += `[image ${images.push(piece.image)}]`;
    else {
      // A reference begins behind a blank; in quotes it ends whatever follows.
      text += `${text === "" || /\s$/.test(text) ? "" : " "}@"${piece.path}"`;
    }
  }
  return { text, images };
}

export function labelOf(part: Part, number: number, texts: Texts["composer"] | undefined): string {
  if (!texts) return `[${part.kind} #${number}]`;
  if (part.kind === "image") return texts.image(texts.clipboard, number);
  if (part.kind === "file") {
    return texts.image(oneLine(part.path.split(/[\\/]/).at(-1) ?? part.path, 40), number);
  }
  const lines = lineCount(part.content);
  return lines > 1 ? texts.pasted(lines, number) : texts.pastedCharacters(part.content.length, number);
}

/** Number of lines; a final newline starts no other. */
function lineCount(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines++;
  return text.endsWith("\n") && lines > 1 ? lines - 1 : lines;
}

const MAX_PASTE_LINES = 10;
const MAX_PASTE_CHARACTERS = 1000;
const MAX_PATHS = 8192;

interface PasteEnvironment {
  readonly home?: string | undefined;
}

/**
 * Converts a pasted text: line ends become LF, since terminals send CR for all of them. Absolute paths of
 * existing images become these images, a long text becomes one part.
 */
export function readPaste(pasted: string, environment: PasteEnvironment): Piece[] {
  const text = pasted.replace(/\r\n?/g, "\n").toWellFormed();
  if (text === "") return [];
  const images = text.length <= MAX_PATHS ? imagePaths(text, environment) : undefined;
  if (images) return images.flatMap((path) => [{ kind: "file", path } as const, " "]);
  const isLong = text.length > MAX_PASTE_CHARACTERS || lineCount(text) > MAX_PASTE_LINES;
  return [isLong ? { kind: "paste", content: text } : text];
}

/** The paths, when the text is only absolute paths of images; else undefined. */
function imagePaths(text: string, environment: PasteEnvironment): string[] | undefined {
  if (!/\.\w{3,4}['"]?\s*$/.test(text)) return undefined;
  const whole = imagePath(text.trim(), environment);
  if (whole !== undefined) return [whole];
  const paths = pathWords(text).map((word) => imagePath(word, environment));
  return paths.length > 0 && paths.every((path) => path !== undefined) ? paths : undefined;
}

/** Words as terminals write the names of dropped files: quoted, or with backslashes. */
function pathWords(text: string): string[] {
  return text.match(/(?:'[^'\n]*'|"[^"\n]*"|\\.|[^\s'"\\])+/g) ?? [];
}

function imagePath(written: string, { home }: PasteEnvironment): string | undefined {
  for (const path of readings(written)) {
    const full = path.startsWith("~/") && home !== undefined ? `${home}${path.slice(1)}` : path;
    const isAbsolute = full.startsWith("/") || /^(?:[A-Za-z]:[\\/]|\\\\)/.test(full);
    const [found] = isAbsolute && imageType(full) !== undefined ? locations(full).filter(isFile) : [];
    if (found !== undefined && !/["\n]/.test(found)) return found;
  }
  return undefined;
}

/** Readings of a pasted path: literal, as a URL, without quotes, without backslashes. */
function readings(written: string): string[] {
  if (/^file:\/\//i.test(written)) {
    const path = fileUrlPath(written);
    return path === undefined ? [] : [path];
  }
  const quoted = /^(['"])([^\n]*)\1$/.exec(written)?.[2];
  const plain = written.replace(
    /'([^']*)'|"([^"]*)"|\\(.)/g,
    (_, single, double, escaped) => single ?? double ?? escaped,
  );
  return [written, ...(quoted === undefined ? [] : [quoted]), plain];
}

/** Possible locations of a path; WSL mounts Windows drives as directories. */
function locations(path: string): string[] {
  const [, drive, rest = ""] = /^([A-Za-z]):[\\/](.*)$/.exec(path) ?? [];
  if (drive === undefined || Deno.build.os === "windows") return [path];
  return [`/mnt/${drive.toLowerCase()}/${rest.replaceAll("\\", "/")}`];
}

interface Glyph {
  readonly shown: string;
  readonly width: number;
}

/** Returns the glyph of a character that is shown as something else, in at most `most` cells. */
type Special = (character: string, most: number) => Glyph | undefined;

interface Cell {
  readonly row: number;
  readonly column: number;
}

interface Row {
  readonly first: number;
  readonly start: number;
  readonly shown: string;
  /** Column of each character and of the end. */
  readonly columns: readonly number[];
}

interface LaidLine {
  readonly text: string;
  readonly ends: readonly number[];
  readonly rows: readonly Row[];
}

interface PositionedLine {
  readonly start: number;
  readonly row: number;
  readonly laid: LaidLine;
}

const INVISIBLE = new RegExp(`[${CONTROLS}${REORDERING}]`, "g");

/**
 * The character as shown: a symbol in place of a control character or a change of direction. Newlines and
 * tabs are handled elsewhere.
 */
function shownCharacter(character: string): string {
  if (character >= " " && character < "\x7f") return character;
  return character.replace(INVISIBLE, (control) => {
    const code = control.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "\u2421" : "\ufffd";
  });
}

const TAB = 4;

/**
 * Breaks a text into rows of at most `width` cells: after blanks, next to wide characters, and within a
 * word that is wider than a row. One blank may be in the cell behind a row, which is kept free for the
 * caret. Lines that did not change since the last call are not broken again.
 */
export class Layout {
  readonly #special: Special;
  #width = 0;
  #cache = new Map<string, LaidLine>();
  #lines: PositionedLine[] = [];
  #rows = 0;

  constructor(special: Special) {
    this.#special = special;
  }

  get rows(): number {
    return this.#rows;
  }

  update(text: string, width: number): void {
    const isSame = width === this.#width;
    const old = isSame ? this.#cache : new Map<string, LaidLine>();
    const before = isSame ? this.#lines : [];
    this.#width = width;
    this.#cache = new Map();
    this.#lines = [];
    this.#rows = 0;
    let start = 0;
    for (const [index, line] of text.split("\n").entries()) {
      const laid = this.#cache.get(line) ?? old.get(line) ?? this.#lay(line, before[index]?.laid);
      this.#cache.set(line, laid);
      this.#lines.push({ start, row: this.#rows, laid });
      this.#rows += laid.rows.length;
      start += line.length + 1;
    }
  }

  /** Clears the cache; the glyphs of characters have changed. */
  clear(): void {
    this.#cache.clear();
    this.#lines = [];
  }

  shown(first: number, count: number): string[] {
    return this.#lines
      .filter(({ row, laid }) => row < first + count && row + laid.rows.length > first)
      .flatMap(({ row, laid }) => laid.rows.slice(Math.max(0, first - row), first + count - row))
      .map(({ shown }) => shown);
  }

  cellOf(offset: number): Cell {
    const { start, row, laid: { rows, ends } } = this.#line((each) => each.start <= offset);
    const index = Math.max(0, rows.findLastIndex((each) => start + each.start <= offset));
    const { first = 0, columns = [] } = rows[index] ?? {};
    const character = offset === start ? 0 : indexOf(ends, offset - start) + 1;
    return { row: row + index, column: columns[character - first] ?? 0 };
  }

  /** The offset of the character in a cell; of the last one where the row is shorter. */
  offsetAt({ row, column }: Cell): number {
    const line = this.#line((each) => each.row <= row);
    const { rows, ends } = line.laid;
    const { first = 0, columns = [] } = rows[row - line.row] ?? {};
    // The end of a row that is not the last one is the start of the next.
    const end = columns.length - (row - line.row === rows.length - 1 ? 0 : 1);
    let at = 0;
    while (at + 1 < end && (columns[at + 1] ?? 0) <= column) at++;
    return line.start + (ends[first + at - 1] ?? 0);
  }

  #line(isBefore: (line: PositionedLine) => boolean): PositionedLine {
    return this.#lines.findLast(isBefore) ?? { start: 0, row: 0, laid: { text: "", ends: [], rows: [] } };
  }

  /** Breaks a line; unchanged rows of the line before are reused. */
  #lay(text: string, before: LaidLine | undefined): LaidLine {
    const ends = characterEnds(text);
    const rows = before ? sameRows(before, text) : [];
    let first = rows.pop()?.first ?? 0;
    while (true) {
      const { row, next, isLast } = this.#row(text, ends, first);
      rows.push(row);
      first = next;
      if (isLast) return { text, ends, rows };
    }
  }

  /** The row from a character on, and the first character of the next row. */
  #row(text: string, ends: readonly number[], first: number): { row: Row; next: number; isLast: boolean } {
    const start = ends[first - 1] ?? 0;
    const columns: number[] = [];
    let column = 0;
    let shown = "";
    /** The text from here on is shown as it is. */
    let from = start;
    let broken: { readonly index: number; readonly shown: string; readonly from: number } | undefined;
    let at = start;
    for (let index = first; index < ends.length; index++) {
      const end = ends[index] ?? 0;
      const code = text.charCodeAt(at);
      const solo = end - at === 1 ? soloWidth(code) : 0;
      const glyph = solo > 0 ? undefined : this.#glyph(text.slice(at, end), column);
      const width = glyph?.width ?? solo;
      const isBlank = code === 0x20 || code === 0x09;
      if (isBlank ? column > this.#width : column > 0 && column + width > this.#width) {
        const here = { index, shown, from };
        const { index: next, ...rest } = width > 1 || isBlank ? here : broken ?? here;
        columns.length = next - first;
        columns.push(this.#width);
        const row = { first, start, columns, shown: rest.shown + text.slice(rest.from, ends[next - 1]) };
        return { row, next, isLast: false };
      }
      columns.push(column);
      if (glyph) {
        shown += text.slice(from, at) + glyph.shown;
        from = end;
      }
      column += width;
      if (isBlank || width > 1) broken = { index: index + 1, shown, from };
      at = end;
    }
    // The caret behind the last character needs a cell too.
    const isLast = column <= this.#width;
    columns.push(column);
    return { row: { first, start, columns, shown: shown + text.slice(from) }, next: ends.length, isLast };
  }

  #glyph(character: string, column: number): Glyph {
    if (character === "\t") {
      const width = Math.min(TAB - column % TAB, Math.max(1, this.#width - column));
      return { shown: " ".repeat(width), width };
    }
    const special = this.#special(character, this.#width);
    if (special) return special;
    const shown = shownCharacter(character);
    return { shown, width: characterWidth(shown) };
  }
}

/**
 * The unchanged rows of a line, and the first changed one. The end of a row depends on the next one at most,
 * so a row stays when both are unchanged.
 */
function sameRows(before: LaidLine, text: string): Row[] {
  const most = Math.min(before.text.length, text.length);
  let same = 0;
  while (same < most && before.text.charCodeAt(same) === text.charCodeAt(same)) same++;
  const changed = before.rows.findIndex(({ start }) => start > same);
  const kept = (changed < 0 ? before.rows.length : changed) - 1;
  return before.rows.slice(0, Math.max(0, kept));
}

/** Index of the first element that is not less than `wanted`. */
function indexOf(sorted: readonly number[], wanted: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The visible rows of a draft, and the caret within them. */
export interface DraftWindow {
  readonly rows: readonly string[];
  readonly caret: { readonly row: number; readonly column: number };
  /** Number of hidden rows above and below. */
  readonly above: number;
  readonly below: number;
}

/** A draft: a text with parts, laid out for a width. */
export class DraftText {
  readonly buffer = new TextBuffer();
  readonly #parts: Parts;
  readonly #layout: Layout;
  #width = 80;
  #first = 0;
  /** The column to which the caret returns in longer rows while it moves up and down. */
  #wanted: { readonly column: number; readonly at: number } | undefined;

  constructor({ label, mark }: { readonly label: PartLabel; readonly mark: (text: string) => string }) {
    this.#parts = new Parts(label);
    this.#layout = new Layout((character, most) => {
      const text = this.#parts.labelOf(character);
      if (text === undefined) return undefined;
      const shown = fitDisplay(text, most);
      return { shown: mark(shown), width: [...shown].reduce((sum, each) => sum + characterWidth(each), 0) };
    });
  }

  get empty(): boolean {
    return this.buffer.text === "";
  }

  get pieces(): readonly Piece[] {
    return this.#parts.pieces(this.buffer.text);
  }

  get editable(): string {
    return this.#parts.editable(this.buffer.text);
  }

  /** Replaces the draft; undo restores the old one. */
  replaceAll(pieces: readonly Piece[]): void {
    this.#put(this.#parts.marked(pieces));
  }

  edited(text: string): void {
    this.#put(this.#parts.restoreMarks(text, this.buffer.text));
  }

  insert(pieces: readonly Piece[]): void {
    const { caret, text } = this.buffer;
    this.buffer.replace(caret, caret, this.#parts.marked(pieces, text));
  }

  /** Starts a new draft without undo history. */
  reset(): void {
    this.buffer.reset();
    this.#parts.keepOnly(this.buffer.killed);
    this.#layout.clear();
  }

  /** Moves the caret to the row above or below; false when there is none. */
  moveRow(by: 1 | -1): boolean {
    this.#layout.update(this.buffer.text, this.#width);
    const { row, column } = this.#layout.cellOf(this.buffer.caret);
    const wanted = this.#wanted?.at === this.buffer.caret ? this.#wanted.column : column;
    if (row + by < 0 || row + by >= this.#layout.rows) return false;
    this.buffer.caret = this.#layout.offsetAt({ row: row + by, column: wanted });
    this.#wanted = { column: wanted, at: this.buffer.caret };
    return true;
  }

  window(width: number, most: number): DraftWindow {
    this.#width = width;
    this.#layout.update(this.buffer.text, width);
    const { row, column } = this.#layout.cellOf(this.buffer.caret);
    const count = Math.min(most, this.#layout.rows);
    this.#first = Math.min(Math.max(this.#first, row - count + 1), row, this.#layout.rows - count);
    return {
      rows: this.#layout.shown(this.#first, count),
      caret: { row: row - this.#first, column },
      above: this.#first,
      below: this.#layout.rows - count - this.#first,
    };
  }

  #put(text: string): void {
    this.buffer.replace(0, this.buffer.text.length, text);
  }
}
