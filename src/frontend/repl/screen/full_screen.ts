import { BLANK, type Cell, lineCells, LINK_END, RESET } from "./line.ts";
import { PacedScreen, printedRows } from "./screen.ts";
import type { Frame, View } from "./view.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { displayWidth } from "../../../util/display_width.ts";

export interface FullScreenOptions {
  /** Clicks are reported; the terminal's own selection needs a modifier then. */
  readonly mouse: boolean;
  /** Lines to print on the main screen when the program stops or fails. */
  readonly goodbye: () => readonly string[];
}

/** A row as it was written. Without cells its content is unknown. */
interface Row {
  readonly line: string;
  readonly cells?: readonly Cell[];
}

/** Unchanged cells between two changed ones that are written again, since a movement needs as many bytes. */
const GAP = 4;
/** A longer text is compared with one that moves rows first. */
const LONG_TEXT = 200;
/** Characters whose width is the same on all terminals and that join with no other. */
const CERTAIN = /^[\x20-\x7e\u3000-\ua4cf\uac00-\ud7a3\uff01-\uff60\u{1f300}-\u{1f3fa}\u{1f400}-\u{1f64f}]$/u;

/**
 * The alternate screen of a terminal, which shows the frames of a view and nothing else; the main screen
 * stays as it was.
 *
 * Contract: the frame has one line for each row. A frame writes only the cells that have changed, and a
 * wide character only as a whole.
 */
export class FullScreen extends PacedScreen {
  readonly #options: FullScreenOptions;
  #rows: readonly Row[] = [];
  #columns = 0;
  #caret: Frame["caret"];
  /** Leaves the alternate screen; undefined on the main screen. */
  #leave: string | undefined;

  constructor(terminal: Terminal, view: View, options: FullScreenOptions) {
    super(terminal, view);
    this.#options = options;
  }

  /** Writes every row again. */
  redraw(): void {
    this.forgetSize();
    this.draw();
  }

  override stopJob(): Promise<void> {
    return super.stopJob(this.#options.goodbye());
  }

  protected get more(): boolean {
    return false;
  }

  protected forgetSize(): void {
    this.#rows = [];
  }

  protected repaint(): void {
    const row = this.#caret?.row ?? 0;
    this.#rows = this.#rows.map((each, at) => at < row ? each : { line: each.line });
  }

  protected forget(): void {
    this.forgetSize();
    this.#leave = this.terminal.abandoned = undefined;
  }

  protected erased(): string {
    // Where there is no alternate screen the rows would stay.
    return `${this.#leave === undefined ? "" : `\x1b[H\x1b[C\x1b[J\r\x1b[K${this.#leave}`}\x1b[?25h`;
  }

  protected update(): string {
    const { columns, rows } = this.terminal;
    const frame = this.view.frame(columns, rows);
    const text = this.#entered();
    if (columns !== this.#columns || rows !== this.#rows.length) this.#rows = [];
    this.#columns = columns;
    const old = this.#rows;
    const known = new Map(old.flatMap(({ line, cells }) => cells ? [[line, cells] as const] : []));
    const now = Array.from({ length: rows }, (_, at): Row => {
      const line = frame.lines[at] ?? "";
      const was = old[at];
      if (was?.cells && was.line === line) return was;
      // Many rows are equal, or have only moved.
      const cells = known.get(line) ?? lineCells(line, columns);
      known.set(line, cells);
      return { line, cells };
    });
    this.#rows = now;
    return this.#held(text + changes(old, now), frame.caret);
  }

  /** Text that enters the alternate screen where the main screen is shown. */
  #entered(): string {
    if (this.#leave !== undefined) return "";
    const { enter, leave } = this.terminal.alternate(this.#options.mouse);
    this.#leave = leave;
    this.#caret = { row: 0, column: 0 };
    this.terminal.abandoned = () => this.#abandoned();
    return enter;
  }

  /** The program may have failed because of what it would print. */
  #abandoned(): string {
    let rows = "";
    try {
      rows = printedRows(this.#options.goodbye(), this.terminal.columns);
    } catch { /* the screen is restored without it */ }
    return this.erased() + rows;
  }

  #held(text: string, caret: Frame["caret"]): string {
    const old = this.#caret;
    this.#caret = caret && {
      row: Math.min(caret.row, this.#rows.length - 1),
      column: Math.min(caret.column, this.#columns - 1),
    };
    if (text === "" && old?.row === this.#caret?.row && old?.column === this.#caret?.column) return "";
    const way = this.#caret ? to(this.#caret.row, this.#caret.column) : "";
    return this.asUpdate(text, way, old !== undefined, caret !== undefined);
  }
}

/** Moves the cursor to a cell. */
function to(row: number, column: number): string {
  return `\x1b[${row + 1}${column === 0 ? "" : `;${column + 1}`}H`;
}

function isSame(one: Cell | undefined, other: Cell | undefined): boolean {
  return one === other || (one?.text === other?.text && one?.style === other?.style);
}

/** Text that changes the rows of the screen; where that is shorter, rows are moved first. */
function changes(old: readonly Row[], rows: readonly Row[]): string {
  const inPlace = rowChanges(old, rows);
  const moved = inPlace.length > LONG_TEXT ? movedRows(old, rows) : undefined;
  const text = moved && moved.text + rowChanges(moved.rows, rows);
  return text !== undefined && text.length < inPlace.length ? text : inPlace;
}

function rowChanges(old: readonly Row[], rows: readonly Row[]): string {
  return rows.map((row, at) => {
    const was = old[at];
    return was?.cells && was.line === row.line ? "" : rowChange(at, was?.cells, row.cells ?? []);
  }).join("");
}

/** Moves up the rows that are found further below; the rows below them are blank then. */
function movedRows(old: readonly Row[], rows: readonly Row[]) {
  const changed = rows.flatMap(({ line }, at) => line === old[at]?.line ? [] : [at]);
  const samples = [1, 2, 3].map((part) => changed[Math.floor(changed.length * part / 4)] ?? 0);
  let [by, most] = [0, 0];
  for (let each = 0; each <= rows.length / 2; each++) {
    const found = samples.reduce((sum, at) => sum + sameCells(old[at + each], rows[at]), 0);
    if (found > most) [by, most] = [each, found];
  }
  if (by === 0) return undefined;
  // The part of the screen where it saves the most.
  let [gain, from, best, top, bottom] = [0, 0, 0, 0, 0];
  for (let at = 0; at + by < rows.length; at++) {
    gain += sameCells(old[at + by], rows[at]) - sameCells(old[at], rows[at]);
    if (gain <= 0) [gain, from] = [0, at + 1];
    else if (gain > best) [best, top, bottom] = [gain, from, at + by];
  }
  if (best === 0) return undefined;
  const blank = { line: "", cells: lineCells("", rows[0]?.cells?.length ?? 0) };
  return {
    text: `\x1b[${top + 1};${bottom + 1}r${to(top, 0)}\x1b[${by}M\x1b[r`,
    rows: [
      ...old.slice(0, top),
      ...old.slice(top + by, bottom + 1),
      ...new Array<Row>(by).fill(blank),
      ...old.slice(bottom + 1),
    ],
  };
}

function sameCells(one: Row | undefined, other: Row | undefined): number {
  let same = 0;
  const { length = 0 } = one?.cells ?? [];
  for (let at = 0; at < length; at++) if (isSame(one?.cells?.[at], other?.cells?.[at])) same++;
  return same;
}

/** Text that changes a row; everything is written where its content is unknown. */
function rowChange(row: number, old: readonly Cell[] | undefined, cells: readonly Cell[]): string {
  let end = cells.length;
  while (end > 0 && isSame(cells[end - 1], BLANK)) end--;
  const pen = new Pen(row);
  // Cells that a character has covered on a terminal that shows its parts one by one.
  let covered = 0;
  for (let at = 0; at < cells.length; at++) {
    if (old && at >= covered && isSame(old[at], cells[at])) continue;
    if (at >= end) return pen.cleared(at);
    const cell = cells[at] ?? BLANK;
    // What is left of a character is not seen, and belongs to what was written.
    if (cell.text === "") continue;
    if (at > pen.column && at - pen.column <= GAP) {
      const gap = cells.slice(pen.column, at);
      if (gap.every(({ text, style }) => style === pen.style && CERTAIN.test(text))) {
        for (const each of gap) pen.write(pen.column, each, 1);
      }
    }
    let next = at + 1;
    while (next < cells.length && cells[next]?.text === "") next++;
    covered = Math.max(covered, at + pen.write(at, cell, next - at));
  }
  return pen.ended();
}

/** Cells of a character on a terminal that joins nothing. */
function widthInParts(text: string): number {
  return [...text].reduce((sum, part) => sum + displayWidth(part), 0);
}

/** Writes cells of a row and tracks the cursor. */
class Pen {
  readonly #row: number;
  #text = "";
  /** The column of the cursor; -1 where it is not in the row. */
  column = -1;
  /** The cursor may be in another column, since terminals differ. */
  #unsure = false;
  /** It is in another column on terminals that join nothing. */
  #wrong = false;
  style = "";

  constructor(row: number) {
    this.#row = row;
  }

  /** Returns the number of cells that the text takes at most. */
  write(column: number, { text, style }: Cell, width: number): number {
    const isSure = CERTAIN.test(text);
    const most = isSure ? width : Math.max(width, widthInParts(text));
    if (column !== this.column || this.#wrong || (this.#unsure && isSure)) this.#moveTo(column);
    if (style !== this.style) this.#text += this.#styleEnd() + style;
    this.style = style;
    // A terminal that draws it narrower leaves the cells behind it.
    if (!isSure && width > 1) this.#text += `${" ".repeat(width)}\x1b[${column + 1}G`;
    this.#text += text;
    this.#unsure = !isSure;
    this.#wrong = most > width;
    this.column = column + width;
    return most;
  }

  /** The text, with the rest of the row cleared from a column on. */
  cleared(column: number): string {
    const text = this.ended();
    if (column === this.column && !this.#unsure) return `${text}\x1b[K`;
    this.#text = text;
    this.#moveTo(column);
    return `${this.#text}\x1b[K`;
  }

  ended(): string {
    const text = this.#text + this.#styleEnd();
    this.style = "";
    return text;
  }

  #moveTo(column: number): void {
    this.#text += this.column < 0 ? to(this.#row, column) : `\x1b[${column + 1}G`;
    this.column = column;
    this.#unsure = this.#wrong = false;
  }

  #styleEnd(): string {
    if (this.style === "") return "";
    return (this.style.includes("\x1b]8;") ? LINK_END : "") + RESET;
  }
}
