import { lineChange } from "./line.ts";

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
