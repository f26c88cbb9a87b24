import type { Palette } from "./palette.ts";

/** Renders Markdown to lines for a terminal. */
export type RenderMarkdown = (text: string, columns: number) => string[];

/** Loads the renderer; it is not needed before the first paragraph has arrived. */
export async function loadMarkdown(palette: Palette): Promise<RenderMarkdown> {
  const { Markdown } = await import("@earendil-works/pi-tui");
  const theme = {
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
  return (text, columns) => {
    // Lines of code are left to the terminal to break: so they can be copied as they are.
    const code: string[] = [];
    const highlightCode = (block: string) =>
      block.split("\n").map((line) => `${MARK}${code.push(line) - 1}${MARK}`);
    const lines = new Markdown(text, 0, 0, { ...theme, highlightCode }).render(columns);
    return lines.map((line) =>
      line.trimEnd().replace(MARKED, (_, at: string) => palette.accent(code[Number(at)] ?? ""))
    );
  };
}

/** A character that no text has, since control characters have been taken out. */
const MARK = "\x11";
// deno-lint-ignore no-control-regex
const MARKED = /\x11(\d+)\x11/;

const ITEM = /^(?:[-*+]|\d+[.)])\s/;

/**
 * Cuts a stream of Markdown into blocks that can be rendered one by one: a paragraph, a list, a table, a
 * fenced block. What is not complete yet is kept for later.
 */
export class MarkdownBlocks {
  #pending = "";

  /** The blocks that are complete now. */
  push(text: string): string[] {
    this.#pending += text;
    const lines = this.#pending.split("\n");
    const last = lines.pop() ?? "";
    const blocks: string[] = [];
    let start = 0;
    let fence: string | undefined;
    for (const [index, line] of lines.entries()) {
      const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
      if (fence === undefined && mark !== undefined) fence = mark;
      else if (fence !== undefined && mark?.startsWith(fence)) fence = undefined;
      if (fence !== undefined || line.trim() !== "") continue;
      const next = lines[index + 1] ?? last;
      // A list goes on behind a blank line as long as its items, or lines that are indented, do.
      const isList = lines.slice(start, index).some((each) => ITEM.test(each));
      if (next === "" || /^\s/.test(next) || (isList && ITEM.test(next))) continue;
      // So may a line of which only the beginning is there.
      if (isList && index === lines.length - 1 && /^(?:[-*+]|\d+[.)]?)$/.test(last)) continue;
      blocks.push(lines.slice(start, index).join("\n"));
      start = index + 1;
    }
    this.#pending = [...lines.slice(start), last].join("\n");
    return blocks.filter((block) => block.trim() !== "");
  }

  /** Returns what is left at the end of a message. */
  end(): string {
    const rest = this.#pending;
    this.#pending = "";
    return rest.trim() === "" ? "" : rest;
  }
}
