/** Themes by name; `none` has no colors. */
export type Theme = "dark" | "light" | "high-contrast" | "none";

export type Meaning =
  | "dim"
  | "bold"
  | "italic"
  | "good"
  | "bad"
  | "warning"
  | "accent"
  | "added"
  | "removed"
  /** Code in the colors of its syntax in a line that was added or removed. */
  | "addedLine"
  | "removedLine"
  /** A word that differs in a line that was added or removed. */
  | "addedWord"
  | "removedWord"
  /** Messages of the user. */
  | "user"
  /** Parts of code. */
  | "keyword"
  | "string"
  | "number"
  | "comment"
  | "title"
  | "type";

/** Attributes and colors (SGR) that turn a style on, and those that turn it off again. */
type Style = readonly [on: string, off: string];

const ATTRIBUTES = { bold: ["1", "22"], italic: ["3", "23"] } as const;
const foreground = (color: number | string): Style => [`${color}`, "39"];
const indexed = (color: number): Style => foreground(`38;5;${color}`);
const background = (color: number): Style => [`48;5;${color}`, "49"];
const strong = (color: number): Style => [`1;${color}`, "22;39"];

/** The colors of the terminal itself, which the user has chosen; made for a dark background. */
const DARK: Readonly<Record<Meaning, Style>> = {
  ...ATTRIBUTES,
  dim: ["2", "22"],
  good: foreground(32),
  bad: foreground(31),
  warning: foreground(33),
  accent: foreground(36),
  added: foreground(32),
  removed: foreground(31),
  addedLine: background(22),
  removedLine: background(52),
  addedWord: background(28),
  removedWord: background(88),
  user: ["1", "22"],
  keyword: foreground(35),
  string: foreground(32),
  number: foreground(33),
  comment: ["2", "22"],
  title: foreground(94),
  type: foreground(36),
};

/** Colors that can be read on white. */
const LIGHT: Readonly<Record<Meaning, Style>> = {
  ...ATTRIBUTES,
  dim: indexed(241),
  good: indexed(28),
  bad: indexed(124),
  warning: indexed(130),
  accent: indexed(25),
  added: indexed(22),
  removed: indexed(124),
  addedLine: background(194),
  removedLine: background(224),
  addedWord: background(157),
  removedWord: background(217),
  user: ["1", "22"],
  keyword: indexed(90),
  string: indexed(28),
  number: indexed(94),
  comment: indexed(241),
  title: indexed(25),
  type: indexed(30),
};

/** Nothing is dim; what matters is bold and in a bright color, or inverse. */
const HIGH_CONTRAST: Readonly<Record<Meaning, Style>> = {
  ...ATTRIBUTES,
  dim: ["", ""],
  good: strong(92),
  bad: strong(91),
  warning: strong(93),
  accent: strong(96),
  added: strong(92),
  removed: strong(91),
  addedLine: background(22),
  removedLine: background(52),
  addedWord: ["7", "27"],
  removedWord: ["7", "27"],
  user: ["1", "22"],
  keyword: ["1", "22"],
  string: foreground(92),
  number: foreground(93),
  comment: ["3", "23"],
  title: strong(96),
  type: foreground(96),
};

const plain = (style: Style | undefined): style is undefined => style === undefined || style[0] === "";

const STYLES: Readonly<Record<Theme, Readonly<Partial<Record<Meaning, Style>>>>> = {
  "dark": DARK,
  "light": LIGHT,
  "high-contrast": HIGH_CONTRAST,
  "none": {},
};

/** Every meaning, in no order. */
const MEANINGS = Object.keys(DARK) as readonly Meaning[];

/** The text in the style that a theme has for a meaning. */
function styled(theme: Theme, meaning: Meaning, text: string): string {
  const style = STYLES[theme][meaning];
  return text === "" || plain(style) ? text : `\x1b[${style[0]}m${text}\x1b[${style[1]}m`;
}

/** Colors by what they mean. Every function leaves the text as it is where there are no colors. */
export type Palette = { readonly [M in Meaning]: (text: string) => string };

function paletteOf(theme: () => Theme): Palette {
  const styles = MEANINGS.map((meaning) => [meaning, (text: string) => styled(theme(), meaning, text)]);
  return Object.fromEntries(styles) as Palette;
}

const COLOURED = paletteOf(() => "dark");
const COLOURLESS = paletteOf(() => "none");

/** The palette of what is written once: in the terminal's own colors, or without any. */
export function palette(colors: boolean): Palette {
  return colors ? COLOURED : COLOURLESS;
}

/** A palette whose theme can be changed: what is colored from then on has its colors. */
export class ThemedPalette {
  readonly palette: Palette;
  readonly #colors: boolean;
  /** The theme wanted; without colors it is only remembered. */
  theme: Theme;

  constructor(colors: boolean, theme: Theme = "dark") {
    this.#colors = colors;
    this.theme = theme;
    this.palette = paletteOf(() => this.#colors ? this.theme : "none");
  }
}

/** Environment variables that identify the terminal. */
interface TerminalEnvironment {
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
 * Reports whether a terminal shows links (OSC 8). Only known terminals count: others would hide the
 * addresses. tmux passes links on only if configured.
 */
export function wantsLinks(env: TerminalEnvironment): boolean {
  if (env.TMUX || /^(?:tmux|screen|dumb|linux)/.test(env.TERM ?? "")) return false;
  if (env.WT_SESSION || env.KITTY_WINDOW_ID || env.WEZTERM_PANE) return true;
  if (Number(env.VTE_VERSION) >= 5000) return true;
  return LINKS.test(env.TERM_PROGRAM ?? "") || /kitty|ghostty|foot|alacritty/.test(env.TERM ?? "");
}

/** The settings of the environment for colors, as far as they concern us. */
interface ColorEnvironment {
  readonly NO_COLOR?: string | undefined;
  readonly FORCE_COLOR?: string | undefined;
  readonly CLICOLOR_FORCE?: string | undefined;
  readonly TERM?: string | undefined;
}

/**
 * Reports whether to use colors on a stream (no-color.org, force-color.org, bixense.com/clicolors): a
 * non-empty NO_COLOR wins, then FORCE_COLOR (0 and false: none), then CLICOLOR_FORCE (0: ignored), else a
 * terminal that is not dumb has colors.
 */
export function wantsColor(env: ColorEnvironment, isTerminal: boolean): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== "0" && env.FORCE_COLOR !== "false";
  if (env.CLICOLOR_FORCE && env.CLICOLOR_FORCE !== "0") return true;
  return isTerminal && env.TERM !== "dumb";
}
