import type { Event } from "../../../core/mod.ts";
import { rowsOfLine } from "../screen/line.ts";
import type { Block, MarkdownRenderer, Palette } from "../../../view/mod.ts";

/** Kinds of pieces; pieces of different kinds are separated by a blank line. */
export type PieceKind = "user" | "command" | "text" | "thought" | "call" | "note";

/** The origin of a piece. */
interface PieceSource {
  /** The event that it shows; absent for reports. */
  readonly event?: Event;
  /** Number of the stored event before it. */
  readonly after: number;
}

interface LineDetails {
  /** Loads what the lines are rendered with; undefined when it is loaded. */
  readonly prepare?: (() => Promise<void> | undefined) | undefined;
  /** The item that they show collapsed. */
  readonly item?: CollapsedItem | undefined;
}

interface Lines extends LineDetails {
  readonly kind: PieceKind;
  readonly lines: (columns: number) => readonly string[];
}

/** A completed piece, which can be laid out for any width. */
export interface PrintedPiece {
  readonly kind: PieceKind;
  /** It continues a text without a blank line. */
  readonly follows: boolean;
  /** It has some items of a list, which may look otherwise in the whole list. */
  readonly isPart: boolean;
  readonly source: PieceSource;
  readonly item?: CollapsedItem | undefined;
  rows(columns: number): readonly string[];
  /** Everything that it is rendered with is loaded. */
  isReady(): boolean;
}

/** Reports whether a blank line separates a piece from one of the kind before it. */
export function isApart(last: PieceKind | undefined, { kind, follows }: Spacing): boolean {
  // The output of a command follows its name.
  if (last === undefined || last === "command") return false;
  return last !== kind || (kind === "text" && !follows) || kind === "user";
}

type Spacing = Pick<PrintedPiece, "kind" | "follows">;

/** Progress of a block that is printed in parts. */
interface Progress {
  /** Number of its code lines that were printed before. */
  readonly printed?: number;
  readonly code?: CodeLines;
  /** More of its code or list comes. */
  readonly open?: boolean;
}

interface Markdown extends Progress {
  readonly kind: "text";
  readonly block: Block;
}

type Piece = (Lines | Markdown) & { readonly source: PieceSource };

export interface PrintedPiecesOptions {
  readonly palette: Palette;
  readonly print: (lines: readonly string[], piece: PrintedPiece) => void;
  /** Takes pieces that are not printed. */
  readonly collect?: (piece: PrintedPiece) => void;
  /** Rows can be laid out again: pieces do not wait for their renderer. */
  readonly eager?: () => boolean;
  readonly changed: () => void;
  readonly columns: () => number;
  /** Called when a piece could not be shown and was left out. */
  readonly failed: (error: unknown) => void;
  readonly load: () => Promise<MarkdownRenderer>;
  /** A renderer that is loaded already. */
  readonly loaded?: () => MarkdownRenderer | undefined;
}

/**
 * Completed pieces in order: each is printed once. A piece waits until its renderer is loaded, and later
 * ones wait behind it; until then they are shown live as they are.
 */
export class PrintedPieces {
  /** The origin of the pieces that are added. */
  source: PieceSource = { after: 0 };
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

  /** The kind of the last piece. */
  get last(): PieceKind | undefined {
    return this.#waiting.at(-1)?.kind ?? this.#last;
  }

  warm(): void {
    this.#loading ??= this.#options.load().then(
      (renderer) => void (this.#renderer = renderer),
      // Markdown is readable as it is.
      () => void (this.#renderer = "none"),
    ).then(() => this.#loaded());
  }

  lines(kind: PieceKind, lines: Lines["lines"], details: LineDetails = {}): void {
    this.#add({ kind, lines, ...details, source: this.source });
  }

  block(block: Block, progress: Progress = {}): void {
    this.#add({ kind: "text", block, ...progress, source: this.source });
  }

  /** Pieces that wait for their renderer. */
  waiting(columns: number): string[] {
    let last = this.#last;
    return this.#waiting.flatMap((piece) => {
      const lines = isApart(last, spacing(piece)) ? [""] : [];
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
    return isApart(this.last, { kind, follows });
  }

  #add(piece: Piece): void {
    this.#waiting.push(piece);
    this.flush();
  }

  /** Prints pieces until one has to wait; `all`: without waiting. */
  flush(all = this.#options.eager?.() ?? false): void {
    const { collect, print, columns, changed } = this.#options;
    for (let piece = this.#waiting[0]; piece && (this.#ready(piece) || all); piece = this.#waiting[0]) {
      this.#waiting.shift();
      const printed = this.#printed(piece);
      const lines = collect ? [] : printed.rows(columns());
      collect?.(printed);
      if (lines.length > 0) {
        const rows = isApart(this.#last, printed) ? ["", ...lines] : lines;
        this.#last = piece.kind;
        print(rows, printed);
      }
    }
    if (!collect) changed();
  }

  #loaded(): void {
    this.flush();
    // Pieces that were collected are laid out again.
    if (this.#options.collect) this.#options.changed();
  }

  #printed(piece: Piece): PrintedPiece {
    return {
      ...spacing(piece),
      isPart: "block" in piece && !piece.block.code && (piece.open || piece.block.follows) === true,
      source: piece.source,
      item: "lines" in piece ? piece.item : undefined,
      isReady: () => this.#ready(piece),
      rows: (columns) => this.#rendered(piece, columns),
    };
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
    this.#renderer ??= this.#options.loaded?.();
    if (!("lines" in piece) && !this.#renderer) {
      this.warm();
      return false;
    }
    const loading = "lines" in piece ? piece.prepare?.() : this.renderer?.prepare(piece.block.source);
    void loading?.then(() => this.#loaded());
    return !loading;
  }

  #render(piece: Lines | Markdown, columns: number): readonly string[] {
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

function spacing(piece: Piece): Spacing {
  const follows = "block" in piece && ((piece.block.follows ?? false) || (piece.printed ?? 0) > 0);
  return { kind: piece.kind, follows };
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
  readonly #most: number;
  #characters = 0;

  constructor(most = MAX_ENTRIES) {
    this.#most = most;
  }

  /** Adds an item, unless it is empty, and returns it. */
  add(entry: CollapsedItem): CollapsedItem | undefined {
    if (entry.text.trim() === "") return undefined;
    this.#entries.push(entry);
    this.#characters += entry.text.length;
    while (
      this.#entries.length > 1 && (this.#entries.length > this.#most || this.#characters > MAX_CHARACTERS)
    ) {
      this.#characters -= this.#entries.shift()?.text.length ?? 0;
    }
    return entry;
  }

  get entries(): readonly CollapsedItem[] {
    return this.#entries;
  }
}
