import type { Line } from "../text/eol.ts";
import { type Fold, foldLine, indentOf, trimEnd } from "./fold.ts";

/**
 * What of a line is compared: all of it, all but blanks at its end, or nothing but what stands between
 * blanks.
 */
export type LineKey = "text" | "ended" | "bare";

/** Lookups that scan the lines; after so many a map pays. */
const SCANS = 4;

/** The lines of a file under one way of comparing them. */
export class LineIndex {
  readonly keys: readonly string[];
  #scans = 0;
  #map: { readonly first: Map<string, number>; readonly next: Int32Array } | undefined;

  constructor(keys: readonly string[]) {
    this.keys = keys;
  }

  /** Every start, in order, at which the lines `wanted` stand one below the other; places may overlap. */
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

/** The lines of a file, with what is needed to look for blocks of lines in it. */
export class FileLines {
  readonly lines: readonly Line[];
  readonly #isAscii: boolean;
  readonly #indexes = new Map<string, LineIndex>();

  /** `isAscii`: no character of the lines has a typographic twin. */
  constructor(lines: readonly Line[], isAscii = false) {
    this.lines = lines;
    this.#isAscii = isAscii;
  }

  index(key: LineKey, wanted?: Fold): LineIndex {
    const fold = this.#isAscii && !wanted?.blankRuns ? undefined : wanted;
    const name = `${key} ${fold?.note ?? ""}`;
    const known = this.#indexes.get(name);
    if (known) return known;
    const made = new LineIndex(this.lines.map((line) => keyOf(line.text, key, fold)));
    this.#indexes.set(name, made);
    return made;
  }
}

export function keyOf(text: string, key: LineKey, fold?: Fold): string {
  const folded = fold ? foldLine(text, fold) : text;
  if (key === "text") return folded;
  const ended = trimEnd(folded);
  return key === "ended" ? ended : ended.slice(indentOf(ended).length);
}
