/** A stretch of a line in one style. */
export interface Span {
  readonly text: string;
  readonly style: Style;
}

/** Backgrounds of the lines of a diff, and of the words that differ in them. */
export type Background = "added" | "removed" | "added-word" | "removed-word";

/** The styles that the program and its renderer of Markdown use. */
export interface Style {
  readonly color?: string | undefined;
  readonly background?: Background | undefined;
  readonly bold?: boolean;
  readonly dim?: boolean;
  readonly italic?: boolean;
  readonly underline?: boolean;
}

const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

/** Those of the dark theme. */
const BACKGROUNDS: Readonly<Record<string, Background>> = {
  "48:5:22": "added",
  "48:5:28": "added-word",
  "48:5:52": "removed",
  "48:5:88": "removed-word",
};

// deno-lint-ignore no-control-regex
const SGR = /\x1b\[([\d;]*)m/;

/** The lines of a captured terminal, each as its stretches. Throws on a sequence that it does not know. */
export function spansOf(screen: string): Span[][] {
  let style: Style = {};
  return screen.split("\n").map((line) => {
    const spans: Span[] = [];
    for (const [at, piece] of line.split(SGR).entries()) {
      if (at % 2 === 1) style = piece.replace(/48;5;/g, "48:5:").split(";").reduce(changed, style);
      else if (piece !== "") spans.push({ text: checked(piece), style });
    }
    return spans;
  });
}

function changed(style: Style, code: string): Style {
  const background = BACKGROUNDS[code];
  if (background !== undefined) return { ...style, background };
  const number = Number(code);
  const colour = COLOURS[number - 30] ?? COLOURS[number - 90];
  if (colour !== undefined) return { ...style, color: colour };
  switch (number) {
    case 0:
      return {};
    case 1:
      return { ...style, bold: true };
    case 2:
      return { ...style, dim: true };
    case 3:
      return { ...style, italic: true };
    case 4:
      return { ...style, underline: true };
    case 22:
      return { ...style, bold: false, dim: false };
    case 23:
      return { ...style, italic: false };
    case 24:
      return { ...style, underline: false };
    case 39:
      return { ...style, color: undefined };
    case 49:
      return { ...style, background: undefined };
  }
  throw new Error(`The terminal shows a style that captures do not know: SGR ${code}`);
}

function checked(text: string): string {
  // deno-lint-ignore no-control-regex
  if (/[\x00-\x1f]/.test(text)) throw new Error(`Not a captured line: ${JSON.stringify(text)}`);
  return text;
}
