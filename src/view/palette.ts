/** Colours by what they mean. Every function leaves the text as it is where there are no colours. */
export interface Palette {
  readonly dim: (text: string) => string;
  readonly bold: (text: string) => string;
  readonly italic: (text: string) => string;
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly warning: (text: string) => string;
  readonly accent: (text: string) => string;
  readonly added: (text: string) => string;
  readonly removed: (text: string) => string;
}

const plain = (text: string) => text;

const style = (on: number, off: number) => (text: string) =>
  text === "" ? "" : `\x1b[${on}m${text}\x1b[${off}m`;

const COLOURS: Palette = {
  dim: style(2, 22),
  bold: style(1, 22),
  italic: style(3, 23),
  good: style(32, 39),
  bad: style(31, 39),
  warning: style(33, 39),
  accent: style(36, 39),
  added: style(32, 39),
  removed: style(31, 39),
};

const NO_COLOURS: Palette = {
  dim: plain,
  bold: plain,
  italic: plain,
  good: plain,
  bad: plain,
  warning: plain,
  accent: plain,
  added: plain,
  removed: plain,
};

export function palette(colours: boolean): Palette {
  return colours ? COLOURS : NO_COLOURS;
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
