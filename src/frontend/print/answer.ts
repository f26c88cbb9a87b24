import { terminalSafe } from "../../util/terminal_text.ts";
import type { ShownTexts } from "../result.ts";
import {
  type Block,
  loadMarkdown,
  MarkdownBlocks,
  type MarkdownRenderer,
  type Palette,
  palette,
} from "../../view/mod.ts";

/**
 * The texts of the model, on their way to standard output. Text goes in as it streams; the result is to be
 * written. `end` closes a message.
 */
interface AnswerView {
  /** Something will be written soon. */
  warm(): void;
  push(text: string): string | Promise<string>;
  end(): string | Promise<string>;
}

/** The text as it comes, with a newline at the end of each message. */
class StreamedAnswer implements AnswerView {
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
class RenderedAnswer implements AnswerView {
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

export interface AnswerOptions {
  /** Standard output is a terminal: Markdown is rendered, control characters are not passed on. */
  readonly terminal: boolean;
  /** Every text of the model is passed on as it comes. */
  readonly stream: boolean;
  readonly quiet: boolean;
  readonly outColor: boolean;
  readonly columns: () => number;
}

/** The texts of the model for standard output: each as it comes, or the answer alone at the end. */
export class AnswerOutput {
  readonly #options: AnswerOptions;
  readonly #view: AnswerView;
  #output: ShownTexts | undefined;
  #last = "";
  /** The last text of a message without calls. */
  #answer = "";
  #unwritten = false;

  constructor(options: AnswerOptions) {
    const { terminal, stream } = options;
    this.#options = options;
    this.#view = terminal && !stream ? this.#rendered() : new StreamedAnswer(terminal);
  }

  /** Chooses what is written from here on. */
  choose(output: ShownTexts | undefined): void {
    this.#output = output;
  }

  /** Texts are written as they come, not only the last one. */
  get streams(): boolean {
    const { terminal, stream, quiet } = this.#options;
    return this.#output === undefined ? stream || (terminal && !quiet) : this.#output === "full";
  }

  /** Nothing of the model is shown at all. */
  get silent(): boolean {
    return this.#output === "none";
  }

  /** Returns the answer of a turn that was not the last one, once, where it was not shown. */
  superseded(): string {
    const answer = this.#answer;
    this.#answer = "";
    return this.streams || this.silent ? "" : answer;
  }

  #rendered(): AnswerView {
    const { outColor, columns } = this.#options;
    return new RenderedAnswer(palette(outColor), columns);
  }

  warm(): void {
    if (this.streams) this.#view.warm();
  }

  push(text: string): string | Promise<string> {
    return this.#view.push(text);
  }

  /** A message is over; `whole` is its text unless it broke off, with calls or without. */
  end(whole = "", hasCalls = false): string | Promise<string> {
    if (whole !== "") this.#last = whole;
    this.#answer = hasCalls ? "" : whole;
    return this.streams ? this.#view.end() : "";
  }

  /** Returns what is to be written of a text that came by no message, such as a plan. */
  async separate(text: string): Promise<string> {
    if (!this.streams || text === "" || text.trim() === this.#last.trim()) return "";
    return await this.push(text) + await this.end(text);
  }

  /** A turn has this answer, which need not be the text of a message: a tool can hand one in. */
  turnEnded(answer: string): void {
    this.#unwritten = answer !== this.#last;
  }

  /** Returns what is to be written of a result that has come. */
  async rest(answer: string, report: boolean): Promise<string> {
    if (answer.trim() === "" || (this.streams && !report && !this.#unwritten)) return "";
    if (this.silent && !report) return "";
    const { terminal } = this.#options;
    // A report names what the repository and its servers have; only the model's answer stays as it is.
    const view = terminal && this.#output !== "raw"
      ? this.#rendered()
      : new StreamedAnswer(terminal || report);
    return await view.push(answer) + await view.end();
  }
}
