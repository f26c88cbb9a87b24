import type { Config } from "../../config/mod.ts";
import { type Palette, type Theme, ThemedPalette } from "../../view/mod.ts";
import type { Terminal } from "./terminal/terminal.ts";

const THEMES: readonly (Theme | "auto")[] = ["auto", "dark", "light", "high-contrast", "none"];

export interface LooksOptions {
  readonly colours: boolean;
  /** The terminal shows links (OSC 8). */
  readonly links: boolean;
  /** The user's system asks for it: nothing moves by itself. */
  readonly still: boolean;
}

/** How the chat looks: its theme, and whether anything moves. */
export class Looks {
  readonly links: boolean;
  readonly #themed: ThemedPalette;
  readonly #still: boolean;
  #wanted: Theme | "auto" = "auto";
  #background: Terminal["background"];
  #reduced = false;

  constructor({ colours, links, still }: LooksOptions) {
    this.links = links;
    this.#themed = new ThemedPalette(colours);
    this.#still = still;
  }

  /** The palette, whose colours follow the theme. */
  get palette(): Palette {
    return this.#themed.palette;
  }

  /** Nothing on the screen may move by itself. */
  get still(): boolean {
    return this.#still || this.#reduced;
  }

  /** Takes the settings; what is on the screen keeps its colours. */
  use({ theme, reduced_motion }: Pick<Config["ui"], "theme" | "reduced_motion">): void {
    this.#wanted = theme;
    this.#reduced = reduced_motion;
    this.#choose();
  }

  /** Takes one setting, if it is one that this follows. */
  change(key: string, value: unknown): void {
    const theme = THEMES.find((each) => each === value);
    if (key === "ui.theme" && theme) this.#wanted = theme;
    if (key === "ui.reduced_motion") this.#reduced = value === true;
    this.#choose();
  }

  /** What the terminal has said of its background. */
  set background(background: Terminal["background"]) {
    this.#background = background;
    this.#choose();
  }

  #choose(): void {
    this.#themed.theme = this.#wanted === "auto" ? this.#background ?? "dark" : this.#wanted;
  }
}
