import { rowsOfLine } from "../screen/line.ts";
import type { Block, MarkdownRenderer, Palette } from "../../../view/mod.ts";

/** Kinds of pieces; pieces of different kinds are separated by a blank line. */
type PieceKind = "user" | "command" | "text" | "thought" | "call" | "note";

interface Lines {
  readonly kind: PieceKind;
  readonly lines: (columns: number) => readonly string[];
  /** Loads what the lines are rendered with; undefined when it is loaded. */
  readonly prepare?: (() => Promise<void> | undefined) | undefined;
}

/** Progress of a block that is printed in parts. */
interface Progress {
  /** Number of its code lines that were printed before. */
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

export interface PrintedPiecesOptions {
  readonly palette: Palette;
  readonly print: (lines: readonly string[]) => void;
  readonly changed: () => void;
  readonly columns: () => number;
  /** Called when a piece could not be shown and was left out. */
  readonly failed: (error: unknown) => void;
  readonly load: () => Promise<MarkdownRenderer>;
}

/**
 * Completed pieces in order: each is printed once. A piece waits until its renderer is loaded, and later
 * ones wait behind it; until then they are shown live as they are.
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

  get begun(): boolean {
    return this.#last !== undefined;
  }

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

  /** Pieces that wait for their renderer. */
  waiting(columns: number): string[] {
    let last = this.#last;
    return this.#waiting.flatMap((piece) => {
      const lines = this.#gap(piece, last) ? [""] : [];
      last = piece.kind;
      return [...lines, ...this.#render(piece, columns)];
    });
  }

  /** The rows of blocks that are not printed. */
  laidOut(blocks: readonly Block[], columns: number): string[] {
    return blocks.flatMap((block, at) => [
      ...(at > 0 && !block.follows ? [""] : []),
      ...this.#render({ kind: "text", block }, columns),
    ]);
  }

  /** Reports whether a blank line separates a piece from the last printed one. */
  needsGap(kind: PieceKind, follows = false): boolean {
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
    // The output of a command follows its name.
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
      // A text that cannot be rendered is shown as it is: it must not end the chat.
      return renderBlock(piece.block, undefined, view);
    }
  }
}

interface BlockView extends Progress {
  readonly columns: number;
  readonly palette: Palette;
}

/** The rows of a block; of code only those that were not printed. */
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

/** The rows of fenced code from the first unprinted line, after the opening fence. */
export function codeRows(
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

/** Lines before a new one that determine its colors, such as the start of a long comment. */
const CONTEXT = 40;

/** The lines of fenced code in colors: each is highlighted once and never changes afterwards. */
export class CodeLines {
  readonly info: string;
  readonly #done: string[] = [];

  constructor(info: string) {
    this.info = info;
  }

  /** All lines of the code; the last one may be incomplete. */
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
    const colored = renderer.code(text, this.info).slice(from - begin).map((line) => `  ${line}`);
    this.#done.push(...colored.slice(0, -1));
    return [...this.#done, ...colored.slice(-1)];
  }
}

/** An item that the transcript shows collapsed. */
export interface CollapsedItem {
  readonly kind: "thought" | "output" | "diff" | "summary";
  readonly title: string;
  readonly text: string;
}

/** Limits of what is kept in memory; the session file has everything. */
const MAX_ENTRIES = 200;

const MAX_CHARACTERS = 4 * 1024 * 1024;

export class CollapsedItems {
  readonly #entries: CollapsedItem[] = [];
  #characters = 0;

  add(entry: CollapsedItem): void {
    if (entry.text.trim() === "") return;
    this.#entries.push(entry);
    this.#characters += entry.text.length;
    while (
      this.#entries.length > 1 && (this.#entries.length > MAX_ENTRIES || this.#characters > MAX_CHARACTERS)
    ) {
      this.#characters -= this.#entries.shift()?.text.length ?? 0;
    }
  }

  get entries(): readonly CollapsedItem[] {
    return this.#entries;
  }
}
