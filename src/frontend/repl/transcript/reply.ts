import type { EventOf } from "../../../core/mod.ts";
import { timeText, type TranscriptTexts } from "../chat_texts.ts";
import type { CollapsedItems } from "./calls.ts";
import { rowsOfLine } from "./rows.ts";
import { fitDisplay } from "../../../util/display_width.ts";
import { terminalSafe } from "../../../util/terminal_text.ts";
import { after } from "../../../util/timer.ts";
import {
  type Block,
  grouped,
  MarkdownBlocks,
  type MarkdownRenderer,
  type Palette,
} from "../../../view/mod.ts";

/** What a piece of the transcript is: pieces of different kinds are parted by a blank line. */
type PieceKind = "user" | "command" | "text" | "thought" | "call" | "note";

interface Lines {
  readonly kind: PieceKind;
  readonly lines: (columns: number) => readonly string[];
  /** Loads what the lines are rendered with; undefined when there is nothing to wait for. */
  readonly prepare?: (() => Promise<void> | undefined) | undefined;
}

/** How far the block has come that a piece is of. */
interface Progress {
  /** Lines of its code that were printed before. */
  readonly printed?: number;
  readonly code?: CodeLines;
  /** More of its code comes. */
  readonly open?: boolean;
}

interface Markdown extends Progress {
  readonly kind: "text";
  readonly block: Block;
}

type Piece = Lines | Markdown;

interface PrintedPiecesOptions {
  readonly palette: Palette;
  readonly print: (lines: readonly string[]) => void;
  readonly changed: () => void;
  readonly columns: () => number;
  /** A piece could not be shown, and was left out. */
  readonly failed: (error: unknown) => void;
  /** Loads the renderer of Markdown. */
  readonly load: () => Promise<MarkdownRenderer>;
}

/**
 * What is over, in order: each piece is printed once. What has to be rendered waits for its renderer, and
 * everything behind it too; until then it is shown as it is.
 */
export class PrintedPieces {
  readonly #options: PrintedPiecesOptions;
  #renderer: MarkdownRenderer | "none" | undefined;
  #loading: Promise<void> | undefined;
  #waiting: Piece[] = [];
  #last: PieceKind | undefined;

  constructor(options: PrintedPiecesOptions) {
    this.#options = options;
  }

  get renderer(): MarkdownRenderer | undefined {
    return this.#renderer === "none" ? undefined : this.#renderer;
  }

  /** Something was printed. */
  get begun(): boolean {
    return this.#last !== undefined;
  }

  /** Something is going to be rendered soon. */
  warm(): void {
    this.#loading ??= this.#options.load().then(
      (renderer) => void (this.#renderer = renderer),
      // Markdown is readable as it is.
      () => void (this.#renderer = "none"),
    ).then(() => this.#flush());
  }

  lines(kind: PieceKind, lines: Lines["lines"], prepare?: Lines["prepare"]): void {
    this.#add({ kind, lines, prepare });
  }

  block(block: Block, progress: Progress = {}): void {
    this.#add({ kind: "text", block, ...progress });
  }

  /** What waits for its renderer. */
  waiting(columns: number): string[] {
    let last = this.#last;
    return this.#waiting.flatMap((piece) => {
      const lines = this.#gap(piece, last) ? [""] : [];
      last = piece.kind;
      return [...lines, ...this.#render(piece, columns)];
    });
  }

  /** Whether a blank line parts a piece from what was printed last. */
  partsFrom(kind: PieceKind, follows = false): boolean {
    return this.#gap({ kind, follows }, this.#waiting.at(-1)?.kind ?? this.#last);
  }

  #add(piece: Piece): void {
    this.#waiting.push(piece);
    this.#flush();
  }

  #flush(): void {
    for (let piece = this.#waiting[0]; piece && this.#ready(piece); piece = this.#waiting[0]) {
      const { print, columns } = this.#options;
      this.#waiting.shift();
      const lines = this.#rendered(piece, columns());
      if (lines.length > 0) {
        print(this.#gap(piece, this.#last) ? ["", ...lines] : lines);
        this.#last = piece.kind;
      }
    }
    this.#options.changed();
  }

  #rendered(piece: Piece, columns: number): readonly string[] {
    try {
      return this.#render(piece, columns);
    } catch (error) {
      this.#options.failed(error);
      return [];
    }
  }

  #ready(piece: Piece): boolean {
    if (!("lines" in piece) && !this.#renderer) {
      this.warm();
      return false;
    }
    const loading = "lines" in piece ? piece.prepare?.() : this.renderer?.prepare(piece.block.source);
    void loading?.then(() => this.#flush());
    return !loading;
  }

  #gap(piece: Piece | { readonly kind: PieceKind; readonly follows: boolean }, last?: PieceKind): boolean {
    // What a command prints follows its name.
    if (last === undefined || last === "command") return false;
    const follows = "block" in piece
      ? piece.block.follows || (piece.printed ?? 0) > 0
      : "follows" in piece && piece.follows;
    return last !== piece.kind || (piece.kind === "text" && !follows) || piece.kind === "user";
  }

  #render(piece: Piece, columns: number): readonly string[] {
    if ("lines" in piece) return piece.lines(columns);
    const view = { ...piece, columns, palette: this.#options.palette };
    try {
      return renderBlock(piece.block, this.renderer, view);
    } catch {
      // What cannot be made pretty is shown as it is: a text of a model must not end the chat.
      return renderBlock(piece.block, undefined, view);
    }
  }
}

interface BlockView extends Progress {
  readonly columns: number;
  readonly palette: Palette;
}

/** The rows of a block; of code only those behind the lines that were printed. */
function renderBlock(block: Block, renderer: MarkdownRenderer | undefined, view: BlockView): string[] {
  const { columns, palette, open } = view;
  if (!block.code) {
    const lines = renderer?.render(block.source, columns) ?? block.source.split("\n");
    return lines.flatMap((line) => rowsOfLine(line, columns));
  }
  const code = view.code ?? new CodeLines(block.code.info);
  const rows = codeRows(block.code.lines, code, renderer, view);
  return open ? rows : [...rows, palette.dim("```")];
}

/** The rows of fenced code from the first line that was not printed, behind the fence that opens it. */
function codeRows(
  lines: readonly string[],
  code: CodeLines,
  renderer: MarkdownRenderer | undefined,
  { columns, palette, printed = 0 }: BlockView,
): string[] {
  const rows = code.rows(lines, renderer, palette).slice(printed).flatMap((line) =>
    rowsOfLine(line, columns)
  );
  return printed > 0 ? rows : [...rowsOfLine(palette.dim(`\`\`\`${code.info}`), columns), ...rows];
}

/** Lines before a new one that decide about its colours, such as the beginning of a long comment. */
const CONTEXT = 40;

/** The lines of fenced code in colours: each is coloured once, and a line that was shown stays as it is. */
class CodeLines {
  readonly info: string;
  readonly #done: string[] = [];

  constructor(info: string) {
    this.info = info;
  }

  /** All lines of the code, of which the last one may not be whole. */
  rows(
    lines: readonly string[],
    renderer: MarkdownRenderer | undefined,
    palette: Palette,
  ): readonly string[] {
    const from = this.#done.length;
    const plain = () => lines.slice(from).map((line) => `  ${palette.accent(line.replaceAll("\t", "  "))}`);
    if (!renderer || renderer.prepare(`\`\`\`${this.info}`)) {
      return [...this.#done.slice(0, lines.length), ...plain()];
    }
    if (lines.length <= from) return this.#done.slice(0, lines.length);
    const begin = Math.max(0, from - CONTEXT);
    const text = lines.slice(begin).join("\n").replaceAll("\t", "  ");
    const coloured = renderer.code(text, this.info).slice(from - begin).map((line) => `  ${line}`);
    this.#done.push(...coloured.slice(0, -1));
    return [...this.#done, ...coloured.slice(-1)];
  }
}

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
