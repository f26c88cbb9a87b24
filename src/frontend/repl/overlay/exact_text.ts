import { displayWidth } from "../../../util/display_width.ts";
import { wrapText } from "../../../view/mod.ts";

/**
 * Characters that a terminal shows as nothing, as a blank that is none, or in another order: control
 * characters, format characters, bidirectional controls, tags, fillers, blanks of other widths.
 */
const UNSEEN =
  // deno-lint-ignore no-control-regex
  /[\x00-\x08\x0a-\x1f\x7f-\xa0]|\p{Cf}|\p{Zl}|\p{Zp}|[\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200a\u202f\u205f\u3000\u3164\ufe00-\ufe0e\uffa0\u{e0100}-\u{e01ef}]/u;
const ASCII = /^[\x20-\x7e]*$/;
const EMOJI = /^\p{Extended_Pictographic}/u;
const TAB = "    ";

let segmenter: Intl.Segmenter | undefined;

interface Cell {
  readonly text: string;
  readonly width: number;
  /** Stands for something that is not to be seen. */
  readonly named: boolean;
}

/**
 * A text as rows of at most `columns` cells, every character of it to be seen: what a terminal would hide or
 * reorder is named, such as `\u{202e}`, in the way of `mark`.
 */
export function exactRows(text: string, columns: number, mark: (text: string) => string): string[] {
  return text.replaceAll("\r\n", "\n").split("\n").flatMap((line) => exactLine(line, columns, mark));
}

/** The rows of one line. */
export function exactLine(line: string, columns: number, mark: (text: string) => string): string[] {
  const room = Math.max(2, columns);
  if (ASCII.test(line)) return chunks(line, room);
  const rows: string[] = [];
  let row = "";
  let used = 0;
  for (const { text, width, named } of cells(line)) {
    if (used + width > room) {
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

function cells(line: string): Cell[] {
  segmenter ??= new Intl.Segmenter();
  return [...segmenter.segment(line.replaceAll("\t", TAB))].flatMap(({ segment }) => {
    // Joiners and selectors are part of an emoji, and nothing to be wary of there.
    if (!UNSEEN.test(segment) || EMOJI.test(segment)) {
      return [{ text: segment, width: displayWidth(segment), named: false }];
    }
    return [...segment].flatMap((character): Cell[] => {
      if (!UNSEEN.test(character)) return [{ text: character, width: displayWidth(character), named: false }];
      return [...nameOf(character)].map((text) => ({ text, width: 1, named: true }));
    });
  });
}

function nameOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x100
    ? `\\x${code.toString(16).padStart(2, "0")}`
    : `\\u{${code.toString(16).padStart(4, "0")}}`;
}

/** The text with every unseen character named; newlines and tabs stay. */
export function nameUnseen(text: string): string {
  if (ASCII.test(text)) return text;
  return text.split("\n").map((line) => ASCII.test(line) ? line : named(line)).join("\n");
}

function named(line: string): string {
  return line.split("\t").map((part) => cells(part).map(({ text }) => text).join("")).join("\t");
}

/** A sentence as rows, broken between words where they fit; unseen characters named as in `exactRows`. */
export function wordRows(text: string, columns: number, mark: (text: string) => string): string[] {
  const room = Math.max(2, columns);
  return text.split("\n").flatMap((line) => {
    const rows = ASCII.test(line) && line.length <= room ? [line] : wrapText(line, room, displayWidth);
    return rows.flatMap((row) => exactLine(row, room, mark));
  });
}
