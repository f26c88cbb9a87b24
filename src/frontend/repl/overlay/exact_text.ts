import { clusters, displayWidth } from "../../../util/display_width.ts";
import { CONTROLS } from "../../../util/terminal_text.ts";
import { wrapText } from "../../../view/mod.ts";

/**
 * Characters that a terminal hides, shows as blanks or reorders: control and format characters, bidirectional
 * controls, tags, selectors, fillers, blanks of other widths, lone surrogates, private use.
 */
const UNSEEN = new RegExp(
  `[[${CONTROLS}]--\\t]|[\\xa0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u2800\\u3000\\uffa0\\u{1d159}]|` +
    String.raw`\p{Cf}|\p{Zl}|\p{Zp}|\p{Cs}|\p{Co}|\p{DI}`,
  "v",
);
const ASCII = /^[\x20-\x7e]*$/;
/** Joiners, selectors and tags in it make its picture, and hide nothing. */
const EMOJI = /^\p{RGI_Emoji}$|^(?:\p{ExtPict}\p{EMod}?\ufe0f?)(?:\u200d\p{ExtPict}\p{EMod}?\ufe0f?)*$/v;
/** Distinguishes a tab from blanks. */
const TAB = "→   ";
/** More marks on one character cover its neighbors. */
const MAX_MARKS = 4;
/** A longer run of blanks can move the following text out of sight. */
const MAX_BLANKS = 60;
const BLANKS = new RegExp(` {${MAX_BLANKS},}`, "g");

interface Cell {
  readonly text: string;
  readonly width: number;
  /** It is the name of an invisible character. */
  readonly named: boolean;
}

/**
 * A text as rows of at most `columns` cells with every character visible: hidden ones are named, such as
 * `\u{202e}`, and styled by `mark`; `\x0d` is half of a Windows line end, and `\x20{3000}` a long run of
 * blanks.
 */
export function exactRows(text: string, columns: number, mark: (text: string) => string): string[] {
  return text.split("\n").flatMap((line) => exactLine(line, columns, mark));
}

export function exactLine(line: string, columns: number, mark: (text: string) => string): string[] {
  const space = Math.max(2, columns);
  if (ASCII.test(line) && !hasRun(line)) return chunks(line, space);
  const rows: string[] = [];
  let row = "";
  let used = 0;
  for (const { text, width, named } of cells(line)) {
    if (used + width > space) {
      rows.push(row);
      [row, used] = ["", 0];
    }
    row += named ? mark(text) : text;
    used += width;
  }
  return [...rows, row];
}

function chunks(line: string, size: number): string[] {
  const rows: string[] = [];
  for (let at = 0; at === 0 || at < line.length; at += size) rows.push(line.slice(at, at + size));
  return rows;
}

function hasRun(line: string): boolean {
  return line.search(BLANKS) >= 0;
}

function* cells(line: string): Generator<Cell> {
  let from = 0;
  for (const { 0: run, index } of line.matchAll(BLANKS)) {
    yield* cellsOf(line.slice(from, index));
    for (const text of `\\x20{${run.length}}`) yield { text, width: 1, named: true };
    from = index + run.length;
  }
  yield* cellsOf(line.slice(from));
}

function* cellsOf(text: string): Generator<Cell> {
  for (const segment of clusters(text)) {
    const hides = UNSEEN.test(segment) ? !EMOJI.test(segment) : [...segment].length > 1 + MAX_MARKS;
    if (segment === "\t") yield { text: TAB, width: TAB.length, named: true };
    else if (!hides) yield { text: segment, width: displayWidth(segment), named: false };
    else yield* named(segment);
  }
}

function* named(segment: string): Generator<Cell> {
  let marks = 0;
  for (const character of segment) {
    const isMark = /^\p{M}$/u.test(character);
    marks = isMark ? marks + 1 : 0;
    if (!UNSEEN.test(character) && marks <= MAX_MARKS) {
      yield { text: character, width: displayWidth(character), named: false };
    } else for (const text of nameOf(character)) yield { text, width: 1, named: true };
  }
}

function nameOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x100
    ? `\\x${code.toString(16).padStart(2, "0")}`
    : `\\u{${code.toString(16).padStart(4, "0")}}`;
}

/** The text with every unseen character named; newlines and tabs stay. */
export function nameUnseen(text: string): string {
  if (ASCII.test(text) && !hasRun(text)) return text;
  return text.split("\n").map((line) => line.split("\t").map(nameLine).join("\t")).join("\n");
}

function nameLine(line: string): string {
  if (ASCII.test(line) && !hasRun(line)) return line;
  let text = "";
  for (const cell of cells(line)) text += cell.text;
  return text;
}

/** A text as rows, broken between words where they fit; invisible characters named as in `exactRows`. */
export function wordRows(text: string, columns: number, mark: (text: string) => string): string[] {
  const space = Math.max(2, columns);
  return text.split("\n").flatMap((line) => {
    const rows = ASCII.test(line) && line.length <= space ? [line] : wrapText(line, space, displayWidth);
    return rows.flatMap((row) => exactLine(row, space, mark));
  });
}
