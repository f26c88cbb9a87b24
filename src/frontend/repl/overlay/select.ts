import type { Choice } from "../../../command/mod.ts";
import type { Palette } from "../../../view/mod.ts";
import type { Frame } from "../screen/view.ts";
import type { InputEvent } from "../terminal/terminal.ts";
import type { Overlay } from "./overlay.ts";

export interface SelectOptions<T> {
  readonly title: readonly string[];
  readonly choices: readonly Choice<T>[];
  readonly palette: Palette;
  readonly hint: string;
}

/** A list to choose one entry from. */
export class Select<T> implements Overlay<T> {
  readonly answer: Promise<T | undefined>;
  readonly #options: SelectOptions<T>;
  #resolve: (value: T | undefined) => void = () => {};
  #at = 0;

  constructor(options: SelectOptions<T>) {
    this.#options = options;
    this.answer = new Promise((resolve) => this.#resolve = resolve);
  }

  input(event: InputEvent): void {
    if (event.kind !== "key") return;
    const { choices } = this.#options;
    if (event.key === "up") this.#at = (this.#at + choices.length - 1) % choices.length;
    else if (event.key === "down") this.#at = (this.#at + 1) % choices.length;
    else if (event.key === "enter") this.#resolve(choices[this.#at]?.value);
    else if (event.key === "escape" || event.key === "ctrl+c") this.cancel();
    else {
      const chosen = choices.find(({ key }) => key !== undefined && key === event.text);
      if (chosen) this.#resolve(chosen.value);
    }
  }

  cancel(): void {
    this.#resolve(undefined);
  }

  frame(_columns: number, rows: number): Frame {
    const { title, choices, palette, hint } = this.#options;
    const room = Math.max(1, rows - title.length - 2);
    const first = Math.max(0, Math.min(this.#at - room + 1, choices.length - room));
    const shown = choices.slice(first, first + room).map(({ label, detail }, index) => {
      const current = first + index === this.#at;
      const text = `${current ? "›" : " "} ${label}${detail === undefined ? "" : palette.dim(`  ${detail}`)}`;
      return current ? palette.accent(text) : text;
    });
    return { lines: [...title, ...shown, palette.dim(hint)] };
  }
}
