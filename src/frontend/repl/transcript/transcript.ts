import type { Event } from "../../../core/mod.ts";
import { oneLine, terminalSafe } from "../../../util/terminal_text.ts";
import type { Palette } from "../../../view/mod.ts";

export interface TranscriptOptions {
  readonly palette: Palette;
  /** Prints lines into the history of the terminal. */
  readonly print: (lines: readonly string[]) => void;
  /** The live part looks different now. */
  readonly changed: () => void;
  readonly columns: () => number;
}

/**
 * What happened, as lines: what is over is printed once and for good, the rest is the live part.
 */
export class Transcript {
  readonly #options: TranscriptOptions;
  readonly #running = new Map<string, string>();
  #text = "";

  constructor(options: TranscriptOptions) {
    this.#options = options;
  }

  /** Takes an event; a reader of the session. */
  event(event: Event): void {
    const { print, palette, changed } = this.#options;
    switch (event.type) {
      case "message.user":
        if (event.origin === "user" || event.origin === "steer") print(["", ...this.#user(event.content)]);
        break;
      case "message.delta":
        if (event.channel === "text") this.#text += terminalSafe(event.text);
        break;
      case "message.end":
        if (event.step > 0 && event.content !== "") print(["", ...terminalSafe(event.content).split("\n")]);
        this.#text = "";
        break;
      case "tool.start":
        this.#running.set(event.call.id, oneLine(event.title ?? `${event.call.name} ${event.summary}`));
        break;
      case "tool.end": {
        const title = this.#running.get(event.callId) ?? event.name;
        this.#running.delete(event.callId);
        const mark = event.outcome === "ok" ? palette.good("✓") : palette.bad("✗");
        print([`${mark} ${title} ${palette.dim(`· ${oneLine(event.summary)}`)}`]);
        break;
      }
      case "notice":
        print([palette.warning(`! ${oneLine(event.text, 1000)}`)]);
        break;
    }
    changed();
  }

  /** Lines of the program itself: reports of commands, notices. */
  say(text: string): void {
    this.#options.print(terminalSafe(text).split("\n"));
  }

  /** What is going on, in at most so many rows. */
  live(_columns: number, rows: number): string[] {
    const text = this.#text === "" ? [] : this.#text.split("\n");
    const running = [...this.#running.values()].map((title) => this.#options.palette.dim(`… ${title}`));
    return [...text, ...running].slice(-rows);
  }

  #user(text: string): string[] {
    return terminalSafe(text).split("\n").map((line, index) => `${index === 0 ? "> " : "  "}${line}`);
  }
}
