import type { Terminal } from "../terminal/terminal.ts";
import { rowOf, rowsOf } from "./line.ts";

/** The live region as it was written, with the cursor in it; without a column it is hidden at the left. */
export interface Standing {
  readonly live: readonly string[];
  readonly row: number;
  readonly column?: number;
}

/** The newest frame: what it made of the region before. */
export interface LastFrame {
  readonly before: Standing;
  /** Lines of history that it wrote above the region. */
  readonly printed: number;
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
 * Rows between the top of the region and the cursor, now that the terminal is `columns` wide. It wraps what
 * it has, but not what comes afterwards: then each line takes one row, and movements count such rows. Where
 * nobody knows which of the two a frame was, it is the least that can be: what is left over can be seen, and
 * what was erased above the region would be lost.
 */
export function rowsToTop(
  now: Standing,
  { before, printed }: LastFrame,
  taken: Terminal["lastTaken"],
  width: Width,
): number {
  const earlier = rowsAbove(now, width);
  if (taken === "before") return earlier;
  // History that was written below rows that had been wrapped ends them: they stay above it.
  if (printed > 0) return Math.min(earlier, now.row);
  const later = rowsAbove(before, width) + now.row - before.row;
  if (taken === "after") return later;
  let same = 0;
  while (same < Math.min(now.row, before.row) && now.live[same] === before.live[same]) same++;
  const least = rowsAbove({ live: before.live, row: same }, width) + now.row - same;
  return Math.min(earlier, later, least);
}
