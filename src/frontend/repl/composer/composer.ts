import { displayWidth } from "../../../util/display_width.ts";
import type { Frame, View } from "../screen/view.ts";
import type { InputEvent } from "../terminal/terminal.ts";

/** What the user sends off. */
export interface Draft {
  readonly text: string;
  /** Said into the running turn instead of after it. */
  readonly steer: boolean;
}

export interface ComposerOptions {
  readonly onSubmit: (draft: Draft) => void;
}

const PROMPT = "> ";

/** The place where the user writes. */
export class Composer implements View {
  readonly #options: ComposerOptions;
  #text = "";

  constructor(options: ComposerOptions) {
    this.#options = options;
  }

  /** The text as it would be sent. */
  get text(): string {
    return this.#text;
  }

  set text(text: string) {
    this.#text = text;
  }

  /** Takes what was typed; false for keys that mean nothing here. */
  input(event: InputEvent): boolean {
    if (event.kind === "paste") this.#text += event.text;
    else if (event.key === "enter" || event.key === "ctrl+enter") this.#submit(event.key === "ctrl+enter");
    else if (event.key === "backspace") this.#text = [...this.#text].slice(0, -1).join("");
    else if (event.text !== undefined) this.#text += event.text;
    else return false;
    return true;
  }

  frame(_columns: number, _rows: number): Frame {
    const lines = this.#text.split("\n").map((line, index) => (index === 0 ? PROMPT : "  ") + line);
    const last = lines.at(-1) ?? "";
    return { lines, caret: { row: lines.length - 1, column: displayWidth(last) } };
  }

  #submit(steer: boolean): void {
    const text = this.#text;
    if (text.trim() === "") return;
    this.#text = "";
    this.#options.onSubmit({ text, steer });
  }
}
