import { type Frame, stack } from "../screen/view.ts";
import type { InputEvent } from "../terminal/terminal.ts";
import type { PanelStyle } from "./choice_panel.ts";
import { wordRows } from "./exact_text.ts";
import type { Overlay } from "./overlay.ts";
import { dealRows, hintRows } from "./panel.ts";
import type { ScrollText } from "./scroll_text.ts";

/** A text to be read and left again. */
export class TextPanel implements Overlay<never> {
  readonly answer: Promise<undefined>;
  readonly #title: string;
  readonly #body: ScrollText;
  readonly #style: PanelStyle;
  #resolve: (value: undefined) => void = () => {};

  constructor(title: string, body: ScrollText, style: PanelStyle) {
    this.#title = title;
    this.#body = body;
    this.#style = style;
    this.answer = new Promise((resolve) => this.#resolve = resolve);
  }

  input(event: InputEvent): void {
    if (event.kind !== "key") return;
    const { key } = event;
    if (["escape", "ctrl+c", "q", "enter"].includes(key)) this.cancel();
    else if (key === "up" || key === "down") this.#body.move(key === "up" ? -1 : 1);
    else if (key === "home" || key === "end") this.#body.jump(key === "home" ? "start" : "end");
    else this.#body.input({ space: "pageDown", b: "pageUp" }[key] ?? key);
  }

  wants(): boolean {
    return true;
  }

  cancel(): void {
    this.#resolve(undefined);
  }

  frame(columns: number, rows: number): Frame {
    const { palette, texts } = this.#style;
    const title = wordRows(this.#title, columns, palette.warning).map(palette.bold);
    const body = this.#body.rows(columns);
    const hint = hintRows([texts.hints.move, texts.hints.scroll, texts.hints.leaveReading], columns).map(
      palette.dim,
    );
    const given = dealRows(rows, [
      ["title", 1],
      ["body", 1],
      ["hint", hint.length],
      ["body", Math.min(body.length, 4)],
      ["title", Math.min(3, title.length)],
      ["rule", 1],
      ["body", body.length],
    ]);
    const position = (first: number, last: number, all: number) => palette.dim(texts.lines(first, last, all));
    return stack([
      { lines: given.rule > 0 ? ["─".repeat(columns)] : [] },
      { lines: title.slice(0, given.title) },
      { lines: this.#body.view(columns, given.body, position) },
      { lines: hint.slice(0, given.hint) },
    ]);
  }
}
