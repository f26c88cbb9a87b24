import { BLANK, type Cell, lineCells, LINK_END, RESET } from "./line.ts";
import { PacedScreen, printedRows } from "./screen.ts";
import type { Frame, View } from "./view.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { displayWidth } from "../../../util/display_width.ts";

export interface FullScreenOptions {
  /** Clicks are reported; the terminal's own selection needs a modifier then. */
  readonly mouse: boolean;
  /** Lines to print on the main screen when the program fails. */
  readonly goodbye: () => readonly string[];
}

/** A row as it was written. */
interface Row {
  readonly line: string;
  readonly cells: readonly Cell[];
}

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
  /** The first rows of the screen; those below have an unknown content. */
  #rows: readonly Row[] = [];
  /** It may be another one before its change is reported. */
  #size = { columns: 0, rows: 0 };
  #caret: Frame["caret"];
  /** Leaves the alternate screen; undefined on the main screen. */
  #leave: string | undefined;

  constructor(terminal: Terminal, view: View, options: FullScreenOptions) {
    super(terminal, view);
    this.#options = options;
  }

  protected forgetSize(): void {
    this.#rows = [];
  }

  protected repaint(): void {
    this.#rows = this.#rows.slice(0, this.#caret?.row ?? 0);
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
    if (columns !== this.#size.columns || rows !== this.#size.rows) this.#rows = [];
    this.#size = { columns, rows };
    const old = this.#rows;
    this.#rows = Array.from({ length: rows }, (_, at) => {
      const line = frame.lines[at] ?? "";
      const was = old[at];
      return was?.line === line ? was : { line, cells: lineCells(line, columns) };
    });
    const changes = this.#rows.map((row, at) =>
      row === old[at] ? "" : rowChange(at, old[at]?.cells, row.cells)
    );
    return this.#held(text + changes.join(""), frame.caret);
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
      row: Math.min(caret.row, this.#size.rows - 1),
      column: Math.min(caret.column, this.#size.columns - 1),
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
  #column = -1;
  /** It may be in another one, since terminals differ; on those that join nothing it is. */
  #sure: "yes" | "no" | "wrong" = "yes";
  #style = "";

  constructor(row: number) {
    this.#row = row;
  }

  /** Returns the number of cells that the text takes at most. */
  write(column: number, { text, style }: Cell, width: number): number {
    const isSure = CERTAIN.test(text);
    const most = isSure ? width : Math.max(width, widthInParts(text));
    const isThere = this.#sure === "yes" || (this.#sure === "no" && !isSure);
    if (column !== this.#column || !isThere) this.#moveTo(column);
    if (style !== this.#style) this.#text += this.#styleEnd() + style;
    this.#style = style;
    // A terminal that draws it narrower leaves the cells behind it.
    if (!isSure && width > 1) this.#text += `${" ".repeat(width)}\x1b[${column + 1}G`;
    this.#text += text;
    this.#sure = isSure ? "yes" : most > width ? "wrong" : "no";
    this.#column = column + width;
    return most;
  }

  /** The text, with the rest of the row cleared from a column on. */
  cleared(column: number): string {
    this.#text = this.ended();
    if (column !== this.#column || this.#sure !== "yes") this.#moveTo(column);
    return `${this.#text}\x1b[K`;
  }

  ended(): string {
    const text = this.#text + this.#styleEnd();
    this.#style = "";
    return text;
  }

  #moveTo(column: number): void {
    this.#text += this.#column < 0 ? to(this.#row, column) : `\x1b[${column + 1}G`;
    this.#column = column;
    this.#sure = "yes";
  }

  #styleEnd(): string {
    if (this.#style === "") return "";
    return (this.#style.includes("\x1b]8;") ? LINK_END : "") + RESET;
  }
}
