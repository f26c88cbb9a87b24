import type { EventOf } from "../../../core/mod.ts";
import { fitDisplay } from "../../../util/display_width.ts";
import { terminalSafe } from "../../../util/terminal_text.ts";
import { after } from "../../../util/timer.ts";
import type { Palette } from "../../../view/mod.ts";
import { Answer } from "./answer.ts";
import type { CollapsedItems } from "./collapsed.ts";
import type { PrintedPieces } from "./printed_pieces.ts";
import type { TranscriptTexts } from "./texts.ts";
import { Thought } from "./thought.ts";

/** The beginning of an escape sequence at the end of a text. */
// deno-lint-ignore no-control-regex
const CUT_SEQUENCE = /\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]{0,500}\x1b?)?$/;

/** The request is on its way by then. */
const WARM_AFTER_MS = 40;

export interface ReplyParts {
  readonly palette: Palette;
  readonly history: PrintedPieces;
  readonly folded: CollapsedItems;
  readonly texts: () => TranscriptTexts;
  readonly now: () => number;
}

/** A reply of the model while it comes: its thought, folded to a line, and its answer. */
export class Reply {
  readonly #parts: ReplyParts;
  readonly #answer: Answer;
  readonly #thought = new Thought();
  /** A summary is being written, which nobody is shown. */
  #hidden = false;
  #streamed = false;
  /** The beginning of an escape sequence, which is not shown. */
  #held = "";

  constructor(parts: ReplyParts) {
    this.#parts = parts;
    this.#answer = new Answer(parts.history, parts.palette);
  }

  begin(event: EventOf<"message.start">): void {
    this.#hidden = event.step === 0;
    [this.#streamed, this.#held] = [false, ""];
    // So that the first block has not to wait for it; loaded at once it would hold up the request.
    if (!this.#hidden) after(WARM_AFTER_MS, () => this.#parts.history.warm());
  }

  delta({ channel, text }: EventOf<"message.delta">): void {
    if (this.#hidden) return;
    if (channel === "reasoning") return this.#thought.push(text, this.#parts.now());
    if (text === "") return;
    this.#endThought();
    this.#streamed = true;
    this.#parts.history.warm();
    const whole = this.#held + text;
    // A sequence that is cut in two would be shown as text.
    this.#held = CUT_SEQUENCE.exec(whole)?.[0] ?? "";
    this.#answer.push(terminalSafe(whole.slice(0, whole.length - this.#held.length)));
  }

  /** The reply is whole, or broke off; what was shown of it stays. */
  end(event: EventOf<"message.end">): void {
    const hidden = this.#hidden || event.step === 0;
    this.#hidden = false;
    if (hidden) return;
    if (!this.#thought.any && !this.#streamed) this.#thought.push(event.reasoning ?? "", this.#parts.now());
    this.#endThought(event.usage?.reasoningTokens);
    if (!this.#streamed && event.content.trim() !== "") this.#answer.push(terminalSafe(event.content));
    this.#answer.end();
    this.#streamed = false;
    if (event.interrupted) {
      const { history, palette, texts } = this.#parts;
      const line = palette.warning(`■ ${texts().interrupted}`);
      history.lines("note", () => [line]);
    }
  }

  /** The request is sent again: what was shown stays, and is no part of the next reply. */
  breakOff(): void {
    this.#endThought();
    this.#answer.end();
    this.#streamed = false;
  }

  live(columns: number, rows: number): readonly string[] {
    const { palette, texts, now } = this.#parts;
    if (!this.#thought.any) return this.#answer.live(columns, rows);
    const { head, words } = this.#thought.live(now(), texts());
    const line = fitDisplay(`∴ ${head}`, columns);
    const room = columns - 1;
    // The last words, as many as fit.
    const last = fitEnd(words, room);
    return [palette.dim(line), ...(last === "" || rows < 2 ? [] : [palette.dim(palette.italic(last))])]
      .slice(0, Math.max(0, rows));
  }

  #endThought(tokens?: number): void {
    if (!this.#thought.any) return;
    const { history, palette, texts, now, folded } = this.#parts;
    const { title, text } = this.#thought.end(now(), texts(), tokens);
    folded.add({ kind: "thought", title, text });
    history.lines("thought", (columns) => [palette.dim(fitDisplay(`∴ ${title}`, columns))]);
  }
}

/** The end of a text that fits. */
function fitEnd(text: string, columns: number): string {
  const words = text.split(" ");
  let line = "";
  for (let word = words.pop(); word !== undefined; word = words.pop()) {
    const longer = line === "" ? word : `${word} ${line}`;
    if (fitDisplay(longer, columns) !== longer) return line === "" ? fitDisplay(word, columns) : line;
    line = longer;
  }
  return line;
}
