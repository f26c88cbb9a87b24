import { fitDisplay } from "../../../util/display_width.ts";
import { TextBuffer } from "./buffer.ts";
import { characterWidth } from "./characters.ts";
import { Layout } from "./layout.ts";
import { type PartLabel, Parts, type Piece } from "./parts.ts";

export interface DraftTextOptions {
  readonly label: PartLabel;
  /** Colours the mark of a part. */
  readonly mark: (text: string) => string;
}

/** The rows of a draft that are shown, and where its caret is among them. */
export interface DraftWindow {
  readonly rows: readonly string[];
  readonly caret: { readonly row: number; readonly column: number };
  /** Rows that are not shown, above and below. */
  readonly above: number;
  readonly below: number;
}

/** What is being written: a text with parts in it, laid out for a width. */
export class DraftText {
  readonly buffer = new TextBuffer();
  readonly #parts: Parts;
  readonly #layout: Layout;
  #width = 80;
  #first = 0;
  /** The column to which the caret returns in longer rows; known while it moves up and down. */
  #wanted: { readonly column: number; readonly at: number } | undefined;

  constructor({ label, mark }: DraftTextOptions) {
    this.#parts = new Parts(label);
    this.#layout = new Layout((character, most) => {
      const text = this.#parts.labelOf(character);
      if (text === undefined) return undefined;
      const shown = fitDisplay(text, most);
      return { shown: mark(shown), width: [...shown].reduce((sum, each) => sum + characterWidth(each), 0) };
    });
  }

  get empty(): boolean {
    return this.buffer.text === "";
  }

  get pieces(): readonly Piece[] {
    return this.#parts.pieces(this.buffer.text);
  }

  /** The text for an editor. */
  get editable(): string {
    return this.#parts.editable(this.buffer.text);
  }

  /** Puts something else in place of all; undo brings the old draft back. */
  replaceAll(pieces: readonly Piece[]): void {
    this.#put(this.#parts.marked(pieces));
  }

  /** Takes what an editor has made of `editable`. */
  edited(text: string): void {
    this.#put(this.#parts.remarked(text, this.buffer.text));
  }

  insert(pieces: readonly Piece[]): void {
    const { caret, text } = this.buffer;
    this.buffer.replace(caret, caret, this.#parts.marked(pieces, text));
  }

  /** Begins a new draft: nothing of the old one can be undone. */
  reset(): void {
    this.buffer.reset();
    this.#parts.keepOnly(this.buffer.killed);
    this.#layout.clear();
  }

  /** Moves the caret to the row above or below; false when there is none. */
  moveRow(by: 1 | -1): boolean {
    this.#layout.update(this.buffer.text, this.#width);
    const { row, column } = this.#layout.cellOf(this.buffer.caret);
    const wanted = this.#wanted?.at === this.buffer.caret ? this.#wanted.column : column;
    if (row + by < 0 || row + by >= this.#layout.rows) return false;
    this.buffer.caret = this.#layout.offsetAt({ row: row + by, column: wanted });
    this.#wanted = { column: wanted, at: this.buffer.caret };
    return true;
  }

  /** The rows around the caret. */
  window(width: number, most: number): DraftWindow {
    this.#width = width;
    this.#layout.update(this.buffer.text, width);
    const { row, column } = this.#layout.cellOf(this.buffer.caret);
    const count = Math.min(most, this.#layout.rows);
    this.#first = Math.min(Math.max(this.#first, row - count + 1), row, this.#layout.rows - count);
    return {
      rows: this.#layout.shown(this.#first, count),
      caret: { row: row - this.#first, column },
      above: this.#first,
      below: this.#layout.rows - count - this.#first,
    };
  }

  #put(text: string): void {
    this.buffer.replace(0, this.buffer.text.length, text);
  }
}
