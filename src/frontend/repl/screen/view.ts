import type { InputEvent } from "../terminal/terminal.ts";
import { displayWidth } from "../../../util/display_width.ts";

/** The content of a view: lines that fit the width, and the cell of the caret if it has one. */
export interface Frame {
  readonly lines: readonly string[];
  readonly caret?: { readonly row: number; readonly column: number };
}

export interface View {
  /** The lines for a width, at most `rows` of them. */
  frame(columns: number, rows: number): Frame;
}

/** Stacks frames vertically; the caret is that of the last frame that has one. */
export function stack(frames: readonly Frame[]): Frame {
  const lines: string[] = [];
  let caret: Frame["caret"];
  for (const frame of frames) {
    if (frame.caret) caret = { row: lines.length + frame.caret.row, column: frame.caret.column };
    lines.push(...frame.lines);
  }
  return caret ? { lines, caret } : { lines };
}

/** Joins frames of the same height side by side, with a border between each two; the caret as in `stack`. */
export function sideBySide(frames: readonly Frame[], border: (row: number) => string): Frame {
  let caret: Frame["caret"];
  let from = 0;
  for (const frame of frames) {
    if (frame.caret) caret = { row: frame.caret.row, column: from + frame.caret.column };
    from += displayWidth((frame.lines[0] ?? "") + border(0));
  }
  const lines = frames[0]?.lines.map((_, row) => frames.map(({ lines }) => lines[row]).join(border(row))) ??
    [];
  return caret ? { lines, caret } : { lines };
}

/** Joins hints into as few rows as possible; a hint is not broken where it fits a row. */
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

/** A part of a panel, and the number of rows that it is raised to. */
type Grant<P extends string> = readonly [part: P, upTo: number];

/**
 * Distributes rows: each grant raises its part to that many rows while any are left. The most important
 * grants come first; a part may have several.
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
 * A view that takes keys until it is answered; it replaces the composer.
 *
 * Contract: only Enter answers, and where it must not, the letter of the selected entry. Other text is passed
 * to `input` where the overlay wants it, else to `select`.
 */
export interface Overlay<T> extends View {
  input(event: InputEvent): void;
  /** It uses this text to filter, search or write. */
  wants(text: string): boolean;
  /**
   * Selects the entry of a letter or digit, or marks one with a blank; returns the undo, or undefined
   * without an entry.
   */
  select?(text: string): (() => void) | undefined;
  /** Answers with the selected entry where Enter does not and this is its letter; false otherwise. */
  confirm?(text: string): boolean;
  /** Answers at once with the entry of a key, where that is safe; false without one. */
  answerBy?(key: string): boolean;
  /** Resolves once; with undefined when it is left without an answer. */
  readonly answer: Promise<T | undefined>;
  cancel(): void;
}
