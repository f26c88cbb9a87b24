import { displayWidth } from "../util/display_width.ts";
import type { Highlight } from "./highlight.ts";
import type { Palette } from "./palette.ts";
import { wrapText } from "./wrap.ts";

/** A part of a message that is rendered separately. */
export interface Block {
  /** Its Markdown, the fences of code included. */
  readonly source: string;
  /** Fenced code: the info string, and its lines so far. */
  readonly code?: { readonly info: string; readonly lines: readonly string[] };
  /** It continues a list whose first items were taken before, without a blank line. */
  readonly follows?: true;
}

const ITEM = /^(\s*)(?:[-*+]|\d+[.)])\s/;
const FENCE = /^(\s*)(`{3,}|~{3,})(.*)$/;
const HEADING = /^ {0,3}#{1,6}(?:\s|$)/;

interface Fence {
  readonly mark: string;
  /** The block is only this code. */
  readonly alone: boolean;
}

/**
 * Splits a stream of Markdown into blocks that can be rendered separately: a heading, a paragraph, a list,
 * a table, fenced code. The incomplete block is the open one.
 *
 * Contract: the blocks are the same for any pieces of the stream.
 */
export class MarkdownBlocks {
  #lines: string[] = [];
  #last = "";
  #fence: Fence | undefined;
  /** The last line was blank: the next one decides whether the block continues. */
  #gap = false;
  /** The start of the open list was taken. */
  #follows = false;

  push(text: string): Block[] {
    const blocks: Block[] = [];
    const lines = (this.#last + text).split("\n");
    this.#last = lines.pop() ?? "";
    for (const line of lines) this.#line(line, blocks);
    if (this.#gap && this.#endsBefore(this.#last, false)) this.#close(blocks);
    return blocks;
  }

  /** The incomplete block, if there is one. */
  get open(): Block | undefined {
    const lines = this.#last === "" ? this.#lines : [...this.#lines, this.#last];
    return lines.every((line) => line.trim() === "") ? undefined : this.#block(lines, this.#last);
  }

  end(): Block | undefined {
    const { open } = this;
    [this.#lines, this.#last, this.#fence, this.#gap, this.#follows] = [[], "", undefined, false, false];
    return open;
  }

  /**
   * Takes the items of an open list that can no longer change, all but the last one, when it has more than
   * `most` lines. Undefined for other blocks: their last lines may change all of them.
   */
  takeItems(most: number): Block | undefined {
    const indent = ITEM.exec(this.#lines[0] ?? "")?.[1]?.length;
    if (indent === undefined || this.#fence || this.#lines.length <= most) return undefined;
    const at = this.#lines.findLastIndex((line) => (ITEM.exec(line)?.[1]?.length ?? Infinity) <= indent);
    if (at <= 0) return undefined;
    const block = this.#block(this.#lines.slice(0, at), undefined);
    // Between the items of a loose list there is a blank line.
    this.#follows = this.#lines[at - 1]?.trim() !== "";
    this.#lines = this.#lines.slice(at);
    return block;
  }

  #line(line: string, blocks: Block[]): void {
    const [, indent = "", mark, rest = ""] = FENCE.exec(line) ?? [];
    if (this.#fence) {
      this.#lines.push(line);
      if (!mark?.startsWith(this.#fence.mark) || rest.trim() !== "") return;
      const { alone } = this.#fence;
      if (alone) this.#close(blocks);
      this.#fence = undefined;
      return;
    }
    if (line.trim() === "") {
      this.#gap = this.#lines.length > 0;
      if (this.#gap) this.#lines.push("");
      return;
    }
    if (this.#gap && this.#endsBefore(line, true)) this.#close(blocks);
    this.#gap = false;
    const opens = mark !== undefined && !(mark.startsWith("`") && rest.includes("`"));
    const alone = opens && indent.length <= 3 && (indent === "" || this.#lines.length === 0);
    if (alone || HEADING.test(line)) this.#close(blocks);
    this.#lines.push(line);
    if (opens) this.#fence = { mark, alone };
    else if (HEADING.test(line)) this.#close(blocks);
  }

  /** Reports whether a block ends before this line, or start of a line, after a blank one. */
  #endsBefore(line: string, whole: boolean): boolean {
    if (line === "" || /^\s/.test(line)) return false;
    // A list continues after a blank line with items or indented lines.
    if (!this.#lines.some((each) => ITEM.test(each))) return true;
    return !ITEM.test(line) && (whole || !/^(?:[-*+]|\d+[.)]?)$/.test(line));
  }

  #close(blocks: Block[]): void {
    while (this.#lines.at(-1)?.trim() === "") this.#lines.pop();
    if (this.#lines.length > 0) blocks.push(this.#block(this.#lines, undefined));
    [this.#lines, this.#gap, this.#follows] = [[], false, false];
  }

  #block(lines: readonly string[], last: string | undefined): Block {
    const source = lines.join("\n").trimEnd();
    const follows = this.#follows ? { follows: true } as const : {};
    if (!this.#fence?.alone) return { source, ...follows };
    const { mark } = this.#fence;
    const [head = "", ...code] = lines;
    const end = code.at(-1)?.trim() ?? "";
    // The last line may be the closing fence, or its beginning.
    const closing = last === undefined
      ? end.startsWith(mark) && /^(?:`+|~+)$/.test(end)
      : last !== "" && /^\s*(?:`+|~+)$/.test(last) && last.trim()[0] === mark[0];
    return {
      source,
      code: { info: head.trim().slice(mark.length).trim(), lines: closing ? code.slice(0, -1) : code },
    };
  }
}

interface MarkdownOptions {
  readonly palette: Palette;
  /** The terminal shows links (OSC 8); default: guessed from the environment. */
  readonly links?: boolean;
}

type Component = typeof import("@earendil-works/pi-tui/dist/components/markdown.js").Markdown;

/** Limits of a block for the parser, whose time grows with their square. */
const MAX_SIGNS = 4000;
const MAX_LINE = 10_000;

/** Reports whether a block is too dense to parse; fenced code never is. */
export function isTooDense(text: string): boolean {
  if (text.length <= MAX_SIGNS || /^\s*(?:```|~~~)/.test(text)) return false;
  let signs = 0;
  for (const _ of text.matchAll(/[*_\\[\]`!<]/g)) if (++signs > MAX_SIGNS) return true;
  return text.split("\n").some((line) => line.length > MAX_LINE);
}

/** Allowed schemes of clickable links. */
const LINK = /^(?:https?|file|mailto):/i;
// deno-lint-ignore no-control-regex
const LINKS = /\x1b\]8;[^;]*;([^\x07\x1b]*)(?:\x07|\x1b\\)([\s\S]*?)\x1b\]8;;(?:\x07|\x1b\\)/g;

export class MarkdownRenderer {
  readonly #palette: Palette;
  readonly #component: Component;
  #highlight: Highlight | undefined;
  #loading: Promise<void> | undefined;

  constructor(palette: Palette, component: Component) {
    this.#palette = palette;
    this.#component = component;
  }

  /** Renders Markdown. Lines of code are not wrapped, so that they can be copied. */
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

  /** Highlights lines of code; `info` is the text behind the fence. */
  code(text: string, info: string): string[] {
    const lines = this.#highlight?.(text, languageOf(info));
    return lines ?? text.split("\n").map((line) => this.#palette.accent(line));
  }

  /** Loads syntax highlighting where the Markdown has code; undefined when it is loaded. */
  prepare(source: string): Promise<void> | undefined {
    if (this.#highlight || !/^[ \t]*(?:```|~~~)[^\n`]*\w/m.test(source)) return undefined;
    return this.#loading ??= import("./highlight.ts").then(
      ({ highlighter }) => void (this.#highlight = highlighter(this.#palette)),
      // Code can be read without colors.
      () => void (this.#highlight = () => undefined),
    );
  }
}

/** Quotes a text as code: the fence is longer than any in it, so that nothing in it can end it. */
export function fenced(text: string, language = ""): string {
  const fence = ticksAround(text, 3);
  return `${fence}${language}\n${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${fence}`;
}

/** Quotes a line as code. */
export function codeSpan(line: string): string {
  const ticks = ticksAround(line, 1);
  const space = line.includes("`") ? " " : "";
  return `${ticks}${space}${line}${space}${ticks}`;
}

/** A run of ticks that is longer than all in the text. */
function ticksAround(text: string, least: number): string {
  return "`".repeat(Math.max(least, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length + 1)));
}

/** Loads the renderer, which is not needed before the first paragraph. */
export async function loadMarkdown({ palette, links }: MarkdownOptions): Promise<MarkdownRenderer> {
  const [{ Markdown }, { setCapabilityOverrides }] = await Promise.all([
    import("@earendil-works/pi-tui/dist/components/markdown.js"),
    import("@earendil-works/pi-tui/dist/terminal-image.js"),
  ]);
  if (links !== undefined) setCapabilityOverrides({ hyperlinks: links });
  return new MarkdownRenderer(palette, Markdown);
}

/** The language in the info string of a fence: `ts`, `ts title="x"`, `{.python}`. */
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

/** A character that no text has: control characters were removed. */
const MARK = "\x11";
// deno-lint-ignore no-control-regex
const MARKED = /\x11(\d+)\x11/;
