import type { EventOf } from "../../../core/mod.ts";
import { displayWidth, fitDisplay } from "../../../util/display_width.ts";
import { oneLine } from "../../../util/terminal_text.ts";
import { checklistLine, type Palette, wrapText } from "../../../view/mod.ts";
import { rowsOfLine } from "./rows.ts";
import type { TranscriptTexts } from "./texts.ts";

type Item = EventOf<"todo.update">["items"][number];

/** Items that are shown above the composer. */
const LIVE_ITEMS = 8;

/** The todo list: live above the composer as long as something is to be done, printed where it changed. */
export class TodoList {
  readonly #palette: Palette;
  #items: readonly Item[] = [];

  constructor(palette: Palette) {
    this.#palette = palette;
  }

  /** Takes the list as it is now; the items that are new or finished, as rows for the history. */
  update(items: readonly Item[]): ((columns: number) => string[]) | undefined {
    const known = new Map(this.#items.map(({ content, status }) => [content, status]));
    const fresh = items.some(({ content }) => !known.has(content));
    const changed = fresh
      ? items
      : items.filter(({ content, status }) => status === "completed" && known.get(content) !== "completed");
    this.#items = items;
    if (changed.length === 0) return undefined;
    return (columns) =>
      changed.flatMap((item) => wrapText(this.#line(item), columns, displayWidth, "    "))
        .flatMap((line) => rowsOfLine(line, columns));
  }

  clear(): void {
    this.#items = [];
  }

  live(columns: number, rows: number, texts: TranscriptTexts): string[] {
    const done = this.#items.filter(({ status }) => status === "completed").length;
    if (done === this.#items.length || rows < 2) return [];
    const most = Math.min(LIVE_ITEMS, rows - 1);
    // What is being done stays in view: finished items are left out first.
    const open = this.#items.filter(({ status }) => status !== "completed");
    const shown = this.#items.length <= most ? this.#items : open.slice(0, most - 1);
    const more = this.#items.length - shown.length;
    return [
      this.#palette.bold(texts.todo(done, this.#items.length)),
      ...shown.map((item) => this.#line(item)),
      ...(more > 0 ? [this.#palette.dim(texts.moreTodos(more))] : []),
    ].slice(0, rows).map((line) => fitDisplay(line, columns));
  }

  #line(item: Item): string {
    const line = oneLine(checklistLine(item), 500);
    if (item.status === "completed") return this.#palette.dim(line);
    return item.status === "in_progress" ? this.#palette.accent(line) : line;
  }
}
