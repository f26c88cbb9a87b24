import { displayWidth } from "../../../util/display_width.ts";

/** Hints in as few rows as they fit in; none is broken where it fits a row. */
export function hintRows(hints: readonly string[], columns: number): string[] {
  const rows: string[] = [];
  let row = "";
  for (const hint of hints) {
    const longer = row === "" ? hint : `${row} · ${hint}`;
    if (row !== "" && displayWidth(longer) > columns) {
      rows.push(row);
      row = hint;
    } else row = longer;
  }
  return row === "" ? rows : [...rows, row];
}

/** A part of a panel: rows that it gets in one go, up to a number. */
export type Grant<P extends string> = readonly [part: P, upTo: number];

/**
 * Deals out rows to the parts of a panel: each grant raises its part to that many rows as long as there are
 * any left. The most important grants come first; a part may come several times.
 */
export function dealRows<P extends string>(rows: number, grants: readonly Grant<P>[]): Record<P, number> {
  const given = Object.fromEntries(grants.map(([part]) => [part, 0])) as Record<P, number>;
  let left = rows;
  for (const [part, upTo] of grants) {
    const more = Math.max(0, Math.min(upTo - given[part], left));
    given[part] += more;
    left -= more;
  }
  return given;
}
