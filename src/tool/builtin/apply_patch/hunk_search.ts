import { FileLines } from "../../edit/file_lines.ts";
import { BLANK_RUNS, type Fold, UNICODE_TWINS } from "../../edit/fold.ts";
import { blockMatches } from "../../edit/line_blocks.ts";
import { unescapeOnce } from "../../edit/unescape.ts";
import type { Line } from "../../text/eol.ts";
import { fitHunk, type PatchedFile, type WrittenLine } from "./fit_hunk.ts";
import { type Hunk, leadingContext, oldLines, type PatchLine } from "./patch.ts";

/** The place where a hunk goes. */
export interface Placement {
  /** The hunk as it fits, without blank lines that the file does not have. */
  readonly hunk: Hunk;
  /** Index of the line of its first old line. */
  readonly line: number;
  /** The lines that the hunk leaves there; absent where the old lines stand byte for byte. */
  readonly fitted?: readonly WrittenLine[];
  readonly note?: string;
}

/** 0-based index of the first old line as the header states it. */
export function statedLine(hunk: Hunk): number | undefined {
  if (hunk.line === undefined) return undefined;
  return oldLines(hunk).length === 0 ? hunk.line : Math.max(0, hunk.line - 1);
}

/** Finds the places of single hunks in one file, each by the strictest comparison that finds it at all. */
export class HunkSearch {
  readonly #patched: PatchedFile;
  readonly #file: FileLines;
  /** The lines by their text without the blanks around it. */
  #trimmed: Map<string, number[]> | undefined;

  constructor(patched: PatchedFile) {
    this.#patched = patched;
    this.#file = new FileLines(patched.lines, patched.isAscii);
  }

  /** Places for a hunk, in order; a string says why it cannot have any. */
  candidates(hunk: Hunk, drift: number): readonly Placement[] | string {
    const stated = statedLine(hunk);
    const expected = stated === undefined ? undefined : stated + drift;
    const anchors = this.#anchors(hunk);
    if (typeof anchors === "string") return anchors;
    if (oldLines(hunk).length === 0) return this.#insertion(hunk, expected, anchors);
    if (expected !== undefined && this.#fits(hunk, expected)) return [{ hunk, line: expected }];
    const found = this.#strictest(hunk);
    const below = anchors
      ? found.filter((place) => anchors.below <= place.line + leadingContext(place.hunk))
      : found;
    if (found.length > 0 && below.length === 0) {
      return `stands above its anchor "@@ ${hunk.anchors.at(-1)}", at line ${(found[0]?.line ?? 0) + 1}`;
    }
    return preferred(hunk, below, { expected, end: this.#file.lines.length });
  }

  #strictest(hunk: Hunk): Placement[] {
    const exact = this.#exact(hunk);
    if (exact.length > 0 && !this.#patched.style.mixed) return exact;
    const trimmed = withoutOuterBlankLines(hunk);
    const bare = unescaped(hunk);
    const attempts: [Hunk | undefined, (Fold | undefined)?, string?][] = [
      [hunk],
      [trimmed, undefined, "leaving out blank lines around it"],
      [hunk, UNICODE_TWINS],
      [trimmed, UNICODE_TWINS],
      [hunk, BLANK_RUNS],
      [trimmed, BLANK_RUNS],
      [bare, undefined, "taking away one level of escaping"],
    ];
    for (const [variant, fold, note] of attempts) {
      const loose = variant ? this.#loose(variant, fold, note) : [];
      // Nobody sees which line ends in CRLF: in a mixed file an exact match may be one of several equal
      // looking places.
      if (exact.length > 0 && loose.length <= exact.length) return exact;
      if (loose.length > 0) return loose;
    }
    return exact;
  }

  #exact(hunk: Hunk): Placement[] {
    const old = oldLines(hunk);
    const texts = old.map((line) => line.text.replace(/\r$/, ""));
    return this.#file.index("text").starts(texts).filter((line) => this.#fits(hunk, line)).map((line) => ({
      hunk,
      line,
    }));
  }

  #fits(hunk: Hunk, at: number): boolean {
    return oldLines(hunk).every((line, index) => isSame(this.#file.lines[at + index], line));
  }

  #loose(hunk: Hunk, fold: Fold | undefined, reason: string | undefined): Placement[] {
    const block = oldLines(hunk).map((line) => line.text.replace(/\r$/, ""));
    return blockMatches(this.#file, block, fold).flatMap((match) => {
      const fitted = fitHunk(this.#patched, hunk, match);
      const why = [reason, match.note].filter((note) => note !== undefined).join(" and ");
      if (!fitted) return [];
      return [{ hunk, line: match.line, fitted, ...(why === "" ? {} : { note: `matched after ${why}` }) }];
    });
  }

  /** The place of new lines alone: where the header says, below their anchor, or at the end of the file. */
  #insertion(hunk: Hunk, expected: number | undefined, anchors: Anchors | undefined): Placement[] | string {
    const count = this.#file.lines.length;
    if (anchors) {
      const places = anchors.last.map((line) => ({ hunk, line: line + 1 }));
      return places.length === 1 ? places : several("has an anchor that stands", places);
    }
    const line = expected ?? count;
    return line < 0 || line > count
      ? `inserts at line ${line + 1}, but the file has ${count} lines`
      : [{ hunk, line }];
  }

  #anchors(hunk: Hunk): Anchors | string | undefined {
    let from = 0;
    let last: number[] = [];
    for (const anchor of hunk.anchors) {
      last = this.#anchorLines(anchor, from);
      const first = last[0];
      if (first === undefined) {
        return from === 0
          ? `has the anchor "@@ ${anchor}", which is not in the file`
          : `has the anchor "@@ ${anchor}", which is not below the one before it`;
      }
      from = first + 1;
    }
    return hunk.anchors.length === 0 ? undefined : { below: from, last };
  }

  /** Lines that an anchor names: equal to it, else holding it, else the same with twins of characters. */
  #anchorLines(anchor: string, from: number): number[] {
    const wanted = anchor.trim();
    const { lines } = this.#file;
    const exact = this.#byTrimmed(wanted).filter((index) => index >= from);
    if (exact.length > 0) return exact;
    const where = (test: (index: number) => boolean) => {
      const found: number[] = [];
      for (let index = from; index < lines.length; index++) if (test(index)) found.push(index);
      return found;
    };
    const holding = where((index) => lines[index]?.text.includes(wanted) ?? false);
    if (holding.length > 0) return holding;
    const keys = this.#file.index("bare", BLANK_RUNS).keys;
    const alike = new FileLines([{ text: wanted, eol: "" }]).index("bare", BLANK_RUNS).keys[0] ?? wanted;
    return where((index) => keys[index]?.includes(alike) ?? false);
  }

  #byTrimmed(text: string): readonly number[] {
    if (!this.#trimmed) {
      this.#trimmed = new Map();
      for (const [index, line] of this.#file.lines.entries()) {
        const key = line.text.trim();
        const known = this.#trimmed.get(key);
        if (known) known.push(index);
        else this.#trimmed.set(key, [index]);
      }
    }
    return this.#trimmed.get(text) ?? [];
  }
}

interface Anchors {
  /** Index of the first line below the first place of all anchors. */
  readonly below: number;
  /** Indexes of every line that the last anchor may be. */
  readonly last: readonly number[];
}

function isSame(line: Line | undefined, wanted: PatchLine): boolean {
  if (!line) return false;
  return wanted.newline
    ? line.eol !== "" && line.text + line.eol === `${wanted.text}\n`
    : line.eol === "" && line.text === wanted.text;
}

/** The place at the end of the file where the hunk asks for it, that at the stated line, or all. */
function preferred(
  hunk: Hunk,
  places: readonly Placement[],
  { expected, end }: { expected: number | undefined; end: number },
): readonly Placement[] {
  const last = hunk.atEnd
    ? places.find((place) => place.line + oldLines(place.hunk).length === end)
    : undefined;
  const one = last ?? places.find((place) => place.line === expected);
  if (one) return [one];
  const [first] = places;
  if (places.length !== 1 || !first || expected === undefined || first.note) return places;
  return [{ ...first, note: `was found at line ${first.line + 1} instead of ${expected + 1}` }];
}

/** The hunk without blank context lines at its ends, when it has any. */
function withoutOuterBlankLines(hunk: Hunk): Hunk | undefined {
  const isBlank = (line: PatchLine | undefined) => line?.kind === " " && line.text.trim() === "";
  let [start, end] = [0, hunk.lines.length];
  while (start < end && isBlank(hunk.lines[start])) start++;
  while (end > start && isBlank(hunk.lines[end - 1])) end--;
  return end - start === hunk.lines.length ? undefined : { ...hunk, lines: hunk.lines.slice(start, end) };
}

function unescaped(hunk: Hunk): Hunk | undefined {
  const lines = hunk.lines.map((line) => ({ ...line, text: unescapeOnce(line.text) }));
  const whole = lines.every((line) => !/[\n\r]/.test(line.text));
  return whole && lines.some((line, index) => line.text !== hunk.lines[index]?.text)
    ? { ...hunk, lines }
    : undefined;
}

/** Tells why a hunk is not placed: what it does in too many places. */
export function several(what: string, places: readonly Placement[]): string {
  const at = places.slice(0, 20).map((place) => place.line + 1).join(", ");
  return `${what} ${places.length} places, at lines ${at}; add context lines to make it unique`;
}
