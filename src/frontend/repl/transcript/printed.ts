import { rowsOfLine } from "../screen/line.ts";
import type { Block, MarkdownRenderer, Palette } from "../../../view/mod.ts";

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

/** Lines before a new one that decide about its colours, such as the beginning of a long comment. */
const CONTEXT = 40;

/** The lines of fenced code in colours: each is coloured once, and a line that was shown stays as it is. */
export class CodeLines {
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

/** Something of which the transcript shows only a part. */
export interface Folded {
  readonly kind: "thought" | "output" | "diff" | "summary";
  /** One line that says what it is of. */
  readonly title: string;
  readonly text: string;
}

/** As much is kept as a person may want to look at again; the session file has everything. */
const MAX_ENTRIES = 200;

const MAX_CHARACTERS = 4 * 1024 * 1024;

/** What was folded lately, newest last. */
export class CollapsedItems {
  readonly #entries: Folded[] = [];
  #characters = 0;

  add(entry: Folded): void {
    if (entry.text.trim() === "") return;
    this.#entries.push(entry);
    this.#characters += entry.text.length;
    while (
      this.#entries.length > 1 && (this.#entries.length > MAX_ENTRIES || this.#characters > MAX_CHARACTERS)
    ) {
      this.#characters -= this.#entries.shift()?.text.length ?? 0;
    }
  }

  get entries(): readonly Folded[] {
    return this.#entries;
  }

  clear(): void {
    this.#entries.length = 0;
    this.#characters = 0;
  }
}
