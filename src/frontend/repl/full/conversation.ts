import type { Event } from "../../../core/mod.ts";
import type { LayoutDeps } from "../chat_layout.ts";
import { itemText, StyledLines } from "../overlay/styled_lines.ts";
import { emphasised, matches } from "../overlay/search.ts";
import { withoutStyles } from "../screen/line.ts";
import type { Frame } from "../screen/view.ts";
import { isApart, type PieceKind, type PrintedPiece } from "../transcript/printed.ts";
import type { ConversationRecord } from "../transcript/record.ts";
import type { Texts } from "../../../i18n/mod.ts";
import { userText } from "../../../util/user_text.ts";
import { type DiffMarks, grouped, type Palette } from "../../../view/mod.ts";
import type { PanelView } from "./panel_view.ts";

interface ConversationDeps extends Pick<LayoutDeps, "record" | "transcript"> {
  readonly palette: Palette;
  readonly panelTexts: () => Pick<Texts["full"], "panels" | "newLines" | "follow">;
  readonly marks: () => DiffMarks | undefined;
  /** Thoughts are open at first. */
  readonly showsReasoning: () => boolean;
}

/** A row of a block; blocks are numbered from the first of the conversation. */
interface Position {
  readonly block: number;
  readonly row: number;
}

const START: Position = { block: 0, row: 0 };

/** The position of the cursor in any width. */
interface Anchor {
  readonly block: number;
  /** Characters of the block before it. */
  readonly offset: number;
  /** Rows of the view above it. */
  readonly above: number;
  /** Rows that had been printed when the end was left. */
  readonly printed: number;
}

interface Row {
  readonly piece: PrintedPiece;
  /** Characters of the block before it. */
  readonly offset: number;
  readonly text: () => string;
  /** The text, with styles only where they are there anyway. */
  readonly plain: string;
}

interface LaidBlock {
  /** May grow at its end. */
  readonly pieces: readonly PrintedPiece[];
  /** The kind of the piece before them. */
  readonly before: PieceKind | undefined;
  /** Width and colors; empty: it has to be laid out again. */
  style: string;
  readonly rows: Row[];
  /** Number of the pieces in rows. */
  laid: number;
}

/** Maximum number of rows of blocks that are out of view. */
const KEPT_ROWS = 2000;
/** Maximum number of stored events within a reply. */
const IN_REPLY = 40;

/**
 * The conversation in a panel. What is in view is laid out from printed pieces or stored events, whatever
 * has scrolled away is dropped; a position is one of a block, so nothing above it has to be laid out.
 */
export class ConversationPanel implements PanelView {
  readonly #deps: ConversationDeps;
  /** The blocks of the session that is shown. */
  #all: ConversationRecord["blocks"] = [];
  readonly #blocks = new Map<number, LaidBlock>();
  /** Items that were opened, or closed where they are open at first. */
  readonly #toggled = new Set<string>();
  /** Absent: the end is followed. */
  #anchor: Anchor | undefined;
  #size = { columns: 80, rows: 1, live: 0 };
  /** The last frame: its first row of the conversation, and the row of the cursor. */
  #top: Position | undefined;
  #caret = 0;
  #query = "";
  #marks: DiffMarks | undefined;
  #style = "none";

  constructor(deps: ConversationDeps) {
    this.#deps = deps;
  }

  title(): string {
    const { record, panelTexts } = this.#deps;
    const { panels: { chat }, newLines } = panelTexts();
    const count = record.rows - (this.#anchor?.printed ?? record.rows);
    return count > 0 ? `${chat} · ${newLines(grouped(count))}` : chat;
  }

  hints(): readonly string[] {
    return this.#anchor ? [this.#deps.panelTexts().follow] : [];
  }

  /** The blocks and rows that are in memory. */
  get kept(): { readonly blocks: number; readonly rows: number } {
    const rows = [...this.#blocks.values()].reduce((sum, block) => sum + block.rows.length, 0);
    return { blocks: this.#blocks.size, rows };
  }

  frame(columns: number, rows: number): Frame {
    this.#sync();
    const { accent, bad, dim } = this.#deps.palette;
    this.#marks = this.#toggled.size > 0 ? this.#deps.marks() : undefined;
    this.#style = `${columns} ${accent(bad(dim("x")))} ${this.#marks !== undefined}`;
    const live = this.#deps.transcript.live(columns, rows);
    if (columns !== this.#size.columns) this.#top = undefined;
    this.#size = { columns, rows, live: live.length };
    if (rows <= 0) return { lines: [] };
    const cursor = this.#cursor;
    const top = this.#top = this.#topAbove(cursor);
    const lines: string[] = [];
    let at = top;
    for (; lines.length < rows && at.block < this.#all.length; at = { block: at.block + 1, row: 0 }) {
      const { rows: all } = this.#laid(at.block);
      if (at.block === cursor.block) this.#caret = lines.length + cursor.row - at.row;
      // A match may go over the ends of some rows.
      const near = Math.max(0, at.row - rows);
      const marks = this.#matches(all.slice(near, at.row + 2 * rows));
      for (let row = at.row; row < all.length && lines.length < rows; row++) {
        lines.push(emphasised(all[row]?.text() ?? "", marks.get(row - near) ?? []));
      }
    }
    this.#evict(top.block, at.block);
    this.#caret = Math.max(0, Math.min(rows - 1, this.#caret));
    return { lines: [...lines, ...live].slice(0, rows), caret: { row: this.#caret, column: 0 } };
  }

  key(key: string): boolean {
    const page = Math.max(1, this.#size.rows - 1);
    const steps: Readonly<Record<string, number>> = { up: -1, down: 1, pageUp: -page, pageDown: page };
    const step = steps[key];
    this.#sync();
    if (step !== undefined) this.#move(step);
    else if (key === "home") this.#choose(START, 0);
    else if (key === "end") this.#follow();
    else if (key === "enter") this.#toggle();
    else return false;
    return true;
  }

  click(row: number): void {
    this.#choose(this.#shift(this.#top ?? START, row), row);
  }

  find(text: string, direction: 1 | -1): boolean {
    const isNext = text === this.#query;
    this.#query = text;
    if (text === "") return false;
    this.#sync();
    const cursor = this.#cursor;
    for (let step = 0; step <= this.#all.length; step++) {
      const block = (cursor.block + direction * step + this.#all.length * 2) % this.#all.length;
      if (!this.#mayHave(block, text)) continue;
      const marks = this.#matches(this.#laid(block).rows);
      const rows = [...marks.keys()].sort((a, b) => direction * (a - b));
      const isBehind = (row: number) => direction * (row - cursor.row) > (isNext ? 0 : -1);
      const row = step === 0 ? rows.find(isBehind) : rows[0];
      if (row !== undefined) {
        this.#choose({ block, row }, Math.floor(this.#size.rows / 3));
        return true;
      }
      this.#evict(block, block);
    }
    return false;
  }

  #matches(rows: readonly Row[]): ReturnType<typeof matches> {
    return this.#query === "" ? new Map() : matches(rows.map(({ plain }) => plain), this.#query);
  }

  copied(): string | undefined {
    this.#sync();
    const { block, row } = this.#cursor;
    const { rows, pieces } = this.#laid(block);
    const { kind, item, source } = rows[row]?.piece ?? {};
    if (!source) return undefined;
    if (kind === "thought") return item?.text;
    const event = kind === "note" ? undefined : this.#stored(source);
    if (event?.type === "message.user") return userText(event.content);
    if (event?.type === "message.end" || event?.type === "tool.end") return event.content;
    const isSame = (other: PrintedPiece) =>
      other.kind === kind && other.source.event === source.event && other.source.after === source.after;
    return pieces.filter(isSame).flatMap((other) => other.rows(this.#size.columns))
      .map(withoutStyles).join("\n");
  }

  /** The event that a piece shows; of a reply that was printed as it came, its end. */
  #stored({ event, after }: PrintedPiece["source"]): Event | undefined {
    if (event?.type !== "message.delta") return event;
    return this.#deps.record.session?.eventsAfter(after, after + IN_REPLY).find(({ type }) =>
      type === "message.end"
    );
  }

  /** Begins again with another session. */
  #sync(): void {
    const { blocks } = this.#deps.record;
    if (blocks === this.#all) return;
    this.#all = blocks;
    this.#blocks.clear();
    this.#toggled.clear();
    this.#follow();
  }

  /** The rows of a block; only those in view are laid out. */
  #laid(index: number): LaidBlock {
    const { record, transcript } = this.#deps;
    const style = this.#style;
    const known = this.#blocks.get(index);
    const { pieces, before } = known ?? record.pieces(index, transcript);
    const block = known?.style === style ? known : { pieces, before, style, rows: [], laid: 0 };
    for (const piece of pieces.slice(block.laid)) this.#append(block, piece);
    block.laid = pieces.length;
    this.#blocks.delete(index);
    this.#blocks.set(index, block);
    return block;
  }

  #append(block: LaidBlock, piece: PrintedPiece): void {
    const { columns } = this.#size;
    const rows = piece.rows(columns);
    if (rows.length === 0) return;
    // It is laid out again until everything is loaded.
    if (!piece.isReady()) block.style = "";
    const isGap = isApart(block.rows.at(-1)?.piece.kind ?? block.before, piece);
    const add = (plain: string, text = () => plain) =>
      block.rows.push({ piece, offset: endOf(block.rows.at(-1)), text, plain });
    for (const row of isGap ? ["", ...rows] : rows) add(row);
    if (!piece.item || !this.#isOpen(piece)) return;
    const style = { palette: this.#deps.palette, marks: this.#marks };
    const opened = new StyledLines([itemText(piece.item, style)]).rows(Math.max(1, columns - 2));
    for (const [at, plain] of opened.plain().entries()) {
      add(`  ${plain}`, () => `  ${opened.slice(at, at + 1)[0] ?? ""}`);
    }
  }

  /** Drops the rows that were in view longest ago. */
  #evict(first: number, last: number): void {
    for (const index of [...this.#blocks.keys()]) {
      if (this.kept.rows <= KEPT_ROWS) return;
      if (index < first || index > last) this.#blocks.delete(index);
    }
  }

  get #cursor(): Position {
    const last = this.#shift(this.#end, -1);
    if (!this.#anchor) return last;
    const { block, offset } = this.#anchor;
    const at = { block, row: this.#laid(block).rows.findLastIndex((row) => row.offset <= offset) };
    return isBefore(at, last) ? at : last;
  }

  /** The first row in view. */
  #topAbove(cursor: Position): Position {
    const { rows } = this.#size;
    if (this.#anchor) return this.#shift(cursor, -Math.min(this.#anchor.above, rows - 1));
    const last = this.#lastTop;
    // A row that moves is written again: while text streams in the rows move by half of the height.
    if (!this.#top || !this.#deps.transcript.busy) return last;
    return isBefore(this.#top, last) ? this.#shift(last, Math.floor(rows / 2)) : this.#top;
  }

  /** The position behind the last row. */
  get #end(): Position {
    const block = this.#all.length - 1;
    return { block, row: this.#laid(block).rows.length };
  }

  /** The first row in view when the end is. */
  get #lastTop(): Position {
    return this.#shift(this.#end, this.#size.live - this.#size.rows);
  }

  #shift({ block, row }: Position, by: number): Position {
    let at = row + by;
    while (at < 0) {
      if (block === 0) return START;
      block -= 1;
      at += this.#laid(block).rows.length;
    }
    for (; block < this.#all.length - 1; block++) {
      const { length } = this.#laid(block).rows;
      if (at < length) return { block, row: at };
      at -= length;
    }
    return { block, row: Math.min(at, this.#laid(block).rows.length) };
  }

  #move(by: number): void {
    const moved = this.#shift(this.#cursor, by);
    if (by > 0 && !isBefore(moved, this.#shift(this.#end, -1))) this.#follow();
    else this.#choose(moved, this.#caret);
  }

  /** Stays at a position, with rows above it; with more of them at the end. */
  #choose(cursor: Position, above: number): void {
    const last = this.#lastTop;
    while (above < this.#size.rows - 1 && isBefore(last, this.#shift(cursor, -above))) above += 1;
    const { block, row } = this.#shift(cursor, 0);
    const printed = this.#anchor?.printed ?? this.#deps.record.rows;
    this.#anchor = { block, offset: this.#laid(block).rows[row]?.offset ?? 0, above, printed };
  }

  #follow(): void {
    this.#anchor = this.#top = undefined;
  }

  #toggle(): void {
    const { block, row } = this.#cursor;
    const laid = this.#laid(block);
    const { piece } = laid.rows[row] ?? {};
    if (!piece?.item) return;
    const key = keyOf(piece);
    if (!this.#toggled.delete(key)) this.#toggled.add(key);
    laid.style = "";
    const start = laid.rows.findIndex((row) => row.piece === piece);
    this.#choose({ block, row: start }, Math.min(this.#caret, Math.floor(this.#size.rows / 3)));
  }

  #isOpen(piece: PrintedPiece): boolean {
    const isOpen = piece.kind === "thought" && this.#deps.showsReasoning();
    return this.#toggled.has(keyOf(piece)) !== isOpen;
  }

  /** Reports whether a block may have a text: where it is only stored, its words are in the events. */
  #mayHave(index: number, text: string): boolean {
    const { record } = this.#deps;
    const events = record.events(index);
    const all = JSON.stringify(events ?? []).toLowerCase();
    return !events || (record.blocks[index]?.pieces.length ?? 0) > 0 ||
      (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).every((word) => all.includes(word));
  }
}

function isBefore(a: Position, b: Position): boolean {
  return a.block < b.block || (a.block === b.block && a.row < b.row);
}

/** Characters up to the end of a row, at least one. Blanks depend on the width. */
function endOf(row: Row | undefined): number {
  return row ? row.offset + Math.max(1, withoutStyles(row.plain).replace(/\s/g, "").length) : 0;
}

/** The name of the item of a piece, whenever it is laid out. */
function keyOf({ kind, source: { after } }: PrintedPiece): string {
  return `${after} ${kind}`;
}
