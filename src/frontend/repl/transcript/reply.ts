import type { EventOf } from "../../../core/mod.ts";
import { timeText, type TranscriptTexts } from "../chat_texts.ts";
import { CodeLines, codeRows, CollapsedItems, PrintedPieces } from "./printed.ts";
import { rowsOfLine } from "../screen/line.ts";
import { fitDisplay } from "../../../util/display_width.ts";
import { terminalSafe } from "../../../util/terminal_text.ts";
import { after } from "../../../util/timer.ts";
import { type Block, grouped, MarkdownBlocks, type Palette } from "../../../view/mod.ts";

/** The reasoning of the model: a line while it goes on and one when it is over; all of it is kept. */
class Thought {
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

/**
 * The answer of the model as it streams. Blocks that are complete go to the history; the open one is live.
 * Where it is higher than its room its upper part goes to the history as far as it can no longer change: the
 * lines of fenced code, the items of a list but the last. Of a paragraph and a table, which the next
 * character may change as a whole, the last rows are shown until they are complete.
 */
class Answer {
  readonly #history: PrintedPieces;
  readonly #palette: Palette;
  #blocks = new MarkdownBlocks();
  #code: CodeLines | undefined;
  /** Lines of the open code that are in the history. */
  #printed = 0;
  #room = Infinity;
  /** The rows of the open block, as long as it is the same. */
  #cached: { readonly key: string; readonly rows: readonly string[] } | undefined;

  constructor(history: PrintedPieces, palette: Palette) {
    this.#history = history;
    this.#palette = palette;
  }

  push(text: string): void {
    for (const block of this.#blocks.push(text)) this.#complete(block);
    const { open } = this.#blocks;
    if (open?.code) {
      const { info, lines } = open.code;
      this.#cutCode(lines, info, this.#code ??= new CodeLines(info));
    } else {
      const items = this.#blocks.takeItems(this.#room);
      if (items) this.#history.block(items);
    }
  }

  /** The message is over. */
  end(): void {
    const rest = this.#blocks.end();
    if (rest) this.#complete(rest);
  }

  /** Nothing of what was not printed counts. */
  drop(): void {
    this.#blocks.end();
    [this.#code, this.#printed] = [undefined, 0];
  }

  /** The last rows of the open block. */
  live(columns: number, rows: number): readonly string[] {
    // A row is left for what else is going on.
    this.#room = Math.max(2, rows - 2);
    const { open } = this.#blocks;
    if (!open || rows <= 0) return [];
    const parts = this.#history.partsFrom("text", open.follows || this.#printed > 0);
    return [...(parts ? [""] : []), ...this.#rows(open, columns)].slice(-rows);
  }

  #rows(open: Block, columns: number): readonly string[] {
    const { renderer } = this.#history;
    if (open.code) {
      const code = this.#code ??= new CodeLines(open.code.info);
      const view = { columns, palette: this.#palette, printed: this.#printed };
      return codeRows(open.code.lines, code, renderer, view);
    }
    const key = `${columns} ${renderer !== undefined} ${open.source}`;
    if (this.#cached?.key !== key) {
      const lines = renderer?.render(open.source, columns) ?? open.source.split("\n");
      this.#cached = { key, rows: lines.flatMap((line) => rowsOfLine(line, columns)) };
    }
    return this.#cached.rows;
  }

  #cutCode(lines: readonly string[], info: string, code: CodeLines): void {
    // The last line may not be whole.
    const to = Math.min(lines.length - 1, lines.length - this.#room);
    if (to <= this.#printed) return;
    const block = { source: `\`\`\`${info}`, code: { info, lines: lines.slice(0, to) } };
    this.#history.block(block, { code, printed: this.#printed, open: true });
    this.#printed = to;
  }

  #complete(block: Block): void {
    this.#history.block(block, {
      printed: this.#printed,
      ...(this.#code ? { code: this.#code } : {}),
    });
    [this.#code, this.#printed] = [undefined, 0];
  }
}

/** The beginning of an escape sequence at the end of a text. */
// deno-lint-ignore no-control-regex
const CUT_SEQUENCE = /\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]{0,500}\x1b?)?$/;

/** The request is on its way by then. */
const WARM_AFTER_MS = 40;

interface ReplyParts {
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
