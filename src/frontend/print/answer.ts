import { terminalSafe } from "../../util/terminal_text.ts";
import {
  type Block,
  loadMarkdown,
  MarkdownBlocks,
  type MarkdownRenderer,
  type Palette,
} from "../../view/mod.ts";

/**
 * What the model writes, on its way to standard output. Text goes in as it streams; what comes out is to be
 * written. `end` closes a message.
 */
export interface AnswerView {
  /** Something will be written soon. */
  warm(): void;
  push(text: string): string | Promise<string>;
  end(): string | Promise<string>;
}

/** The text as it comes, with a newline at the end of each message. */
export class StreamedAnswer implements AnswerView {
  readonly #safe: boolean;
  #midLine = false;

  /** `safe`: control characters of the model are not passed on. */
  constructor(safe: boolean) {
    this.#safe = safe;
  }

  warm(): void {}

  push(text: string): string {
    const shown = this.#safe ? terminalSafe(text) : text;
    if (shown !== "") this.#midLine = !shown.endsWith("\n");
    return shown;
  }

  end(): string {
    const line = this.#midLine ? "\n" : "";
    this.#midLine = false;
    return line;
  }
}

/** Markdown rendered block by block, for a terminal of so many columns. */
export class RenderedAnswer implements AnswerView {
  readonly #palette: Palette;
  readonly #columns: () => number;
  readonly #blocks = new MarkdownBlocks();
  #loading: Promise<MarkdownRenderer> | undefined;
  #written = false;

  constructor(palette: Palette, columns: () => number) {
    this.#palette = palette;
    this.#columns = columns;
  }

  warm(): void {
    this.#loading ??= loadMarkdown({ palette: this.#palette });
    this.#loading.catch(() => {});
  }

  push(text: string): string | Promise<string> {
    const blocks = this.#blocks.push(terminalSafe(text));
    return blocks.length === 0 ? "" : this.#rendered(blocks);
  }

  async end(): Promise<string> {
    const rest = this.#blocks.end();
    const text = rest === undefined ? "" : await this.#rendered([rest]);
    this.#written = false;
    return text;
  }

  async #rendered(blocks: readonly Block[]): Promise<string> {
    this.warm();
    // Where the renderer cannot be had, Markdown is readable as it is.
    const renderer = await this.#loading?.catch(() => undefined);
    for (const { source } of blocks) await renderer?.prepare(source);
    const parts = blocks.map(({ source }) =>
      `${renderer?.render(source, this.#columns()).join("\n") ?? source}\n`
    );
    const gap = this.#written ? "\n" : "";
    this.#written = true;
    return gap + parts.join("\n");
  }
}
