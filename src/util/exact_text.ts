import { clusters } from "./display_width.ts";
import { CONTROLS } from "./terminal_text.ts";

/**
 * Characters that a screen hides, shows as blanks or reorders: control and format characters, bidirectional
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

/** A part of a text as it can be seen. */
interface ExactCell {
  readonly text: string;
  /** It is the name of an invisible character; one cell of a terminal for each character. */
  readonly named: boolean;
}

/** Reports whether a line is shown as it is. */
export function isExact(line: string): boolean {
  return ASCII.test(line) && !hasRun(line);
}

function hasRun(line: string): boolean {
  return line.search(BLANKS) >= 0;
}

/**
 * A line with every character visible: hidden ones are named, such as `\u{202e}`; `\x0d` is half of a Windows
 * line end, and `\x20{3000}` a long run of blanks.
 */
export function* exactCells(line: string): Generator<ExactCell> {
  let from = 0;
  for (const { 0: run, index } of line.matchAll(BLANKS)) {
    yield* cellsOf(line.slice(from, index));
    for (const text of `\\x20{${run.length}}`) yield { text, named: true };
    from = index + run.length;
  }
  yield* cellsOf(line.slice(from));
}

function* cellsOf(text: string): Generator<ExactCell> {
  for (const segment of clusters(text)) {
    const hides = UNSEEN.test(segment) ? !EMOJI.test(segment) : [...segment].length > 1 + MAX_MARKS;
    if (segment === "\t") yield { text: TAB, named: true };
    else if (!hides) yield { text: segment, named: false };
    else yield* named(segment);
  }
}

function* named(segment: string): Generator<ExactCell> {
  let marks = 0;
  for (const character of segment) {
    const isMark = /^\p{M}$/u.test(character);
    marks = isMark ? marks + 1 : 0;
    if (!UNSEEN.test(character) && marks <= MAX_MARKS) {
      yield { text: character, named: false };
    } else for (const text of nameOf(character)) yield { text, named: true };
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
  if (isExact(text)) return text;
  return text.split("\n").map((line) => line.split("\t").map(nameLine).join("\t")).join("\n");
}

function nameLine(line: string): string {
  if (isExact(line)) return line;
  let text = "";
  for (const cell of exactCells(line)) text += cell.text;
  return text;
}
