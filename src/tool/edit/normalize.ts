import { type EolStyle, eolStyle, type Line, splitLines } from "../text/eol.ts";

/** A base letter with its marks, conjoining jamo of one syllable, or marks that stand alone. */
const CLUSTER = /[\u1100-\u115f][\u1160-\u11a7][\u11a8-\u11ff]?|\P{M}\p{M}*|\p{M}+/uy;

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
  ["\u2026", "..."],
  ...fullWidthPunctuation(),
]);

function fullWidthPunctuation(): (readonly [string, string])[] {
  const ascii = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
  return [...ascii].map((char) => [String.fromCharCode(char.charCodeAt(0) + 0xfee0), char] as const);
}

export interface Normalization {
  /** Continues "matched after": `ignoring …`. */
  readonly note: string;
  /** Runs of blanks inside the line are one blank, blanks at its end are none. */
  readonly blankRuns: boolean;
}

export const UNICODE_TWINS: Normalization = {
  note: "taking typographic characters for their plain twins",
  blankRuns: false,
};
export const BLANK_RUNS: Normalization = {
  note: "ignoring the number of blanks inside lines",
  blankRuns: true,
};

/** Tabs and the space separators of Unicode. */
function isBlank(unit: number): boolean {
  if (unit < 0xa0) return unit === 32 || unit === 9;
  return unit === 0xa0 || unit === 0x1680 || (unit >= 0x2000 && unit <= 0x200a) || unit === 0x202f ||
    unit === 0x205f || unit === 0x3000;
}

/** A line cut at its outer blanks: each part normalizes as it does within the line. */
interface LineParts {
  readonly lead: string;
  readonly body: string;
  readonly tail: string;
}

export function partsOfLine(text: string): LineParts {
  const ended = trimEnd(text);
  const lead = indentOf(ended);
  return { lead, body: ended.slice(lead.length), tail: text.slice(ended.length) };
}

export function indentOf(text: string): string {
  let at = 0;
  while (isBlank(text.charCodeAt(at))) at++;
  return text.slice(0, at);
}

export function trimEnd(text: string): string {
  let at = text.length;
  while (at > 0 && isBlank(text.charCodeAt(at - 1))) at--;
  return at === text.length ? text : text.slice(0, at);
}

/** Normalizes a line. Equal results mean that the lines look alike to a reader. */
export function normalizeLine(text: string, normalization: Normalization): string {
  return isNormalized(text, normalization) ? text : walk(text, normalization);
}

/** A normalized line and the way back. Text and way come from one walk, so they cannot disagree. */
export class NormalizedLine {
  readonly text: string;
  readonly #offsets = new Map<number, number>();
  readonly #indexes = new Map<number, number>();

  constructor(line: string, normalization: Normalization) {
    this.text = walk(line, normalization, (offset, index) => {
      this.#offsets.set(index, offset);
      this.#indexes.set(offset, index);
    });
  }

  /** Undefined for an index within one character. */
  offsetAt(index: number): number | undefined {
    return this.#offsets.get(index);
  }

  indexAt(offset: number): number | undefined {
    return this.#indexes.get(offset);
  }
}

/** Normalizes a line; `mark` gets each offset where a character begins in both texts. */
function walk(
  text: string,
  normalization: Normalization,
  mark?: (offset: number, index: number) => void,
): string {
  const start = normalization.blankRuns ? indentOf(text).length : text.length;
  if (normalization.blankRuns && start === text.length) {
    mark?.(0, 0);
    return "";
  }
  let out = "";
  /** `out` has the text up to here. */
  let from = 0;
  /** The beginning of a run of blanks: at the end of the line it is none. */
  let run: number | undefined;
  const put = (normalized: string, at: number, end: number) => {
    out += text.slice(from, at) + normalized;
    from = end;
  };
  for (let at = 0, end = 0; at < text.length; at = end) {
    end = clusterEnd(text, at);
    const unit = text.charCodeAt(at);
    if (at > start && isBlank(unit)) {
      run ??= at;
      continue;
    }
    if (run !== undefined) {
      mark?.(run, out.length + run - from);
      if (at - run > 1 || text[run] !== " ") put(" ", run, at);
      run = undefined;
    }
    mark?.(at, out.length + at - from);
    if (end === at + 1 && hasNoTwin(unit)) continue;
    const cluster = text.slice(at, end);
    const normalized = normalizeCluster(cluster);
    if (normalized !== cluster) put(normalized, at, end);
  }
  const last = run ?? text.length;
  mark?.(last, out.length + last - from);
  return out + text.slice(from, last);
}

/** Spares most characters a look at the table: what is ASCII or Chinese. */
function hasNoTwin(unit: number): boolean {
  return unit < 0x80 || (unit >= 0x4e00 && unit <= 0x9fff);
}

/** Most lines are ASCII without runs of blanks: this is cheaper than a walk. */
function isNormalized(text: string, { blankRuns }: Normalization): boolean {
  let seen = false;
  let wasBlank = false;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit > 127) return false;
    const blank = unit === 32 || unit === 9;
    if (blankRuns && blank && seen && (wasBlank || unit === 9)) return false;
    if (!blank) seen = true;
    wasBlank = blank;
  }
  return !blankRuns || !wasBlank;
}

export function hasTwin(cluster: string): boolean {
  return normalizeCluster(cluster) !== cluster;
}

/** The clusters of a text: what a reader takes for one character. A blank is always a separate one. */
export function clustersOf(text: string): string[] {
  const clusters: string[] = [];
  for (let at = 0, end = 0; at < text.length; at = end) {
    end = clusterEnd(text, at);
    clusters.push(text.slice(at, end));
  }
  return clusters;
}

function clusterEnd(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  if (
    isBlank(unit) || (standsAlone(unit) && (at + 1 === text.length || standsAlone(text.charCodeAt(at + 1))))
  ) {
    return at + 1;
  }
  CLUSTER.lastIndex = at;
  CLUSTER.test(text);
  return CLUSTER.lastIndex;
}

/** Is neither a mark nor a jamo nor half of a pair: it does not combine with the character before. */
function standsAlone(unit: number): boolean {
  return unit < 0x300 || (unit >= 0x3000 && unit <= 0x3029) || (unit >= 0x4e00 && unit <= 0x9fff);
}

function normalizeCluster(cluster: string): string {
  if (cluster.length === 1) {
    const unit = cluster.charCodeAt(0);
    return isBlank(unit) && unit !== 9 ? " " : TWINS.get(cluster) ?? cluster;
  }
  const composed = cluster.normalize("NFC");
  return TWINS.get(composed) ?? composed;
}

/** The compared part of a line: all of it, without blanks at its end, or without blanks at both ends. */
type LineKey = "text" | "ended" | "bare";

/** Lookups that scan the lines; after this many a map pays. */
const SCANS = 4;

class LineIndex {
  readonly keys: readonly string[];
  #scans = 0;
  #map: { readonly first: Map<string, number>; readonly next: Int32Array } | undefined;

  constructor(keys: readonly string[]) {
    this.keys = keys;
  }

  /** Every start at which the lines `wanted` follow each other; matches may overlap. */
  starts(wanted: readonly string[]): number[] {
    let probe = 0;
    // The longest line is the rarest one.
    for (const [index, key] of wanted.entries()) if (key.length > (wanted[probe]?.length ?? 0)) probe = index;
    const found: number[] = [];
    for (const position of this.#positions(wanted[probe] ?? "")) {
      const at = position - probe;
      if (at < 0 || at + wanted.length > this.keys.length) continue;
      if (wanted.every((key, index) => this.keys[at + index] === key)) found.push(at);
    }
    return found;
  }

  *#positions(key: string): Generator<number> {
    if (this.#map === undefined && this.#scans++ < SCANS) {
      for (let at = this.keys.indexOf(key); at >= 0; at = this.keys.indexOf(key, at + 1)) yield at;
      return;
    }
    const { first, next } = this.#map ??= chained(this.keys);
    for (let at = first.get(key) ?? -1; at >= 0; at = next[at] ?? -1) yield at;
  }
}

/** The first index of every key, and for every index the next one with the same key (-1: none). */
function chained(keys: readonly string[]): { first: Map<string, number>; next: Int32Array } {
  const first = new Map<string, number>();
  const next = new Int32Array(keys.length);
  for (let at = keys.length - 1; at >= 0; at--) {
    const key = keys[at] ?? "";
    next[at] = first.get(key) ?? -1;
    first.set(key, at);
  }
  return { first, next };
}

/** The lines of a file, indexed for searches for blocks of lines. */
export class FileLines {
  readonly lines: readonly Line[];
  readonly #isAscii: boolean;
  readonly #indexes = new Map<string, LineIndex>();

  /** `isAscii`: no character of the lines has a typographic twin. */
  constructor(lines: readonly Line[], isAscii = false) {
    this.lines = lines;
    this.#isAscii = isAscii;
  }

  index(key: LineKey, wanted?: Normalization): LineIndex {
    const normalization = this.#isAscii && !wanted?.blankRuns ? undefined : wanted;
    const name = `${key} ${normalization?.note ?? ""}`;
    const known = this.#indexes.get(name);
    if (known) return known;
    const made = new LineIndex(this.lines.map((line) => keyOf(line.text, key, normalization)));
    this.#indexes.set(name, made);
    return made;
  }
}

export function keyOf(text: string, key: LineKey, normalization?: Normalization): string {
  const normalized = normalization ? normalizeLine(text, normalization) : text;
  if (key === "text") return normalized;
  const ended = trimEnd(normalized);
  return key === "ended" ? ended : ended.slice(indentOf(ended).length);
}

export class Source {
  readonly text: string;
  readonly style: EolStyle;
  #file: FileLines | undefined;
  #offsets: number[] | undefined;

  constructor(text: string) {
    this.text = text;
    this.style = eolStyle(text);
  }

  get file(): FileLines {
    return this.#file ??= new FileLines(splitLines(this.text, this.style));
  }

  /** Index in the text where a line begins; the number of lines gives the end. */
  offset(line: number): number {
    if (!this.#offsets) {
      let at = 0;
      this.#offsets = [0, ...this.file.lines.map((one) => at += one.text.length + one.eol.length)];
    }
    return this.#offsets[line] ?? this.text.length;
  }
}

/** Start of every occurrence; occurrences may overlap. */
export function occurrences(text: string, wanted: string): number[] {
  const starts: number[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) starts.push(at);
  return starts;
}

/** Translates an index of the text with LF line ends into one of the text itself. */
export function crlfPositions(text: string): (index: number) => number {
  const feeds: number[] = [];
  for (let at = text.indexOf("\r\n"); at >= 0; at = text.indexOf("\r\n", at + 2)) {
    feeds.push(at - feeds.length);
  }
  return (index) => {
    let low = 0;
    let high = feeds.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((feeds[middle] ?? 0) < index) low = middle + 1;
      else high = middle;
    }
    return index + low;
  };
}

const MARKS: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

/** Removes one level of escaping: `\n`, `\t`, quotes, `\${` and backslashes. */
export function unescapeOnce(text: string): string {
  return text.replace(/\\([ntr"'`\\]|\$(?=\{))/g, (_, mark: string) => MARKS[mark] ?? mark);
}
