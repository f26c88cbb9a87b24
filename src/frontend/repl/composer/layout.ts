import { characterEnds, characterWidth, shownCharacter } from "./characters.ts";

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

/** One row of the screen: the part of a line that it shows. */
interface Row {
  readonly start: number;
  readonly shown: string;
}

/** A line of the text, broken into rows. */
interface LaidLine {
  readonly rows: readonly Row[];
  /** Where each character begins; the last one is the end of the line. */
  readonly offsets: readonly number[];
  readonly columns: readonly number[];
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
    const old = width === this.#width ? this.#cache : new Map<string, LaidLine>();
    this.#width = width;
    this.#cache = new Map();
    this.#lines = [];
    this.#rows = 0;
    let start = 0;
    for (const line of text.split("\n")) {
      const laid = this.#cache.get(line) ?? old.get(line) ??
        new LineBreaker(width, this.#special).lay(line);
      this.#cache.set(line, laid);
      this.#lines.push({ start, row: this.#rows, laid });
      this.#rows += laid.rows.length;
      start += line.length + 1;
    }
  }

  /** Forgets how lines were broken: some characters are shown as something else now. */
  clear(): void {
    this.#cache.clear();
  }

  /** The text of some rows. */
  shown(first: number, count: number): string[] {
    return this.#lines
      .filter(({ row, laid }) => row < first + count && row + laid.rows.length > first)
      .flatMap(({ row, laid }) => laid.rows.slice(Math.max(0, first - row), first + count - row))
      .map(({ shown }) => shown);
  }

  cellOf(offset: number): Cell {
    const { start, row, laid } = this.#line((each) => each.start <= offset);
    const index = Math.max(0, laid.rows.findLastIndex((each) => start + each.start <= offset));
    return { row: row + index, column: laid.columns[indexOf(laid.offsets, offset - start)] ?? 0 };
  }

  /** The offset of the character in a cell; in a row that has no such cell, of its last one. */
  offsetAt({ row, column }: Cell): number {
    const line = this.#line((each) => each.row <= row);
    const { rows, offsets, columns } = line.laid;
    const from = indexOf(offsets, rows[row - line.row]?.start ?? 0);
    const next = rows[row - line.row + 1];
    const end = next ? indexOf(offsets, next.start) : offsets.length;
    let at = from;
    while (at + 1 < end && (columns[at + 1] ?? 0) <= column) at++;
    return line.start + (offsets[at] ?? 0);
  }

  #line(isBefore: (line: PlacedLine) => boolean): PlacedLine {
    return this.#lines.findLast(isBefore) ?? { start: 0, row: 0, laid: EMPTY };
  }
}

const EMPTY: LaidLine = { rows: [{ start: 0, shown: "" }], offsets: [0], columns: [0] };

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

/** Breaks one line. */
class LineBreaker {
  readonly #width: number;
  readonly #special: Special;
  readonly #rows: Row[] = [];
  readonly #offsets: number[] = [];
  readonly #columns: number[] = [];
  readonly #shown: string[] = [];
  /** Indexes of the first character of the row, and of the one before which it may be broken. */
  #first = 0;
  #start = 0;
  #mayBreak = 0;
  #column = 0;

  constructor(width: number, special: Special) {
    this.#width = width;
    this.#special = special;
  }

  lay(line: string): LaidLine {
    let start = 0;
    for (const end of characterEnds(line)) {
      this.#add(line.slice(start, end), start);
      start = end;
    }
    // The caret behind the last character needs a cell too.
    if (this.#column > this.#width) this.#breakBefore(this.#offsets.length, start);
    this.#close(this.#offsets.length);
    this.#offsets.push(start);
    this.#columns.push(this.#column);
    return { rows: this.#rows, offsets: this.#offsets, columns: this.#columns };
  }

  #add(character: string, offset: number): void {
    const index = this.#offsets.length;
    const isBlank = character === " " || character === "\t";
    let { shown, width } = this.#glyph(character);
    if (isBlank ? this.#column > this.#width : this.#column > 0 && this.#column + width > this.#width) {
      const isWide = width > 1;
      this.#breakBefore(isWide || isBlank || this.#mayBreak === this.#first ? index : this.#mayBreak, offset);
      if (character === "\t") ({ shown, width } = this.#glyph(character));
    }
    this.#offsets.push(offset);
    this.#columns.push(this.#column);
    this.#shown.push(shown);
    this.#column += width;
    if (isBlank || width > 1) this.#mayBreak = index + 1;
  }

  /** Ends the row before a character; those behind it move to the next row. */
  #breakBefore(index: number, offset: number): void {
    this.#close(index);
    const moved = this.#columns[index] ?? this.#column;
    for (let at = index; at < this.#columns.length; at++) {
      this.#columns[at] = (this.#columns[at] ?? 0) - moved;
    }
    this.#column -= moved;
    this.#first = index;
    this.#mayBreak = index;
    this.#start = this.#offsets[index] ?? offset;
  }

  #close(index: number): void {
    this.#rows.push({ start: this.#start, shown: this.#shown.slice(this.#first, index).join("") });
  }

  #glyph(character: string): Glyph {
    if (character === "\t") {
      const width = Math.min(TAB - this.#column % TAB, Math.max(1, this.#width - this.#column));
      return { shown: " ".repeat(width), width };
    }
    const special = this.#special(character, this.#width);
    if (special) return special;
    const shown = shownCharacter(character);
    return { shown, width: characterWidth(shown) };
  }
}
