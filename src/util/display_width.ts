import { eastAsianWidth } from "get-east-asian-width";

const ASCII = /^[\x20-\x7e]*$/;
// deno-lint-ignore no-control-regex
const SEQUENCES = /\x1b(?:\[[\x20-\x3f]*[\x40-\x7e]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.?)/g;

/**
 * A character outside of the blocks whose characters take a cell or two and join with no other:
 * Latin, Greek, Cyrillic, punctuation, arrows, boxes, CJK, Hangul syllables, emoji without what changes them.
 * Asked for the exception, since `^[…]*$` runs out of stack in a line of millions.
 */
const JOINED =
  /[^\x20-\x7e\xa0-\xac\xae-\u02ff\u0370-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2100-\u2bff\u2e80-\u3029\u3030-\u3096\u309b-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff01-\uff9d\u{1f300}-\u{1f3fa}\u{1f400}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/** Marks, joiners and other characters without a cell. */
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Me}\p{Mn}]/u;
const FLAG_LETTER = /[\u{1f1e6}-\u{1f1ff}]/u;
const SKIN = /[\u{1f3fb}-\u{1f3ff}]/u;
const HAS_SKIN = /\p{Emoji_Modifier_Base}/u;
/** Characters that a selector or a joiner turns into a picture of two cells. */
const PICTURE = /[\p{Extended_Pictographic}\d#*]/u;
/** Vowels and final consonants of Hangul belong to the syllable before them. */
const SYLLABLE = /[\u1100-\u11ff\ua960-\ua97c\uac00-\ud7fb]/;
const SYLLABLE_REST = /[\u1160-\u11ff\ud7b0-\ud7fb]/;
const JOINER = "\u200d";

let segmenter: Intl.Segmenter | undefined;

/** The parts of a text that are seen as one character each. */
export function* clusters(text: string): Generator<string> {
  if (!JOINED.test(text)) return yield* text;
  // Made when it is needed first, and not for a width: that takes 11 ms.
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  for (const { segment } of segmenter.segment(text)) yield segment;
}

/**
 * Columns a line takes on a terminal: wide characters count two, marks and joined parts none. Escape
 * sequences take none either.
 */
export function displayWidth(line: string): number {
  if (ASCII.test(line)) return line.length;
  const text = line.includes("\x1b") ? line.replace(SEQUENCES, "") : line;
  if (JOINED.test(text)) return joinedWidth(text);
  let width = 0;
  for (const character of text) width += cells(character);
  return width;
}

const cells = (character: string) => eastAsianWidth(character.codePointAt(0) ?? 0);

function joinedWidth(text: string): number {
  let width = 0;
  /** The last character that is seen, its cells, and the one before the next. */
  let seen = "";
  let last = 0;
  let before = "";
  const becomes = (columns: number) => {
    width += columns - last;
    last = columns;
  };
  for (const character of text) {
    if (character === "\ufe0f" && PICTURE.test(seen)) becomes(2);
    else if (character === "\ufe0e" && /[\u2000-\u2fff]/.test(seen)) becomes(1);
    else if (SKIN.test(character) && HAS_SKIN.test(seen)) becomes(2);
    else if (FLAG_LETTER.test(character) && FLAG_LETTER.test(seen)) {
      becomes(2);
      seen = "";
      before = character;
      continue;
    } else if (!isPartOf(character, seen, before) && !UNSEEN.test(character)) {
      last = FLAG_LETTER.test(character) ? 2 : cells(character);
      width += last;
      seen = character;
    }
    before = character;
  }
  return width;
}

/** The character adds nothing to the width of the one that it belongs to. */
function isPartOf(character: string, seen: string, before: string): boolean {
  if (SYLLABLE_REST.test(character)) return SYLLABLE.test(seen);
  return before === JOINER && seen !== "" && PICTURE.test(seen) && PICTURE.test(character);
}

/** The line with blanks added up to `width` columns, on its left when `side` is "left". */
export function padDisplay(line: string, width: number, side: "left" | "right" = "right"): string {
  const blanks = " ".repeat(Math.max(0, width - displayWidth(line)));
  return side === "left" ? blanks + line : line + blanks;
}

/** The line cut to `width` columns, never inside of what is seen as one character. */
export function fitDisplay(line: string, width: number): string {
  if (displayWidth(line) <= width) return line;
  let kept = "";
  let used = 0;
  for (const segment of clusters(line)) {
    const columns = displayWidth(segment);
    if (used + columns > width - 1) break;
    kept += segment;
    used += columns;
  }
  return `${kept.trimEnd()}…`;
}

/** Characters that join with nothing and whose width is known: printable ASCII (1) and CJK (2). */
export function soloWidth(code: number): 0 | 1 | 2 {
  if (code >= 0x20 && code < 0x7f) return 1;
  if (code < 0x3001) return 0;
  const wide = (code >= 0x4e00 && code <= 0x9fff) || (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0x3041 && code <= 0x3096) || (code >= 0x30a0 && code <= 0x30ff) || code <= 0x3029 ||
    (code >= 0x3400 && code <= 0x4dbf);
  return wide ? 2 : 0;
}

/**
 * Ends of what is seen as one character (grapheme cluster, UAX 29), as offsets; the last one is the length of
 * the text. The table of clusters is only asked where characters may join.
 */
export function characterEnds(text: string): number[] {
  const ends: number[] = [];
  let isSolo = text !== "" && soloWidth(text.charCodeAt(0)) > 0;
  for (let at = 0; at < text.length;) {
    let end = at + 1;
    let before = isSolo;
    isSolo = end < text.length && soloWidth(text.charCodeAt(end)) > 0;
    if (before && (isSolo || end === text.length)) ends.push(end);
    else {
      // Between two characters that join with nothing there is an end for certain.
      while (end < text.length && !(isSolo && before)) {
        before = isSolo;
        isSolo = ++end < text.length && soloWidth(text.charCodeAt(end)) > 0;
      }
      let length = at;
      for (const cluster of clusters(text.slice(at, end))) ends.push(length += cluster.length);
    }
    at = end;
  }
  return ends;
}

/** Reports whether every character takes the same cells on all terminals and joins with no other. */
export function isSolo(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (soloWidth(text.charCodeAt(at)) === 0) return false;
  return true;
}

const widths = new Map<string, number>();
const MAX_WIDTHS = 4096;

/** Cells of one character as a terminal shows it. Tabs and control characters are not for this. */
export function characterWidth(character: string): number {
  const solo = character.length === 1 ? soloWidth(character.charCodeAt(0)) : 0;
  if (solo > 0) return solo;
  let width = widths.get(character);
  if (width === undefined) {
    width = displayWidth(character);
    if (widths.size >= MAX_WIDTHS) widths.clear();
    widths.set(character, width);
  }
  return width;
}
