import { characterEnds, characterWidth, shownCharacter, soloWidth } from "./characters.ts";

/** Something on the screen, and the cells that it takes. */
interface Glyph {
  readonly shown: string;
  readonly width: number;
}

/** Tells what stands for a character that is shown as something else, in at most so many cells. */
type Special = (character: string, most: number) => Glyph | undefined;

/** A caret on the screen: the row of the whole text, and the column within it. */
interface Cell {
  readonly row: number;
  readonly column: number;
}

/** One row of the screen: a part of a line. */
interface Row {
  /** Index of its first character, and where that begins. */
  readonly first: number;
  readonly start: number;
  readonly shown: string;
  /** Column of each character, and of the end. */
  readonly columns: readonly number[];
}

/** A line of the text, broken into rows. */
interface LaidLine {
  readonly text: string;
  /** Where each character ends. */
  readonly ends: readonly number[];
  readonly rows: readonly Row[];
}

interface PlacedLine {
  readonly start: number;
  readonly row: number;
  readonly laid: LaidLine;
}

const TAB = 4;

/**
 * Breaks a text into rows of at most `width` cells: behind blanks, beside wide characters, and within a word
 * that is wider than a row. One blank may stand in the cell behind a row, which is kept free for the caret.
 * Lines that did not change since the last call are not broken again.
 */
export class Layout {
  readonly #special: Special;
  #width = 0;
  #cache = new Map<string, LaidLine>();
  #lines: PlacedLine[] = [];
  #rows = 0;

  constructor(special: Special) {
    this.#special = special;
  }

  get rows(): number {
    return this.#rows;
  }

  update(text: string, width: number): void {
    const isSame = width === this.#width;
    const old = isSame ? this.#cache : new Map<string, LaidLine>();
    const before = isSame ? this.#lines : [];
    this.#width = width;
    this.#cache = new Map();
    this.#lines = [];
    this.#rows = 0;
    let start = 0;
    for (const [index, line] of text.split("\n").entries()) {
      const laid = this.#cache.get(line) ?? old.get(line) ?? this.#lay(line, before[index]?.laid);
      this.#cache.set(line, laid);
      this.#lines.push({ start, row: this.#rows, laid });
      this.#rows += laid.rows.length;
      start += line.length + 1;
    }
  }

  /** Forgets how lines were broken: some characters are shown as something else now. */
  clear(): void {
    this.#cache.clear();
    this.#lines = [];
  }

  /** The text of some rows. */
  shown(first: number, count: number): string[] {
    return this.#lines
      .filter(({ row, laid }) => row < first + count && row + laid.rows.length > first)
      .flatMap(({ row, laid }) => laid.rows.slice(Math.max(0, first - row), first + count - row))
      .map(({ shown }) => shown);
  }

  cellOf(offset: number): Cell {
    const { start, row, laid: { rows, ends } } = this.#line((each) => each.start <= offset);
    const index = Math.max(0, rows.findLastIndex((each) => start + each.start <= offset));
    const { first = 0, columns = [] } = rows[index] ?? {};
    const character = offset === start ? 0 : indexOf(ends, offset - start) + 1;
    return { row: row + index, column: columns[character - first] ?? 0 };
  }

  /** The offset of the character in a cell; in a row that has no such cell, of its last one. */
  offsetAt({ row, column }: Cell): number {
    const line = this.#line((each) => each.row <= row);
    const { rows, ends } = line.laid;
    const { first = 0, columns = [] } = rows[row - line.row] ?? {};
    // The end of a row that is not the last one is the start of the next.
    const end = columns.length - (row - line.row === rows.length - 1 ? 0 : 1);
    let at = 0;
    while (at + 1 < end && (columns[at + 1] ?? 0) <= column) at++;
    return line.start + (ends[first + at - 1] ?? 0);
  }

  #line(isBefore: (line: PlacedLine) => boolean): PlacedLine {
    return this.#lines.findLast(isBefore) ?? { start: 0, row: 0, laid: { text: "", ends: [], rows: [] } };
  }

  /** Breaks a line; rows that it has in common with what stood there before stay. */
  #lay(text: string, before: LaidLine | undefined): LaidLine {
    const ends = characterEnds(text);
    const rows = before ? sameRows(before, text) : [];
    const breaker = new RowBreaker(text, ends, this.#width, this.#special);
    let first = breaker.next;
    if (rows.length > 0) first = rows.pop()?.first ?? 0;
    do {
      rows.push(breaker.row(first));
      first = breaker.next;
    } while (!breaker.done);
    return { text, ends, rows };
  }
}

/**
 * The rows before the one that has to be broken anew, and that one. Where a row ends depends on the next one
 * at most, so a row stays when both are as they were.
 */
function sameRows(before: LaidLine, text: string): Row[] {
  const most = Math.min(before.text.length, text.length);
  let same = 0;
  while (same < most && before.text.charCodeAt(same) === text.charCodeAt(same)) same++;
  const changed = before.rows.findIndex(({ start }) => start > same);
  const kept = (changed < 0 ? before.rows.length : changed) - 1;
  return before.rows.slice(0, Math.max(0, kept));
}

/** Index of an offset in a sorted list; of the first one behind it where it is not there. */
function indexOf(sorted: readonly number[], wanted: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Breaks a line row by row. */
class RowBreaker {
  readonly #text: string;
  readonly #ends: readonly number[];
  readonly #width: number;
  readonly #special: Special;
  /** Index of the first character of the next row. */
  next = 0;
  /** There is no next row. */
  done = false;

  constructor(text: string, ends: readonly number[], width: number, special: Special) {
    this.#text = text;
    this.#ends = ends;
    this.#width = width;
    this.#special = special;
  }

  /** The row that begins with a character. */
  row(first: number): Row {
    const text = this.#text;
    const start = this.#ends[first - 1] ?? 0;
    const columns: number[] = [];
    let column = 0;
    let shown = "";
    /** From here on the text itself is shown. */
    let from = start;
    let broken: { readonly index: number; readonly shown: string; readonly from: number } | undefined;
    let at = start;
    for (let index = first; index < this.#ends.length; index++) {
      const end = this.#ends[index] ?? 0;
      const code = text.charCodeAt(at);
      const solo = end - at === 1 ? soloWidth(code) : 0;
      const glyph = solo > 0 ? undefined : this.#glyph(text.slice(at, end), column);
      const width = glyph?.width ?? solo;
      const isBlank = code === 0x20 || code === 0x09;
      if (isBlank ? column > this.#width : column > 0 && column + width > this.#width) {
        const here = { index, shown, from };
        const { index: next, ...rest } = width > 1 || isBlank ? here : broken ?? here;
        this.next = next;
        columns.length = next - first;
        columns.push(this.#width);
        return { first, start, columns, shown: rest.shown + text.slice(rest.from, this.#ends[next - 1]) };
      }
      columns.push(column);
      if (glyph) {
        shown += text.slice(from, at) + glyph.shown;
        from = end;
      }
      column += width;
      if (isBlank || width > 1) broken = { index: index + 1, shown, from };
      at = end;
    }
    // The caret behind the last character needs a cell too.
    this.done = column <= this.#width;
    this.next = this.#ends.length;
    columns.push(column);
    return { first, start, columns, shown: shown + text.slice(from) };
  }

  #glyph(character: string, column: number): Glyph {
    if (character === "\t") {
      const width = Math.min(TAB - column % TAB, Math.max(1, this.#width - column));
      return { shown: " ".repeat(width), width };
    }
    const special = this.#special(character, this.#width);
    if (special) return special;
    const shown = shownCharacter(character);
    return { shown, width: characterWidth(shown) };
  }
}
