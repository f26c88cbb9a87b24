import { terminalSafe } from "../../../util/terminal_text.ts";
import { timeText, type TranscriptTexts } from "./texts.ts";
import { grouped } from "../../../view/mod.ts";

/** The reasoning of the model: a line while it goes on and one when it is over; all of it is kept. */
export class Thought {
  #text = "";
  #since = 0;

  get any(): boolean {
    return this.#text !== "";
  }

  push(text: string, now: number): void {
    if (this.#text === "") this.#since = now;
    this.#text += terminalSafe(text);
  }

  /** The line of a thought that goes on: how long, and its last words. */
  live(now: number, texts: TranscriptTexts): { readonly head: string; readonly words: string } {
    const words = this.#text.slice(-300).replace(/\s+/g, " ").trim();
    return { head: texts.thinkingFor(timeText(now - this.#since, texts)), words };
  }

  /** Ends it; `tokens` as the server has counted them. */
  end(
    now: number,
    texts: TranscriptTexts,
    tokens?: number,
  ): { readonly title: string; readonly text: string } {
    const text = this.#text;
    this.#text = "";
    return { title: thoughtTitle({ text, ms: now - this.#since, tokens }, texts), text };
  }
}

interface Known {
  readonly text: string;
  readonly ms?: number;
  readonly tokens?: number | undefined;
}

/** "thought for 4 s · 320 tokens"; tokens that nobody has counted are estimated. */
function thoughtTitle({ text, ms, tokens }: Known, texts: TranscriptTexts): string {
  const time = ms === undefined || ms < 1000 ? texts.thought : texts.thoughtFor(timeText(ms, texts));
  const size = tokens
    ? texts.tokens(grouped(tokens))
    : texts.aboutTokens(grouped(Math.max(1, Math.round(text.length / 4))));
  return `${time} · ${size}`;
}
