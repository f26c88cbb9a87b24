import { lineChange, rowCount, rowOf } from "./line.ts";
import type { Terminal } from "../terminal/terminal.ts";

/** The live region as it was written, with the cursor in it; without a column it is hidden at the left. */
export interface RegionState {
  readonly live: readonly string[];
  readonly row: number;
  readonly column?: number;
}

/** A printed line, and the width that it was laid out for. */
export interface PrintedLine {
  readonly line: string;
  readonly columns: number;
}

/** The newest frame and the region before it. */
export interface LastFrame {
  readonly before: RegionState;
  /** Rows that it moved up to erase that region; then everything was written again. */
  readonly erased?: number | undefined;
  /** Lines that it printed above the region, and their number of rows. */
  readonly printed: readonly PrintedLine[];
  readonly rows: number;
}

/** The new width of a terminal, and its treatment of existing lines. */
interface Width {
  readonly columns: number;
  readonly reflow: Terminal["reflow"];
}

/** Rows between the top of the region and the cursor after a change to this width. */
function rowsAbove({ live, row, column = 0 }: RegionState, { columns, reflow }: Width): number {
  if (reflow === "none") return row;
  const above = live.slice(0, row).reduce((sum, line) => sum + rowCount(line, columns), 0);
  return reflow === "all" ? above + rowOf(live[row] ?? "", column, columns) : above;
}

/**
 * Rows between the top of the region before the newest frame and the cursor, where the printed lines of that
 * frame must be written again: the terminal processed it in another width, and cut them below wrapped rows.
 * Undefined where they are right, or have left the screen.
 */
export function rowsToPrintAgain(
  now: RegionState,
  last: LastFrame,
  taken: Terminal["lastTaken"],
  width: Width & { readonly rows: number },
): number | undefined {
  const { printed, rows } = last;
  if (taken !== "after" || printed.length === 0) return undefined;
  const above = rowsPassed(last, width) + rows + now.row;
  return rows + now.live.length <= width.rows ? above : undefined;
}

/** Wrapped rows of the earlier region that stay above the rows of a frame. */
function rowsPassed({ before, erased }: LastFrame, width: Width): number {
  return Math.max(0, rowsAbove(before, width) - (erased ?? before.row));
}

/**
 * Rows between the top of the region and the cursor after a change of the width. The terminal wraps existing
 * lines but not later ones, which take one row each. Where it is unknown which of the two applies to a frame,
 * this is the minimum: left-over rows are visible, but erased rows above the region would be lost.
 */
export function rowsToTop(
  now: RegionState,
  last: LastFrame,
  taken: Terminal["lastTaken"],
  width: Width,
): number {
  const { before, erased, printed } = last;
  const earlier = rowsAbove(now, width);
  if (taken === "before") return earlier;
  // History that was written below rows that had been wrapped ends them: they stay above it.
  if (printed.length > 0) return Math.min(earlier, now.row);
  const later = rowsPassed(last, width) + now.row;
  if (taken === "after") return later;
  let same = 0;
  while (
    erased === undefined && same < Math.min(now.row, before.row) && now.live[same] === before.live[same]
  ) same++;
  const least = rowsAbove({ live: before.live, row: same }, width) + now.row - same;
  return Math.min(earlier, later, least);
}

/**
 * Moves the cursor down, or up when negative; its column may change. Newlines add rows below the end of a
 * screen that has just become lower, where a cursor movement would stop and all later rows would be wrong.
 */
export function vertical(rows: number): string {
  if (rows >= 0) return "\n".repeat(rows);
  return `\x1b[${rows === -1 ? "" : -rows}A`;
}

export function horizontal(column: number): string {
  return column === 0 ? "\r" : `\x1b[${column + 1}G`;
}

/** When more rows are inserted, the rows below are written again instead of moved. */
const MOVED_ROWS = 5;

interface Region {
  readonly old: readonly string[];
  /** The wanted rows, from the same top on. */
  readonly lines: readonly string[];
  readonly row: number;
  readonly rows: number;
}

/** Text that updates rows of the screen, and the row of the cursor afterwards. */
interface Update {
  readonly text: string;
  readonly row: number;
}

/**
 * Updates a region at the end of the screen with few bytes: unchanged rows are not written, moved rows are
 * moved by the terminal, changed rows are written from their first change on. Rows that leave the screen at
 * its top become history.
 */
export function updateRegion({ old, lines, row, rows }: Region): Update {
  const most = Math.min(old.length, lines.length);
  let before = 0;
  while (before < most && old[before] === lines[before]) before++;
  if (before === lines.length && before === old.length) return { text: "", row };
  // Rows that will leave the screen are written in order, before they leave it. Many rows as well: that works
  // even when the screen has just become lower.
  const isLow = lines.length - rows <= before && lines.length - old.length <= MOVED_ROWS;
  if (!isLow) return inOrder({ old, lines, row, rows }, before);
  let after = 0;
  while (after < most - before && old.at(-1 - after) === lines.at(-1 - after)) after++;
  const pen = new Pen(row, Math.max(1, old.length));
  const inserted = lines.length - old.length;
  const present = [...old];
  if (after > 0 && inserted > 0) {
    const at = old.length - after;
    pen.insert(at, inserted);
    present.splice(at, 0, ...Array.from({ length: inserted }, () => ""));
  } else if (after > 0 && inserted < 0) {
    const at = lines.length - after;
    pen.remove(at, -inserted);
    present.splice(at, -inserted);
  }
  for (let at = before; at < lines.length - after; at++) {
    const line = lines[at] ?? "";
    const was = present[at];
    if (was !== line) pen.change(at, was ?? "", line);
    else if (at >= pen.height) pen.change(at, "", "");
  }
  if (lines.length < present.length) pen.clearFrom(lines.length);
  return pen.update;
}

/** Writes all rows from the first changed one; the screen scrolls where there is no space. */
function inOrder({ old, lines, row }: Region, first: number): Update {
  const start = Math.min(first, Math.max(0, old.length - 1));
  const text = lines.slice(start).map((line, index) => start + index < old.length ? `\x1b[K${line}` : line);
  return { text: `${vertical(start - row)}\r${text.join("\r\n")}`, row: lines.length - 1 };
}

/** Writes in a region and tracks the cursor. */
class Pen {
  #text = "";
  #row: number;
  height: number;

  constructor(row: number, height: number) {
    this.#row = row;
    this.height = height;
  }

  get update(): Update {
    return { text: this.#text, row: this.#row };
  }

  change(row: number, old: string, line: string): void {
    this.#to(row);
    const { column, text } = lineChange(old, line);
    if (text !== "") this.#text += horizontal(column) + text;
  }

  /** Inserts empty rows before a row; the screen scrolls where there is no space. */
  insert(row: number, count: number): void {
    this.#to(this.height - 1);
    this.#text += "\n".repeat(count);
    this.#row += count;
    this.height += count;
    this.#to(row);
    this.#text += `\r\x1b[${count === 1 ? "" : count}L`;
  }

  remove(row: number, count: number): void {
    this.#to(row);
    this.#text += `\r\x1b[${count === 1 ? "" : count}M`;
    this.height -= count;
  }

  clearFrom(row: number): void {
    this.#to(row);
    this.#text += "\r\x1b[J";
  }

  #to(row: number): void {
    const present = Math.min(row, this.height - 1);
    this.#text += vertical(present - this.#row) + (row > present ? `\r${"\n".repeat(row - present)}` : "");
    this.#row = row;
    this.height = Math.max(this.height, row + 1);
  }
}
