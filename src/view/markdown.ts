import type { Highlight } from "./highlight.ts";
import { displayWidth } from "../util/display_width.ts";
import type { Palette } from "./palette.ts";
import { wrapText } from "./wrap.ts";

export interface MarkdownOptions {
  readonly palette: Palette;
  /** The terminal shows links (OSC 8); by default it is guessed from the environment. */
  readonly links?: boolean;
}

type Component = typeof import("@earendil-works/pi-tui/dist/components/markdown.js").Markdown;

/** More signs of Markdown in a block, or characters in a line, are no text: parsing takes their square. */
const MAX_SIGNS = 4000;
const MAX_LINE = 10_000;

/** Reports whether a block is shown as it is; only one that begins with a fence is code. */
function isTooDense(text: string): boolean {
  if (text.length <= MAX_SIGNS || /^\s*(?:```|~~~)/.test(text)) return false;
  let signs = 0;
  for (const _ of text.matchAll(/[*_\\[\]`!<]/g)) if (++signs > MAX_SIGNS) return true;
  return text.split("\n").some((line) => line.length > MAX_LINE);
}

/** Where a link may lead that can be clicked. */
const LINK = /^(?:https?|file|mailto):/i;
// deno-lint-ignore no-control-regex
const LINKS = /\x1b\]8;[^;]*;([^\x07\x1b]*)(?:\x07|\x1b\\)([\s\S]*?)\x1b\]8;;(?:\x07|\x1b\\)/g;

/** Renders Markdown to lines for a terminal. */
export class MarkdownRenderer {
  readonly #palette: Palette;
  readonly #component: Component;
  #highlight: Highlight | undefined;
  #loading: Promise<void> | undefined;

  constructor(palette: Palette, component: Component) {
    this.#palette = palette;
    this.#component = component;
  }

  /** Lines of code are left as long as they are, so that they can be copied. */
  render(text: string, columns: number): string[] {
    if (isTooDense(text)) return wrapText(text, columns, displayWidth);
    const code: string[] = [];
    const highlightCode = (block: string, info = "") =>
      this.code(block, info).map((line) => `${MARK}${code.push(line) - 1}${MARK}`);
    const lines = new this.#component(text, 0, 0, { ...themeOf(this.#palette), highlightCode }).render(
      columns,
    );
    return lines.map((line) =>
      line.trimEnd()
        .replace(MARKED, (_, at: string) => code[Number(at)] ?? "")
        .replace(LINKS, (link, target: string, label: string) => LINK.test(target) ? link : label)
    );
  }

  /** The lines of code, coloured as its language is; `info` is what follows the fence. */
  code(text: string, info: string): string[] {
    const lines = this.#highlight?.(text, languageOf(info));
    return lines ?? text.split("\n").map((line) => this.#palette.accent(line));
  }

  /** Loads what colours code where the Markdown has some; undefined when there is nothing to wait for. */
  prepare(source: string): Promise<void> | undefined {
    if (this.#highlight || !/^[ \t]*(?:```|~~~)[^\n`]*\w/m.test(source)) return undefined;
    return this.#loading ??= import("./highlight.ts").then(
      ({ highlighter }) => void (this.#highlight = highlighter(this.#palette)),
      // Code can be read without colours.
      () => void (this.#highlight = () => undefined),
    );
  }
}

/** Loads the renderer; it is not needed before the first paragraph has arrived. */
export async function loadMarkdown({ palette, links }: MarkdownOptions): Promise<MarkdownRenderer> {
  const [{ Markdown }, { setCapabilityOverrides }] = await Promise.all([
    import("@earendil-works/pi-tui/dist/components/markdown.js"),
    import("@earendil-works/pi-tui/dist/terminal-image.js"),
  ]);
  if (links !== undefined) setCapabilityOverrides({ hyperlinks: links });
  return new MarkdownRenderer(palette, Markdown);
}

/** The name of a language in the first line of a fence: `ts`, `ts title="x"`, `{.python}`. */
function languageOf(info: string): string {
  return /[\w+#-]+/.exec(info)?.[0].toLowerCase() ?? "";
}

function themeOf(palette: Palette) {
  return {
    heading: palette.bold,
    link: palette.accent,
    linkUrl: palette.dim,
    code: palette.accent,
    codeBlock: palette.accent,
    codeBlockBorder: palette.dim,
    quote: palette.dim,
    quoteBorder: palette.dim,
    hr: palette.dim,
    listBullet: palette.accent,
    bold: palette.bold,
    italic: palette.italic,
    strikethrough: palette.dim,
    underline: palette.bold,
  };
}

/** A character that no text has, since control characters have been taken out. */
const MARK = "\x11";
// deno-lint-ignore no-control-regex
const MARKED = /\x11(\d+)\x11/;
