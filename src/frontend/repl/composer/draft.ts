import type { ImagePart } from "../../../core/mod.ts";
import { TextBuffer } from "./buffer.ts";
import type { Texts } from "../../../i18n/mod.ts";
import { isFile } from "../../../path/probe.ts";
import { imageType } from "../../../path/reference_text.ts";
import { characterEnds, characterWidth, fitDisplay, soloWidth } from "../../../util/display_width.ts";
import { CONTROLS, oneLine, REORDERING } from "../../../util/terminal_text.ts";

/** A part of a draft that is shown as a mark and behaves as one character. */
type Part =
  /** A long text that was pasted. */
  | { readonly kind: "paste"; readonly content: string }
  /** An image that is read when the draft is sent. */
  | { readonly kind: "file"; readonly path: string }
  /** An image of the clipboard. */
  | { readonly kind: "image"; readonly image: ImagePart };

/** The content of a draft: texts, and parts between them. */
export type Piece = string | Part;

/** Says how a part is shown; parts of a draft are told apart by their number. */
type PartLabel = (part: Part, number: number) => string;

/**
 * A lone second half of a surrogate pair stands for a part within the text of the draft: text from a terminal
 * or a file never has one.
 */
const FIRST_MARK = 0xdc00;
const MARKS = 0x400;
const MARK = /[\udc00-\udfff]/;
const LONE = /\p{Surrogate}/gu;

/** The parts that marks in a text stand for. */
export class Parts {
  readonly #label: PartLabel;
  readonly #entries = new Map<string, { readonly part: Part; readonly number: number }>();
  #next = 0;

  constructor(label: PartLabel) {
    this.#label = label;
  }

  /** Returns the mark of a new part; `text` is the draft that it comes into. */
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

  /** The pieces of a text with marks. */
  pieces(text: string): Piece[] {
    return split(text).map((piece) => this.#entries.get(piece)?.part ?? piece);
  }

  /** The text with marks for pieces; `before` is the draft that they come into. */
  marked(pieces: readonly Piece[], before = ""): string {
    let text = "";
    for (const piece of pieces) text += typeof piece === "string" ? piece : this.add(piece, before + text);
    return text;
  }

  /** The text as it is shown in one line of a list, or to an editor: labels in place of marks. */
  labelled(text: string): string {
    return split(text).map((piece) => this.labelOf(piece) ?? piece).join("");
  }

  /** The text for an editor: pastes in full, images as their labels. */
  editable(text: string): string {
    return split(text).map((piece) => {
      const part = this.#entries.get(piece)?.part;
      return part?.kind === "paste" ? part.content : this.labelOf(piece) ?? piece;
    }).join("");
  }

  /** The edited text with marks, for all parts of the former text that are still in it as they were. */
  remarked(edited: string, former: string): string {
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

  /** Forgets all parts but those that a text has. */
  keepOnly(text: string): void {
    for (const mark of this.#entries.keys()) if (!text.includes(mark)) this.#entries.delete(mark);
  }
}

/** Cuts a text at its marks; a mark is an element of its own. */
function split(text: string): string[] {
  if (!MARK.test(text)) return text === "" ? [] : [text];
  return text.split(/(\p{Surrogate})/u).filter((piece) => piece !== "");
}

/** The message that is sent for pieces. */
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

/** How a part is shown. */
export function labelOf(part: Part, number: number, texts: Texts["composer"] | undefined): string {
  if (!texts) return `[${part.kind} #${number}]`;
  if (part.kind === "image") return texts.image(texts.clipboard, number);
  if (part.kind === "file") {
    return texts.image(oneLine(part.path.split(/[\\/]/).at(-1) ?? part.path, 40), number);
  }
  const lines = lineCount(part.content);
  return lines > 1 ? texts.pasted(lines, number) : texts.pastedCharacters(part.content.length, number);
}

/** Number of lines; the end of the last one begins no other. */
function lineCount(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines++;
  return text.endsWith("\n") && lines > 1 ? lines - 1 : lines;
}

/** A paste that is longer is shown as a mark. */
const MAX_PASTE_LINES = 10;
const MAX_PASTE_CHARACTERS = 1000;
/** What drops of files bring is shorter. */
const MAX_PATHS = 8192;

interface PasteEnvironment {
  /** The user's home directory, where it is known. */
  readonly home?: string | undefined;
}

/**
 * What a pasted text becomes. Its line ends are unified to LF, since terminals send CR for all of them;
 * everything else stays as it is. Absolute paths of images that exist are these images, a long text is one
 * part.
 */
export function readPaste(pasted: string, surroundings: PasteEnvironment): Piece[] {
  const text = pasted.replace(/\r\n?/g, "\n").toWellFormed();
  if (text === "") return [];
  const images = text.length <= MAX_PATHS ? imagePaths(text, surroundings) : undefined;
  if (images) return images.flatMap((path) => [{ kind: "file", path } as const, " "]);
  const isLong = text.length > MAX_PASTE_CHARACTERS || lineCount(text) > MAX_PASTE_LINES;
  return [isLong ? { kind: "paste", content: text } : text];
}

/** The paths, when the text is nothing else than absolute paths of images; else undefined. */
function imagePaths(text: string, surroundings: PasteEnvironment): string[] | undefined {
  if (!/\.\w{3,4}['"]?\s*$/.test(text)) return undefined;
  const whole = imagePath(text.trim(), surroundings);
  if (whole !== undefined) return [whole];
  const paths = pathWords(text).map((word) => imagePath(word, surroundings));
  return paths.length > 0 && paths.every((path) => path !== undefined) ? paths : undefined;
}

/** Words as terminals write the names of files that are dropped on them: quoted, or with backslashes. */
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

/** What a written path can mean: as it stands, as a URL, without its quotes, without its backslashes. */
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

function fileUrlPath(written: string): string | undefined {
  try {
    const { host, pathname } = new URL(written);
    if (host !== "" && host !== "localhost") return undefined;
    return decodeURIComponent(pathname).replace(/^\/([A-Za-z]:)/, "$1");
  } catch {
    return undefined;
  }
}

/** Where a path can lie; a drive of Windows is a directory for programs in its Linux. */
function locations(path: string): string[] {
  const [, drive, rest = ""] = /^([A-Za-z]):[\\/](.*)$/.exec(path) ?? [];
  if (drive === undefined || Deno.build.os === "windows") return [path];
  return [`/mnt/${drive.toLowerCase()}/${rest.replaceAll("\\", "/")}`];
}

/** Something on the screen, and the cells that it takes. */
interface Glyph {
  readonly shown: string;
  readonly width: number;
}

/** Tells what stands for a character that is shown as something else, in at most so many cells. */
type Special = (character: string, most: number) => Glyph | undefined;

/** A caret on the screen: the row of the whole text, and the column within it. */
interface Cell {
  readonly row: number;
  readonly column: number;
}

/** One row of the screen: a part of a line. */
interface Row {
  /** Index of its first character, and where that begins. */
  readonly first: number;
  readonly start: number;
  readonly shown: string;
  /** Column of each character, and of the end. */
  readonly columns: readonly number[];
}

/** A line of the text, broken into rows. */
interface LaidLine {
  readonly text: string;
  /** Where each character ends. */
  readonly ends: readonly number[];
  readonly rows: readonly Row[];
}

interface PlacedLine {
  readonly start: number;
  readonly row: number;
  readonly laid: LaidLine;
}

const INVISIBLE = new RegExp(`[${CONTROLS}${REORDERING}]`, "g");

/**
 * The character as it may be shown: a sign in place of each control character and of what would show text in
 * another order. Line ends and tabs are not for this.
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
 * Breaks a text into rows of at most `width` cells: behind blanks, beside wide characters, and within a word
 * that is wider than a row. One blank may stand in the cell behind a row, which is kept free for the caret.
 * Lines that did not change since the last call are not broken again.
 */
export class Layout {
  readonly #special: Special;
  #width = 0;
  #cache = new Map<string, LaidLine>();
  #lines: PlacedLine[] = [];
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

  /** Forgets how lines were broken: some characters are shown as something else now. */
  clear(): void {
    this.#cache.clear();
    this.#lines = [];
  }

  /** The text of some rows. */
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

  /** The offset of the character in a cell; in a row that has no such cell, of its last one. */
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

  #line(isBefore: (line: PlacedLine) => boolean): PlacedLine {
    return this.#lines.findLast(isBefore) ?? { start: 0, row: 0, laid: { text: "", ends: [], rows: [] } };
  }

  /** Breaks a line; rows that it has in common with what stood there before stay. */
  #lay(text: string, before: LaidLine | undefined): LaidLine {
    const ends = characterEnds(text);
    const rows = before ? sameRows(before, text) : [];
    const breaker = new RowBreaker(text, ends, this.#width, this.#special);
    let first = breaker.next;
    if (rows.length > 0) first = rows.pop()?.first ?? 0;
    do {
      rows.push(breaker.row(first));
      first = breaker.next;
    } while (!breaker.done);
    return { text, ends, rows };
  }
}

/**
 * The rows before the one that has to be broken anew, and that one. Where a row ends depends on the next one
 * at most, so a row stays when both are as they were.
 */
function sameRows(before: LaidLine, text: string): Row[] {
  const most = Math.min(before.text.length, text.length);
  let same = 0;
  while (same < most && before.text.charCodeAt(same) === text.charCodeAt(same)) same++;
  const changed = before.rows.findIndex(({ start }) => start > same);
  const kept = (changed < 0 ? before.rows.length : changed) - 1;
  return before.rows.slice(0, Math.max(0, kept));
}

/** Index of an offset in a sorted list; of the first one behind it where it is not there. */
function indexOf(sorted: readonly number[], wanted: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Breaks a line row by row. */
class RowBreaker {
  readonly #text: string;
  readonly #ends: readonly number[];
  readonly #width: number;
  readonly #special: Special;
  /** Index of the first character of the next row. */
  next = 0;
  /** There is no next row. */
  done = false;

  constructor(text: string, ends: readonly number[], width: number, special: Special) {
    this.#text = text;
    this.#ends = ends;
    this.#width = width;
    this.#special = special;
  }

  /** The row that begins with a character. */
  row(first: number): Row {
    const text = this.#text;
    const start = this.#ends[first - 1] ?? 0;
    const columns: number[] = [];
    let column = 0;
    let shown = "";
    /** From here on the text itself is shown. */
    let from = start;
    let broken: { readonly index: number; readonly shown: string; readonly from: number } | undefined;
    let at = start;
    for (let index = first; index < this.#ends.length; index++) {
      const end = this.#ends[index] ?? 0;
      const code = text.charCodeAt(at);
      const solo = end - at === 1 ? soloWidth(code) : 0;
      const glyph = solo > 0 ? undefined : this.#glyph(text.slice(at, end), column);
      const width = glyph?.width ?? solo;
      const isBlank = code === 0x20 || code === 0x09;
      if (isBlank ? column > this.#width : column > 0 && column + width > this.#width) {
        const here = { index, shown, from };
        const { index: next, ...rest } = width > 1 || isBlank ? here : broken ?? here;
        this.next = next;
        columns.length = next - first;
        columns.push(this.#width);
        return { first, start, columns, shown: rest.shown + text.slice(rest.from, this.#ends[next - 1]) };
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
    this.done = column <= this.#width;
    this.next = this.#ends.length;
    columns.push(column);
    return { first, start, columns, shown: shown + text.slice(from) };
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

interface DraftTextOptions {
  readonly label: PartLabel;
  /** Colours the mark of a part. */
  readonly mark: (text: string) => string;
}

/** The rows of a draft that are shown, and where its caret is among them. */
export interface DraftWindow {
  readonly rows: readonly string[];
  readonly caret: { readonly row: number; readonly column: number };
  /** Rows that are not shown, above and below. */
  readonly above: number;
  readonly below: number;
}

/** What is being written: a text with parts in it, laid out for a width. */
export class DraftText {
  readonly buffer = new TextBuffer();
  readonly #parts: Parts;
  readonly #layout: Layout;
  #width = 80;
  #first = 0;
  /** The column to which the caret returns in longer rows; known while it moves up and down. */
  #wanted: { readonly column: number; readonly at: number } | undefined;

  constructor({ label, mark }: DraftTextOptions) {
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

  /** The text for an editor. */
  get editable(): string {
    return this.#parts.editable(this.buffer.text);
  }

  /** Puts something else in place of all; undo brings the old draft back. */
  replaceAll(pieces: readonly Piece[]): void {
    this.#put(this.#parts.marked(pieces));
  }

  /** Takes what an editor has made of `editable`. */
  edited(text: string): void {
    this.#put(this.#parts.remarked(text, this.buffer.text));
  }

  insert(pieces: readonly Piece[]): void {
    const { caret, text } = this.buffer;
    this.buffer.replace(caret, caret, this.#parts.marked(pieces, text));
  }

  /** Begins a new draft: nothing of the old one can be undone. */
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

  /** The rows around the caret. */
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
