import { lineChange, rowCount, rowOf } from "./line.ts";
import type { Terminal } from "../terminal/terminal.ts";

/** The live region as it was written, with the cursor in it; without a column it is hidden at the left. */
export interface Standing {
  readonly live: readonly string[];
  readonly row: number;
  readonly column?: number;
}

/** A line of history, and the width for which it was made. */
export interface PrintedLine {
  readonly line: string;
  readonly columns: number;
}

/** The newest frame: what it made of the region before. */
export interface LastFrame {
  readonly before: Standing;
  /** It began by erasing that region: so many rows it went up. All of it was written again. */
  readonly erased?: number | undefined;
  /** Lines of history that it wrote above the region, and the rows they took. */
  readonly printed: readonly PrintedLine[];
  readonly rows: number;
}

/** A terminal that has become so wide, and how it treats lines that are there. */
interface Width {
  readonly columns: number;
  readonly reflow: Terminal["reflow"];
}

/** Rows between the top of the region and the cursor, in a terminal that was given this width afterwards. */
function rowsAbove({ live, row, column = 0 }: Standing, { columns, reflow }: Width): number {
  if (reflow === "none") return row;
  const above = live.slice(0, row).reduce((sum, line) => sum + rowCount(line, columns), 0);
  return reflow === "all" ? above + rowOf(live[row] ?? "", column, columns) : above;
}

/**
 * Rows between the top of the region before the newest frame and the cursor, where the terminal took that
 * frame with another width than it was made for, and its printed lines have to be written again: they were
 * cut at that width, below rows that had been wrapped. Undefined where they are right, or have left a screen
 * of so many rows.
 */
export function rowsToPrintAgain(
  now: Standing,
  last: LastFrame,
  taken: Terminal["lastTaken"],
  width: Width & { readonly rows: number },
): number | undefined {
  const { printed, rows } = last;
  if (taken !== "after" || printed.length === 0) return undefined;
  const above = rowsPassed(last, width) + rows + now.row;
  return rows + now.live.length <= width.rows ? above : undefined;
}

/** Rows of the region before that stay above what a frame wrote, since they had been wrapped. */
function rowsPassed({ before, erased }: LastFrame, width: Width): number {
  return Math.max(0, rowsAbove(before, width) - (erased ?? before.row));
}

/**
 * Rows between the top of the region and the cursor, now that the terminal is `columns` wide. It wraps what
 * it has, but not what comes afterwards: then each line takes one row, and movements count such rows. Where
 * nobody knows which of the two a frame was, it is the least that can be: what is left over can be seen, and
 * what was erased above the region would be lost.
 */
export function rowsToTop(
  now: Standing,
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
 * Moves the cursor down, or up when negative; its column may be another one afterwards. Where the screen has
 * become lower and nobody knows it yet, rows below its end come into being: a movement that stopped there
 * would make all that follow count from a wrong row.
 */
export function vertical(rows: number): string {
  if (rows >= 0) return "\n".repeat(rows);
  return `\x1b[${rows === -1 ? "" : -rows}A`;
}

/** Moves the cursor to a column of its row. */
export function horizontal(column: number): string {
  return column === 0 ? "\r" : `\x1b[${column + 1}G`;
}

/** More rows than these are not worth moving the rows below them. */
const MOVED_ROWS = 5;

interface Region {
  /** The rows as they are on the screen. */
  readonly old: readonly string[];
  /** The rows as they shall be, from the same top on. */
  readonly lines: readonly string[];
  /** Row that the cursor is in. */
  readonly row: number;
  /** Height of the screen. */
  readonly rows: number;
}

/** Text that makes rows of the screen into others, and the row in which it leaves the cursor. */
interface Update {
  readonly text: string;
  readonly row: number;
}

/**
 * Makes a region at the end of the screen into another one with few bytes: rows that stay are not written,
 * rows that only move are moved by the terminal, rows that change are written from their first change on.
 * What leaves the screen at its top becomes history.
 */
export function updateRegion({ old, lines, row, rows }: Region): Update {
  const most = Math.min(old.length, lines.length);
  let before = 0;
  while (before < most && old[before] === lines[before]) before++;
  if (before === lines.length && before === old.length) return { text: "", row };
  // Rows that have left the screen cannot be written any more: then in order, each row before it leaves.
  // Many rows as well: that is right even when the screen has just become lower and nobody knows it yet.
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

/** Writes all rows from the first that changes; those that have no room scroll the screen. */
function inOrder({ old, lines, row }: Region, first: number): Update {
  const start = Math.min(first, Math.max(0, old.length - 1));
  const text = lines.slice(start).map((line, index) => start + index < old.length ? `\x1b[K${line}` : line);
  return { text: `${vertical(start - row)}\r${text.join("\r\n")}`, row: lines.length - 1 };
}

/** Writes at places of a region and knows where the cursor is. */
class Pen {
  #text = "";
  #row: number;
  /** Rows of the region that exist on the screen. */
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

  /** Makes room before a row; the rows from there on move down, if need be the screen scrolls. */
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
