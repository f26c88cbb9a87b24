import type { Config } from "../../config/mod.ts";
import { type Palette, type Theme, ThemedPalette } from "../../view/mod.ts";
import type { Terminal } from "./terminal/terminal.ts";

const THEMES: readonly (Theme | "auto")[] = ["auto", "dark", "light", "high-contrast", "none"];

export interface LooksOptions {
  readonly colors: boolean;
  readonly links: boolean;
  /** Disables animation, as the user's system asks for. */
  readonly still: boolean;
}

/** The theme of the chat, and whether anything is animated. */
export class Looks {
  readonly links: boolean;
  readonly #themed: ThemedPalette;
  readonly #still: boolean;
  #wanted: Theme | "auto" = "auto";
  #background: Terminal["background"];
  #reduced = false;

  constructor({ colors, links, still }: LooksOptions) {
    this.links = links;
    this.#themed = new ThemedPalette(colors);
    this.#still = still;
  }

  get palette(): Palette {
    return this.#themed.palette;
  }

  get still(): boolean {
    return this.#still || this.#reduced;
  }

  /** Applies the settings to what is drawn from now on. */
  use({ theme, reduced_motion }: Pick<Config["ui"], "theme" | "reduced_motion">): void {
    this.#wanted = theme;
    this.#reduced = reduced_motion;
    this.#choose();
  }

  /** Applies a changed setting; others are ignored. */
  change(key: string, value: unknown): void {
    const theme = THEMES.find((each) => each === value);
    if (key === "ui.theme" && theme) this.#wanted = theme;
    if (key === "ui.reduced_motion") this.#reduced = value === true;
    this.#choose();
  }

  /** The background that the terminal has reported. */
  set background(background: Terminal["background"]) {
    this.#background = background;
    this.#choose();
  }

  #choose(): void {
    this.#themed.theme = this.#wanted === "auto" ? this.#background ?? "dark" : this.#wanted;
  }
}
