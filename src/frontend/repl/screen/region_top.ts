import type { Terminal } from "../terminal/terminal.ts";
import { rowOf, rowsOf } from "./line.ts";

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
  const above = live.slice(0, row).reduce((sum, line) => sum + rowsOf(line, columns), 0);
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
