import { characterWidth, clusters, displayWidth, isSolo } from "../../../util/display_width.ts";
import { CONTROLS, REORDERING } from "../../../util/terminal_text.ts";
import { wrapText } from "../../../view/mod.ts";

/** The sequences that a line may hold: colors (SGR), and links (OSC 8) that open nothing on this machine. */
const ALLOWED =
  // deno-lint-ignore no-control-regex
  /\x1b\[[0-9;:]*m|\x1b\]8;[\x20-\x3a\x3c-\x7e]*;(?:(?:https?|mailto):[^\x00-\x20\x7f-\x9f]*)?(?:\x07|\x1b\\)/y;
/** Other sequences, whole where they end; of a broken one only the beginning. */
const FORBIDDEN =
  // deno-lint-ignore no-control-regex
  /\x1b\[[\x20-\x3f]*[\x40-\x7e]|\x1b[\]PX^_][^\x1b\x07]*(?:\x07|\x1b\\)?|\x1b[\x20-\x2f]*[\x30-\x7e]?/y;
/**
 * Controls, and invisible characters that reorder or break lines or hide in them. Joiners and selectors are
 * not among them: emoji and some scripts need them.
 */
const HIDDEN = new RegExp(
  `[${CONTROLS}${REORDERING}\\xad\\u061c\\u200b\\u200e\\u200f\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]`,
);
/** Colors and links, as `ALLOWED` but with any address. */
// deno-lint-ignore no-control-regex
const STYLES = /(\x1b\[[0-9;:]*m|\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\))/g;
// deno-lint-ignore no-control-regex
const LINK_CLOSED = /^\x1b\]8;[^;]*;(?:\x07|\x1b\\)$/;
const LINE_END = /[\n\u2028\u2029]/;
export const RESET = "\x1b[0m";
export const LINK_END = "\x1b]8;;\x1b\\";
const TAB = "    ";
/** Code units of a line that are looked at for each cell; no text needs as many. */
const MAX_PER_CELL = 128;
const ASCII = /^[\x20-\x7e]*$/;
const PLAIN = /[\x20-\x7e]+/y;

/** The sequences of a line, which begin with ESC, and the texts between them. */
export function styledParts(line: string): string[] {
  return line.split(STYLES).filter((part) => part !== "");
}

export function withoutStyles(line: string): string {
  return line.replace(STYLES, "");
}

/** The sequences (no cells) and characters of a line one by one. */
function* cellsOf(line: string): Generator<{ readonly text: string; readonly width: number }> {
  for (const part of styledParts(line)) {
    if (part.startsWith("\x1b")) yield { text: part, width: 0 };
    else for (const text of clusters(part)) yield { text, width: characterWidth(text) };
  }
}

/** Codes that turn attributes off, by those that turn them on (ECMA-48 8.3.117, ISO 8613-6 colors). */
const OFF: Readonly<Record<number, number>> = {
  1: 22,
  2: 22,
  3: 23,
  4: 24,
  5: 25,
  6: 25,
  7: 27,
  8: 28,
  9: 29,
  21: 24,
  53: 55,
  58: 59,
};
const OFF_CODES = new Set([39, 49, ...Object.values(OFF)]);

function offCode(code: number): number | undefined {
  if ((code >= 30 && code <= 38) || (code >= 90 && code <= 97)) return 39;
  if ((code >= 40 && code <= 48) || (code >= 100 && code <= 107)) return 49;
  return OFF[code];
}

/** The colors, attributes and link that are on after some sequences. */
class Style {
  /** Attributes by the codes that turn them off. */
  readonly #on = new Set<number>();
  #colors = "";
  #link = "";

  /** Takes a whole color or link. */
  apply(sequence: string): void {
    if (sequence.startsWith("\x1b]")) {
      this.#link = LINK_CLOSED.test(sequence) ? "" : sequence;
      return;
    }
    const codes = sequence.slice(2, -1).split(";");
    for (let at = 0; at < codes.length; at++) {
      const [first = "", second] = (codes[at] ?? "").split(":");
      const code = Number(first);
      const off = offCode(code);
      if (code === 0) this.#on.clear();
      else if (code === 4 && second === "0") this.#on.delete(24);
      else if (OFF_CODES.has(code)) this.#on.delete(code);
      else if (off !== undefined) this.#on.add(off);
      // A color has parameters: 5 and a number, or 2 and three of them.
      if (second === undefined && (code === 38 || code === 48 || code === 58)) {
        at += codes[at + 1] === "2" ? 4 : 2;
      }
    }
    this.#colors = this.#on.size === 0 ? "" : this.#colors + sequence;
  }

  /** Turns the same on again. */
  get begin(): string {
    return this.#link + this.#colors;
  }

  /** Turns off what is on. */
  get end(): string {
    return (this.#link === "" ? "" : LINK_END) + (this.#colors === "" ? "" : RESET);
  }
}

/**
 * Returns the line as it may be written: text, colors and links, everything else removed; at most `columns`
 * cells, cut with an ellipsis when it has more; colors and links are ended.
 */
export function safeLine(whole: string, columns: number): string {
  if (whole.length <= columns && ASCII.test(whole)) return whole;
  const line = whole.slice(0, (columns + 1) * MAX_PER_CELL);
  const { text, end } = HIDDEN.test(line) ? withoutHidden(line) : { text: line, end: "" };
  return displayWidth(text) > columns ? cut(text, columns) : text + end;
}

/** Removes hidden characters; `end` turns off what is on at the end. */
function withoutHidden(line: string): { readonly text: string; readonly end: string } {
  let text = "";
  const style = new Style();
  for (let at = 0; at < line.length;) {
    const allowed = line[at] === "\x1b" ? matchAt(ALLOWED, line, at) : undefined;
    if (allowed !== undefined) {
      style.apply(allowed);
      text += allowed;
      at += allowed.length;
    } else if (line[at] === "\x1b") at += matchAt(FORBIDDEN, line, at)?.length ?? 1;
    else {
      const plain = matchAt(PLAIN, line, at) ?? "";
      text += plain;
      at += plain.length;
      if (plain !== "") continue;
      const character = line[at] ?? "";
      if (character === "\t") text += TAB;
      else if (LINE_END.test(character)) text += " ";
      else if (!HIDDEN.test(character)) text += character;
      at++;
    }
  }
  return { text, end: style.end };
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

function cut(line: string, columns: number): string {
  let kept = "";
  let used = 0;
  for (const { text, width } of cellsOf(line)) {
    if (width === 0 && text.startsWith("\x1b")) kept += text;
    else if (used >= 0 && used + width > columns - 1) {
      kept += columns > 0 ? "…" : "";
      used = -1;
    } else if (used >= 0) {
      kept += text;
      used += width;
    }
  }
  return ended(kept);
}

/** The line without an open color or link. */
function ended(line: string): string {
  return line.includes("\x1b") ? `${line}${line.includes("\x1b]8;") ? LINK_END : ""}${RESET}` : line;
}

/** Rows that a line takes after the terminal was made `columns` wide and has wrapped it again. */
export function rowCount(line: string, columns: number): number {
  const text = withoutStyles(line);
  if (ASCII.test(text)) return Math.max(1, Math.ceil(text.length / columns));
  let rows = 1;
  let used = 0;
  for (const { width } of cellsOf(text)) {
    if (used + width > columns) {
      rows++;
      used = 0;
    }
    used += width;
  }
  return rows;
}

/** The line in rows of at most `columns` cells; colors and links continue in each, and end with it. */
export function rowsOfLine(line: string, columns: number): string[] {
  if (displayWidth(line) <= columns) return [line];
  const rows: string[] = [];
  const style = new Style();
  let row = "";
  let used = 0;
  for (const { text, width } of cellsOf(line)) {
    if (text.startsWith("\x1b")) style.apply(text);
    else if (used + width > columns && used > 0) {
      rows.push(row + style.end);
      row = style.begin;
      used = 0;
    }
    row += text;
    used += width;
  }
  return [...rows, row];
}

/** Text broken between words, and within those wider than a row; further rows begin with `indent`. */
export function wrappedRows(text: string, columns: number, indent = ""): string[] {
  return wrapText(text, columns, displayWidth, indent).flatMap((line) => rowsOfLine(line, columns));
}

/** A bullet, or a name in its own column. */
const HEAD = /^ *(?:[-•·!✗✓] +|\S+(?: \S+)* {2,})/;

/**
 * The rows of a line without colors, broken between words: further rows are indented to the text of the first
 * one, behind its bullet or its column of names.
 */
export function hangingRows(line: string, columns: number): string[] {
  const blanks = /^ */.exec(line)?.[0] ?? "";
  // In a narrow window a column of names would leave no space for the text.
  const found = [HEAD.exec(line)?.[0] ?? blanks, blanks];
  const head = found.find((each) => displayWidth(each) <= columns / 2) ?? "";
  const indent = displayWidth(head);
  return wrappedRows(line.slice(head.length), Math.max(1, columns - indent))
    .map((row, index) => (index === 0 ? head : " ".repeat(indent)) + row);
}

/**
 * Text that, written from the first column on, takes the cursor to `column` on terminals that give some
 * characters other widths than we do; undefined where they cannot differ.
 */
export function pathTo(line: string, column: number): string | undefined {
  if (isSolo(withoutStyles(line))) return undefined;
  const path = beginning(line, column);
  // Blanks after the line and the inside of a wide character are no end of a path.
  return displayWidth(path) !== column || isSolo(withoutStyles(path)) ? undefined : ended(path);
}

/** Row, counted from the first of a line, in which a cell is after the line was wrapped again. */
export function rowOf(line: string, column: number, columns: number): number {
  const path = withoutStyles(beginning(line, column));
  return rowCount(`${path}${" ".repeat(column - displayWidth(path))}x`, columns) - 1;
}

/** The characters of a line in its first cells. */
export function beginning(line: string, cells: number): string {
  let text = "";
  let used = 0;
  for (const cell of cellsOf(line)) {
    used += cell.width;
    if (used > cells) break;
    text += cell.text;
  }
  return text;
}

/** A cell of the screen; the rest of a wide character has no text. */
export interface Cell {
  readonly text: string;
  /** Turns its colors and link on. */
  readonly style: string;
}

export const BLANK: Cell = { text: " ", style: "" };

const blanks = (count: number) => new Array<Cell>(count).fill(BLANK);

/** The cells of a line, exactly `columns`: it is cut, or blanks follow. */
export function lineCells(line: string, columns: number): Cell[] {
  const cells: Cell[] = [];
  const state = new Style();
  let style = "";
  let start = 0;
  for (const part of styledParts(safeLine(line, columns))) {
    if (part.startsWith("\x1b")) {
      state.apply(part);
      style = state.begin;
      continue;
    }
    for (const text of ASCII.test(part) ? part : clusters(part)) {
      const width = characterWidth(text);
      if (cells.length + width > columns) return cells.concat(blanks(columns - cells.length));
      if (width > 0) {
        start = cells.length;
        cells.push({ text, style });
        while (cells.length < start + width) cells.push({ text: "", style });
      } else if (start < cells.length) {
        // A mark after a change of colors belongs to the character before it.
        cells[start] = { ...cells[start] ?? BLANK, text: (cells[start]?.text ?? "") + text };
      }
    }
  }
  return cells.concat(blanks(columns - cells.length));
}

/** The text to write, and from which column on, to make `old` into `line` in its row. */
export function lineChange(old: string, line: string): { readonly column: number; readonly text: string } {
  const same = samePart(old, line);
  const kept = line.slice(0, same);
  const style = new Style();
  for (const part of styledParts(kept)) if (part.startsWith("\x1b")) style.apply(part);
  const clear = same === old.length ? "" : "\x1b[K";
  // Lines end without a color, so the rest is cleared without one. First: behind the last column of the
  // screen there is no place for the cursor, and clearing would erase the character there.
  return { column: displayWidth(kept), text: clear + style.begin + line.slice(same) };
}

/** Length of the common beginning that ends between two characters that join with nothing. */
function samePart(old: string, line: string): number {
  const most = Math.min(old.length, line.length);
  let same = 0;
  while (same < most && old[same] === line[same]) same++;
  while (same > 0 && !(isBoundary(line, same) && isBoundary(old, same))) same--;
  return line.slice(0, same).includes("\x1b]8;") ? 0 : same;
}

function isBoundary(line: string, at: number): boolean {
  if (at < line.length && !isSolo(line[at] ?? "")) return false;
  if (!isSolo(line[at - 1] ?? "\n")) return false;
  // Inside of a sequence the letters and digits look like text.
  const escape = line.lastIndexOf("\x1b", at - 1);
  if (escape < 0) return true;
  const sequence = matchAt(ALLOWED, line, escape);
  return sequence !== undefined && escape + sequence.length <= at;
}
