import type { InputEvent } from "../terminal/terminal.ts";
import { displayWidth } from "../../../util/display_width.ts";

/** What a part of the screen shows: lines that fit the width, and the cell of the caret where it has one. */
export interface Frame {
  readonly lines: readonly string[];
  readonly caret?: { readonly row: number; readonly column: number };
}

/** A part of the screen. */
export interface View {
  /** The lines for a width, at most `rows` of them. Says nothing of what was shown before. */
  frame(columns: number, rows: number): Frame;
}

/** Puts frames below each other; the caret is that of the last one that has one. */
export function stack(frames: readonly Frame[]): Frame {
  const lines: string[] = [];
  let caret: Frame["caret"];
  for (const frame of frames) {
    if (frame.caret) caret = { row: lines.length + frame.caret.row, column: frame.caret.column };
    lines.push(...frame.lines);
  }
  return caret ? { lines, caret } : { lines };
}

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
type Grant<P extends string> = readonly [part: P, upTo: number];

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

/**
 * A question that takes keys until it is answered; the composer is hidden meanwhile.
 *
 * Contract: only Enter answers. Text comes to it by `input` where it wants that, else by `select`.
 */
export interface Overlay<T> extends View {
  input(event: InputEvent): void;
  /** It has its own use for this text: it filters, searches or writes. */
  wants(text: string): boolean;
  /**
   * Selects the entry that a letter or digit names, or marks one with a blank; returns what takes that back,
   * undefined without one.
   */
  select?(text: string): (() => void) | undefined;
  /** Resolves once; with undefined when it was left without an answer. */
  readonly answer: Promise<T | undefined>;
  /** Leaves it without an answer. */
  cancel(): void;
}
