import { type Meaning, MEANINGS, styled, type Theme } from "./themes.ts";

/** Colours by what they mean. Every function leaves the text as it is where there are no colours. */
export type Palette = { readonly [M in Meaning]: (text: string) => string };

function paletteOf(theme: () => Theme): Palette {
  const styles = MEANINGS.map((meaning) => [meaning, (text: string) => styled(theme(), meaning, text)]);
  return Object.fromEntries(styles) as Palette;
}

const DARK = paletteOf(() => "dark");
const NONE = paletteOf(() => "none");

/** The palette of what is written once: in the terminal's own colours, or without any. */
export function palette(colours: boolean): Palette {
  return colours ? DARK : NONE;
}

/** A palette whose theme can be changed: what is coloured from then on has its colours. */
export class ThemedPalette {
  readonly palette: Palette;
  readonly #colours: boolean;
  /** The theme wanted; without colours it is only remembered. */
  theme: Theme;

  constructor(colours: boolean, theme: Theme = "dark") {
    this.#colours = colours;
    this.theme = theme;
    this.palette = paletteOf(() => this.#colours ? this.theme : "none");
  }
}

/** The settings of the environment that tell which terminal this is. */
export interface TerminalEnvironment {
  readonly TERM?: string | undefined;
  readonly TERM_PROGRAM?: string | undefined;
  readonly TMUX?: string | undefined;
  readonly WT_SESSION?: string | undefined;
  readonly KITTY_WINDOW_ID?: string | undefined;
  readonly WEZTERM_PANE?: string | undefined;
  readonly VTE_VERSION?: string | undefined;
}

/** Terminals by the name they give themselves that are known to show links. */
const LINKS = /^(?:iterm\.app|kitty|ghostty|wezterm|alacritty|vscode|zed|warpterminal|rio|tabby|contour)$/i;

/**
 * Reports whether a terminal shows links (OSC 8). One that does not would hide where they lead, so only those
 * known to do count; tmux passes them on only where it is told to.
 */
export function wantsLinks(env: TerminalEnvironment): boolean {
  if (env.TMUX || /^(?:tmux|screen|dumb|linux)/.test(env.TERM ?? "")) return false;
  if (env.WT_SESSION || env.KITTY_WINDOW_ID || env.WEZTERM_PANE) return true;
  if (Number(env.VTE_VERSION) >= 5000) return true;
  return LINKS.test(env.TERM_PROGRAM ?? "") || /kitty|ghostty|foot|alacritty/.test(env.TERM ?? "");
}

/** The settings of the environment for colours, as far as they concern us. */
export interface ColourEnvironment {
  readonly NO_COLOR?: string | undefined;
  readonly FORCE_COLOR?: string | undefined;
  readonly CLICOLOR_FORCE?: string | undefined;
  readonly TERM?: string | undefined;
}

/**
 * Reports whether to use colours on a stream (no-color.org, force-color.org, bixense.com/clicolors): a
 * non-empty NO_COLOR wins, then FORCE_COLOR, of which 0 and false mean none, then CLICOLOR_FORCE, of which 0
 * means nothing, else a terminal that is not dumb has them.
 */
export function wantsColour(env: ColourEnvironment, isTerminal: boolean): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== "0" && env.FORCE_COLOR !== "false";
  if (env.CLICOLOR_FORCE && env.CLICOLOR_FORCE !== "0") return true;
  return isTerminal && env.TERM !== "dumb";
}
