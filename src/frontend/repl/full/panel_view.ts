import type { Frame } from "../screen/view.ts";

/** A panel of the full-screen view. The layout pads its lines, and draws titles and borders. */
export interface PanelView {
  /** Of the title line: name, counts, filters. */
  title(columns: number): string;
  /** At most `rows` lines of at most `columns` cells. */
  frame(columns: number, rows: number): Frame;
  /** Handles a key of the focused panel; false: it is not for it. */
  key(key: string): boolean;
  /** Moves to the next match of a text in a direction; false: there is none. An empty text ends the search. */
  find(text: string, direction: 1 | -1): boolean;
  /** The text that `y` copies. */
  copied(): string | undefined;
  /** For the status line. */
  hints(): readonly string[];
  click?(row: number): void;
}
