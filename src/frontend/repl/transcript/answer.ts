import { type Block, MarkdownBlocks, type Palette } from "../../../view/mod.ts";
import { CodeLines, codeRows, type PrintedPieces } from "./printed_pieces.ts";
import { rowsOfLine } from "./rows.ts";

/**
 * The answer of the model as it streams. Blocks that are complete go to the history; the open one is live.
 * Where it is higher than its room its upper part goes to the history as far as it can no longer change: the
 * lines of fenced code, the items of a list but the last. Of a paragraph and a table, which the next
 * character may change as a whole, the last rows are shown until they are complete.
 */
export class Answer {
  readonly #history: PrintedPieces;
  readonly #palette: Palette;
  #blocks = new MarkdownBlocks();
  #code: CodeLines | undefined;
  /** Lines of the open code that are in the history. */
  #printed = 0;
  #room = Infinity;
  /** The rows of the open block, as long as it is the same. */
  #cached: { readonly key: string; readonly rows: readonly string[] } | undefined;

  constructor(history: PrintedPieces, palette: Palette) {
    this.#history = history;
    this.#palette = palette;
  }

  push(text: string): void {
    for (const block of this.#blocks.push(text)) this.#complete(block);
    const { open } = this.#blocks;
    if (open?.code) {
      const { info, lines } = open.code;
      this.#cutCode(lines, info, this.#code ??= new CodeLines(info));
    } else {
      const items = this.#blocks.takeItems(this.#room);
      if (items) this.#history.block(items);
    }
  }

  /** The message is over. */
  end(): void {
    const rest = this.#blocks.end();
    if (rest) this.#complete(rest);
  }

  /** Nothing of what was not printed counts. */
  drop(): void {
    this.#blocks.end();
    [this.#code, this.#printed] = [undefined, 0];
  }

  /** The last rows of the open block. */
  live(columns: number, rows: number): readonly string[] {
    // A row is left for what else is going on.
    this.#room = Math.max(2, rows - 2);
    const { open } = this.#blocks;
    if (!open || rows <= 0) return [];
    const parts = this.#history.partsFrom("text", open.follows || this.#printed > 0);
    return [...(parts ? [""] : []), ...this.#rows(open, columns)].slice(-rows);
  }

  #rows(open: Block, columns: number): readonly string[] {
    const { renderer } = this.#history;
    if (open.code) {
      const code = this.#code ??= new CodeLines(open.code.info);
      const view = { columns, palette: this.#palette, printed: this.#printed };
      return codeRows(open.code.lines, code, renderer, view);
    }
    const key = `${columns} ${renderer !== undefined} ${open.source}`;
    if (this.#cached?.key !== key) {
      const lines = renderer?.render(open.source, columns) ?? open.source.split("\n");
      this.#cached = { key, rows: lines.flatMap((line) => rowsOfLine(line, columns)) };
    }
    return this.#cached.rows;
  }

  #cutCode(lines: readonly string[], info: string, code: CodeLines): void {
    // The last line may not be whole.
    const to = Math.min(lines.length - 1, lines.length - this.#room);
    if (to <= this.#printed) return;
    const block = { source: `\`\`\`${info}`, code: { info, lines: lines.slice(0, to) } };
    this.#history.block(block, { code, printed: this.#printed, open: true });
    this.#printed = to;
  }

  #complete(block: Block): void {
    this.#history.block(block, {
      printed: this.#printed,
      ...(this.#code ? { code: this.#code } : {}),
    });
    [this.#code, this.#printed] = [undefined, 0];
  }
}
