import type { Frame } from "../screen/view.ts";

/**
 * A panel of the full-screen view.
 *
 * Contract: `frame` returns at most `rows` lines of at most `columns` cells; the layout pads them and draws
 * titles and borders. Cursor, collapsed entries, search and filter stay as they are while it is not drawn.
 */
export interface PanelView {
  /** The text of its title line: name, counts, filters, new lines. */
  title(): string;
  frame(columns: number, rows: number): Frame;
  /** Handles a key of the focused panel, named as in `parseKey`; false for all others. */
  key(key: string): boolean;
  /** Moves to the next match of a text; false without one. An empty text ends the search. */
  find(text: string, direction: 1 | -1): boolean;
  /** The text that `y` copies. */
  copied(): string | undefined;
  hints(): readonly string[];
  /** A click on a row of its last frame. */
  click?(row: number): void;
}
