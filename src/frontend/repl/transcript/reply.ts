import type { EventOf } from "../../../core/mod.ts";
import type { CallsDeps } from "./calls.ts";
import { CodeLines, codeRows, type PrintedPieces } from "./printed.ts";
import { rowsOfLine } from "../screen/line.ts";
import { fitDisplay } from "../../../util/display_width.ts";
import { terminalSafe } from "../../../util/terminal_text.ts";
import { after } from "../../../util/timer.ts";
import { type Block, grouped, MarkdownBlocks, type Palette, timeText } from "../../../view/mod.ts";

/**
 * The answer of the model as it streams. Complete blocks are printed; the open one is live. Where it is
 * higher than its space, its upper part is printed as far as it can no longer change: the lines of fenced
 * code, the items of a list but the last. Of a paragraph or a table the last rows are shown until it is
 * complete.
 */
class Answer {
  readonly #history: PrintedPieces;
  readonly #palette: Palette;
  #blocks = new MarkdownBlocks();
  #code: CodeLines | undefined;
  /** Number of lines of the open code that were printed. */
  #printed = 0;
  #space = Infinity;
  /** Cached rows of the open block. */
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
      const items = this.#blocks.takeItems(this.#space);
      if (items) this.#history.block(items, { open: true });
    }
  }

  end(): void {
    const rest = this.#blocks.end();
    if (rest) this.#complete(rest);
  }

  /** The last rows of the open block. */
  live(columns: number, rows: number): readonly string[] {
    // One row is left for the activity.
    this.#space = Math.max(2, rows - 2);
    const { open } = this.#blocks;
    if (!open || rows <= 0) return [];
    const parts = this.#history.needsGap("text", open.follows || this.#printed > 0);
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
    const to = Math.min(lines.length - 1, lines.length - this.#space);
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

/** The start of an escape sequence at the end of a text. */
// deno-lint-ignore no-control-regex
const CUT_SEQUENCE = /\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]{0,500}\x1b?)?$/;

/** By then the request was sent. */
const WARM_AFTER_MS = 40;

interface ReplyDeps extends CallsDeps {
  readonly now: () => number;
}

/** A reply of the model as it streams: its thought, collapsed to a line, and its answer. */
export class Reply {
  readonly #deps: ReplyDeps;
  readonly #answer: Answer;
  /** The reasoning so far, and when it began. */
  #thought = "";
  #since = 0;
  /** The reply is a summary of a compaction, which is not shown. */
  #hidden = false;
  #streamed = false;
  /** The start of an escape sequence, which is not shown. */
  #held = "";

  constructor(deps: ReplyDeps) {
    this.#deps = deps;
    this.#answer = new Answer(deps.history, deps.palette);
  }

  begin(event: EventOf<"message.start">): void {
    this.#hidden = event.step === 0;
    [this.#streamed, this.#held] = [false, ""];
    // Loaded before the first block; at once it would delay the request.
    if (!this.#hidden) after(WARM_AFTER_MS, () => this.#deps.history.warm());
  }

  delta({ channel, text }: EventOf<"message.delta">): void {
    if (this.#hidden) return;
    if (channel === "reasoning") return this.#think(text);
    if (text === "") return;
    this.#endThought();
    this.#streamed = true;
    this.#deps.history.warm();
    const whole = this.#held + text;
    // A sequence that is cut in two would be shown as text.
    this.#held = CUT_SEQUENCE.exec(whole)?.[0] ?? "";
    this.#answer.push(terminalSafe(whole.slice(0, whole.length - this.#held.length)));
  }

  /** The reply is complete or interrupted; what was shown stays. The title of its thought may be known. */
  end(event: EventOf<"message.end">, title?: string): void {
    const hidden = this.#hidden || event.step === 0;
    this.#hidden = false;
    if (hidden) return;
    if (this.#thought === "" && !this.#streamed) this.#think(event.reasoning ?? "");
    this.#endThought(event.usage?.reasoningTokens, title);
    if (!this.#streamed && event.content.trim() !== "") this.#answer.push(terminalSafe(event.content));
    this.#answer.end();
    this.#streamed = false;
    if (event.interrupted) {
      const { history, palette, texts } = this.#deps;
      const line = palette.warning(`■ ${texts().interrupted}`);
      history.lines("note", () => [line]);
    }
  }

  /** The request is sent again: what was shown stays, apart from the next reply. */
  breakOff(): void {
    this.#endThought();
    this.#answer.end();
    this.#streamed = false;
  }

  live(columns: number, rows: number): readonly string[] {
    const { palette, texts, now } = this.#deps;
    if (this.#thought === "") return this.#answer.live(columns, rows);
    const head = texts().thinkingFor(timeText(now() - this.#since, texts()));
    const line = fitDisplay(`∴ ${head}`, columns);
    const words = this.#thought.slice(-300).replace(/\s+/g, " ").trim();
    const last = fitEnd(words, columns - 1);
    return [palette.dim(line), ...(last === "" || rows < 2 ? [] : [palette.dim(palette.italic(last))])]
      .slice(0, Math.max(0, rows));
  }

  #think(text: string): void {
    if (this.#thought === "") this.#since = this.#deps.now();
    this.#thought += terminalSafe(text);
  }

  /** Collapses the thought to "thought for 4 s · 320 tokens"; tokens are estimated without a count. */
  #endThought(tokens?: number, known?: string): void {
    const text = this.#thought;
    if (text === "") return;
    this.#thought = "";
    const { history, palette, now, collapsed } = this.#deps;
    const texts = this.#deps.texts();
    const ms = now() - this.#since;
    const time = ms < 1000 ? texts.thought : texts.thoughtFor(timeText(ms, texts));
    const size = tokens
      ? texts.tokens(grouped(tokens))
      : texts.aboutTokens(grouped(Math.max(1, Math.round(text.length / 4))));
    const title = known ?? `${time} · ${size}`;
    const item = collapsed.add({ kind: "thought", title, text });
    history.lines("thought", (columns) => [palette.dim(fitDisplay(`∴ ${title}`, columns))], { item });
  }
}

/** The last words, as many as fit. */
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
