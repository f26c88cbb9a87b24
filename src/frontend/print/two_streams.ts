import { oneLine } from "../../util/terminal_text.ts";
import { type MeasureWidth, type Palette, palette, StreamWrap, wrapText } from "../../view/mod.ts";
import type { Output } from "../output.ts";
import { LiveLine } from "./live_line.ts";
import type { Clock } from "../../util/timer.ts";

/** Room for what says what to do next: a reason that is cut loses its remedy. */
export const WHOLE = 1000;

export interface StreamOptions {
  readonly out: Output;
  readonly err: Output;
  readonly color: boolean;
  readonly terminal: boolean;
  /** Standard error is a terminal that can write over a line. */
  readonly live: boolean;
  /** Nothing but the answer and errors. */
  readonly quiet: boolean;
  readonly columns: () => number;
  /** Fits a text to a number of columns. */
  readonly fit: (text: string, columns: number) => string;
  readonly width: MeasureWidth;
  /** The source of the time; the clock when absent. */
  readonly clock?: Clock;
}

/** The answer on standard output and lines about it on standard error, which may be one terminal. */
export class TwoStreams {
  readonly palette: Palette;
  /** Absent where no line can be written over, or none is wanted. */
  readonly live: LiveLine | undefined;
  readonly #options: StreamOptions;
  #thinking: StreamWrap | undefined;
  /** The last output, so that a blank line separates thoughts, texts and calls. */
  #last: "nothing" | "thinking" | "text" | "line" = "nothing";

  constructor(options: StreamOptions) {
    const { live, quiet, fit, columns, clock } = options;
    this.#options = options;
    this.palette = palette(options.color);
    if (!live || quiet) return;
    const fitted = (text: string) => fit(text, Math.max(1, columns() - 1));
    this.live = new LiveLine((text) => void this.err(text), fitted, clock);
  }

  /** A text of the model, apart from the lines about calls where both are on one terminal. */
  text(text: string): void | Promise<void> {
    if (text === "") return;
    this.live?.hide();
    return this.#out(this.#gap("text") + text);
  }

  think(text: string): void | Promise<void> {
    const { columns, width, live } = this.#options;
    this.live?.hide();
    const gap = this.#thinking ? "" : this.#gap("thinking");
    this.#thinking ??= new StreamWrap(live ? columns : () => Infinity, width);
    return this.err(gap + this.palette.dim(this.#thinking.push(text)));
  }

  endThinking(): void | Promise<void> {
    if (!this.#thinking) return;
    const rest = this.#thinking.end();
    this.#thinking = undefined;
    return this.err(`${this.palette.dim(rest)}\n`);
  }

  notice(level: "info" | "warning", text: string): void | Promise<void> {
    const [mark, colour] = level === "warning" ? ["!", this.palette.warning] : ["·", this.palette.dim];
    return this.note(`${mark} ${text}`, WHOLE, colour);
  }

  note(text: string, max?: number, colour = this.palette.dim): void | Promise<void> {
    const line = (/^ */.exec(text)?.[0] ?? "") + oneLine(text, max);
    const { live, columns, width } = this.#options;
    const lines = live ? wrapText(line, columns(), width, "  ") : [line];
    return this.line(lines.map(colour).join("\n"));
  }

  line(text: string): void | Promise<void> {
    if (this.#options.quiet) return;
    this.live?.erase();
    return this.err(`${this.#gap("line")}${text}\n`);
  }

  /** A blank line between things of two kinds, where a person sees both of them on one terminal. */
  #gap(next: "thinking" | "text" | "line"): string {
    const last = this.#last;
    this.#last = next;
    const { terminal, live } = this.#options;
    const together = live && (terminal || (last !== "text" && next !== "text"));
    return together && last !== "nothing" && last !== next ? "\n" : "";
  }

  /**
   * Both streams may be the same terminal, so one waits until the other has been taken: the order is what the
   * user sees.
   */
  #out(text: string): void | Promise<void> {
    const { out, err } = this.#options;
    return err.busy ? err.flush().then(() => out.write(text)) : out.write(text);
  }

  /** Writes to standard error as it is, also where little is wanted. */
  err(text: string): void | Promise<void> {
    const { out, err } = this.#options;
    return out.busy ? out.flush().then(() => err.write(text)) : err.write(text);
  }

  async flush(): Promise<void> {
    await this.#options.out.flush();
    await this.#options.err.flush();
  }
}
