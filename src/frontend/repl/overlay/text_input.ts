import { Composer } from "../composer/composer.ts";
import { type Frame, stack } from "../screen/view.ts";
import type { InputEvent } from "../terminal/terminal.ts";
import type { PanelStyle } from "./choice_panel.ts";
import { wordRows } from "./exact_text.ts";
import type { Overlay } from "./overlay.ts";
import { dealRows, hintRows } from "./panel.ts";

/** A question that is answered with a text. */
export class TextInput implements Overlay<string> {
  readonly answer: Promise<string | undefined>;
  readonly #question: string;
  readonly #style: PanelStyle;
  readonly #composer: Composer;
  #resolve: (value: string | undefined) => void = () => {};

  constructor(question: string, initial: string, style: PanelStyle) {
    this.#question = question;
    this.#style = style;
    this.answer = new Promise((resolve) => this.#resolve = resolve);
    this.#composer = new Composer({
      palette: style.palette,
      onSubmit: ({ text }) => this.#resolve(text.trim()),
    });
    this.#composer.text = initial;
  }

  input(event: InputEvent): void {
    if (event.kind === "key" && (event.key === "escape" || event.key === "ctrl+c")) this.cancel();
    else this.#composer.input(event);
  }

  wants(): boolean {
    return true;
  }

  cancel(): void {
    this.#resolve(undefined);
  }

  frame(columns: number, rows: number): Frame {
    const { palette, texts } = this.#style;
    const input = this.#composer.frame(columns, Math.max(1, rows - 1));
    const title = wordRows(this.#question, columns, palette.warning).map(palette.bold);
    const hint = hintRows([texts.hints.send, texts.hints.leave], columns).map(palette.dim);
    const given = dealRows(rows, [
      ["input", input.lines.length],
      ["title", title.length],
      ["hint", hint.length],
      ["rule", 1],
    ]);
    return stack([
      { lines: given.rule > 0 ? ["─".repeat(columns)] : [] },
      { lines: title.slice(0, given.title) },
      input,
      { lines: hint.slice(0, given.hint) },
    ]);
  }
}
