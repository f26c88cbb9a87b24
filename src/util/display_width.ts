import { eastAsianWidth } from "get-east-asian-width";

const ASCII = /^[\x20-\x7e]*$/;
// deno-lint-ignore no-control-regex
const SEQUENCES = /\x1b(?:\[[\x20-\x3f]*[\x40-\x7e]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.?)/g;

/**
 * A character outside of the blocks of which every one is a cell or two by itself and joins with no other:
 * Latin, Greek, Cyrillic, punctuation, arrows, boxes, CJK, Hangul syllables, emoji without what changes them.
 * Asked for the exception, since `^[…]*$` runs out of stack in a line of millions.
 */
const JOINED =
  /[^\x20-\x7e\xa0-\xac\xae-\u02ff\u0370-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2100-\u2bff\u2e80-\u3029\u3030-\u3096\u309b-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff01-\uff9d\u{1f300}-\u{1f3fa}\u{1f400}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/** Marks, joiners and other characters without a cell of their own. */
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
