/**
 * Ways to fold a line so that texts which differ in blanks or in twins of a character compare equal, with the
 * way back.
 */

/** A base letter with its marks, conjoining jamo of one syllable, or marks that stand alone. */
const CLUSTER = /[\u1100-\u115f][\u1160-\u11a7][\u11a8-\u11ff]?|\P{M}\p{M}*|\p{M}+/gu;

/**
 * Punctuation that keyboards, editors and models write for one another. Letters and digits never have a twin:
 * a ligature is not its letters, and a Cyrillic letter is not the Latin one that looks like it.
 */
const TWINS: ReadonlyMap<string, string> = new Map([
  ...["\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\u2015", "\u2212", "\ufe58", "\ufe63"].map(
    (dash) => [dash, "-"] as const,
  ),
  ...["\u2018", "\u2019", "\u201a", "\u201b", "\u2032", "\u02bc"].map((quote) => [quote, "'"] as const),
  ...["\u201c", "\u201d", "\u201e", "\u201f", "\u2033"].map((quote) => [quote, '"'] as const),
  ...["\u00a0", "\u202f", "\u205f", "\u3000"].map((blank) => [blank, " "] as const),
  ...Array.from({ length: 11 }, (_, index) => [String.fromCharCode(0x2000 + index), " "] as const),
  ["\u2026", "..."],
  ...fullWidthPunctuation(),
]);

function fullWidthPunctuation(): (readonly [string, string])[] {
  const ascii = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
  return [...ascii].map((char) => [String.fromCharCode(char.charCodeAt(0) + 0xfee0), char] as const);
}

/** One way of folding a line of text (without its line end). */
export interface Fold {
  /** Continues "matched after": `ignoring …`. */
  readonly note: string;
  /** Runs of blanks inside the line are one blank, blanks at its end are none. */
  readonly blankRuns: boolean;
}

export const UNICODE_TWINS: Fold = {
  note: "taking typographic characters for their plain twins",
  blankRuns: false,
};
export const BLANK_RUNS: Fold = { note: "ignoring the number of blanks inside lines", blankRuns: true };

/** Folds a line. Equal results mean that the lines look alike to a reader. */
export function foldLine(text: string, fold: Fold): string {
  const kind = contentOf(text);
  const plain = kind === "other" ? text.replace(CLUSTER, foldCluster) : text;
  if (!fold.blankRuns || kind === "folded") return plain;
  return plain.replace(/([^ \t])[ \t]+/g, "$1 ").replace(/[ \t]+$/, "");
}

/** Most lines are ASCII without runs of blanks: a look at each character is cheaper than an expression. */
function contentOf(text: string): "folded" | "ascii" | "other" {
  let plain = true;
  let inside = false;
  let blank = false;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit > 127) return "other";
    const isBlank = unit === 32 || unit === 9;
    if (isBlank && inside && (blank || unit === 9)) plain = false;
    if (!isBlank) inside = true;
    blank = isBlank;
  }
  return plain && !blank ? "folded" : "ascii";
}

/** Reports whether a character would be folded to another one. */
export function hasTwin(cluster: string): boolean {
  return foldCluster(cluster) !== cluster;
}

/** The clusters of a text: what a reader takes for one character. */
export function clustersOf(text: string): string[] {
  return text.match(CLUSTER) ?? [];
}

function foldCluster(cluster: string): string {
  const composed = cluster.length > 1 ? cluster.normalize("NFC") : cluster;
  return TWINS.get(composed) ?? composed;
}

/**
 * For every index of the folded line, and its end, the index in `text` where that character begins:
 * `offsets[i]` in UTF-16 units, `foldLine(text).length + 1` entries.
 */
export function foldOffsets(text: string, fold: Fold): number[] {
  const offsets: number[] = [];
  let at = 0;
  let seen = false;
  let blank: number | undefined;
  for (const cluster of clustersOf(text)) {
    const folded = foldCluster(cluster);
    const isBlank = folded === " " || folded === "\t";
    if (fold.blankRuns && isBlank && seen) blank ??= at;
    else {
      if (blank !== undefined) offsets.push(blank);
      blank = undefined;
      seen ||= !isBlank;
      for (let index = 0; index < folded.length; index++) offsets.push(at);
    }
    at += cluster.length;
  }
  if (fold.blankRuns && !seen) return [0];
  // Blanks at the end are folded away; the end of the folded line is where they begin.
  offsets.push(blank ?? at);
  return offsets;
}
