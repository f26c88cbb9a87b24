import type { Event } from "../../../core/mod.ts";
import type { TranscriptTexts } from "../chat_texts.ts";
import { emphasised, occurrences, type Range, textLines } from "../overlay/expand.ts";
import { rowsOfLine, withoutStyles } from "../screen/line.ts";
import type { Frame } from "../screen/view.ts";
import { isApart, type PieceKind, type PrintedPiece } from "../transcript/printed.ts";
import { BLOCK_EVENTS, type ConversationRecord, isOfReply, type KeptPiece } from "../transcript/record.ts";
import { Transcript, type TranscriptContext } from "../transcript/transcript.ts";
import type { Texts } from "../../../i18n/mod.ts";
import { userText } from "../../../util/user_text.ts";
import { type DiffMarks, grouped, loadDiffMarks, type Palette } from "../../../view/mod.ts";
import type { PanelView } from "./panel_view.ts";

interface ConversationDeps {
  readonly record: ConversationRecord;
  /** The running conversation. */
  readonly transcript: Transcript;
  readonly palette: Palette;
  readonly texts: () => TranscriptTexts;
  readonly panelTexts: () => Pick<Texts["full"], "panels" | "newLines" | "follow">;
  readonly links?: boolean;
  /** Other panels are next to it. */
  readonly isNarrow?: () => boolean;
  /** Thoughts are open at first. */
  readonly showsReasoning?: () => boolean;
  readonly changed: () => void;
  readonly failed: (error: unknown) => void;
}

/** A row of the conversation: that of a block, counted in a width. */
interface Position {
  readonly block: number;
  readonly row: number;
}

const START: Position = { block: 0, row: 0 };

/** A block in rows, and the first row of each of its pieces. */
interface LaidBlock {
  readonly pieces: PrintedPiece[];
  readonly rows: string[];
  readonly starts: number[];
  /** Another width or 0: it has to be laid out again. */
  columns: number;
  last: PieceKind | undefined;
}

interface BlockEvents {
  readonly events: readonly Event[];
  readonly context: TranscriptContext;
}

/** Maximum number of rows of blocks that are out of view. */
const KEPT_ROWS = 2000;
/** Blocks whose events are read together. */
const READ_BLOCKS = 8;
/** Events in which the beginnings of the calls of a block are looked for. */
const BEFORE = 60;
/** Maximum number of blocks that are printed on the main screen at once. */
const CAUGHT_UP = 60;

/**
 * The conversation in a panel. What is in view is laid out from the stored events, whatever has scrolled away
 * is dropped; a position is a row of a block, so nothing above it has to be laid out.
 */
export class ConversationPanel implements PanelView {
  readonly #deps: ConversationDeps;
  readonly #replay: Transcript;
  #replayed: PrintedPiece[] = [];
  #marks: DiffMarks | undefined;
  #loading: Promise<void> | undefined;
  /** The session of `#past`, `#starts` and the blocks. */
  #session: ConversationRecord["session"];
  /** Nodes of the events before the session was opened, and where their blocks begin. */
  #past: readonly number[] = [];
  #starts: readonly number[] = [];
  readonly #blocks = new Map<number, LaidBlock>();
  /** Stored events that were read last. */
  #read: { readonly from: number; readonly last: number; readonly events: readonly Event[] } | undefined;
  /** Items that were opened, or closed where they are open at first. */
  readonly #toggled = new Set<string>();
  /** The position that was chosen, and the width that its rows count in; absent: the end is followed. */
  #chosen: { readonly columns: number; readonly top: Position; readonly cursor: Position } | undefined;
  /** The same position in the last width. */
  #mapped: { readonly columns: number; readonly top: Position; readonly cursor: Position } | undefined;
  #size = { columns: 80, rows: 1, live: 0 };
  /** The first row in the last frame. */
  #top = START;
  /** The same while the end is followed. */
  #step: { readonly columns: number; readonly top: Position } | undefined;
  #newRows = 0;
  #query = "";
  /** The colors of the rows that are laid out. */
  #theme = "";

  constructor(deps: ConversationDeps) {
    this.#deps = deps;
    const { record, palette, texts, links, changed, failed } = deps;
    this.#replay = new Transcript({
      palette,
      texts,
      print() {},
      collect: (piece) => this.#replayed.push(piece),
      eager: () => true,
      loaded: () => deps.transcript.renderer,
      changed,
      columns: () => this.#size.columns,
      failed,
      still: () => true,
      ...(links === undefined ? {} : { links }),
    });
    record.added = (piece) => this.#added(piece);
  }

  title(): string {
    const { panels: { chat }, newLines } = this.#deps.panelTexts();
    return this.#newRows > 0 ? `${chat} · ${newLines(grouped(this.#newRows))}` : chat;
  }

  hints(): readonly string[] {
    return this.#chosen ? [this.#deps.panelTexts().follow] : [];
  }

  /** The blocks and rows that are in memory. */
  get kept(): { readonly blocks: number; readonly rows: number } {
    const rows = [...this.#blocks.values()].reduce((sum, block) => sum + block.rows.length, 0);
    return { blocks: this.#blocks.size, rows };
  }

  frame(columns: number, rows: number): Frame {
    const { accent, bad, dim } = this.#deps.palette;
    const theme = accent(bad(dim("x")));
    if (theme !== this.#theme) this.#blocks.clear();
    this.#theme = theme;
    this.#sync();
    const live = this.#deps.transcript.live(columns, rows);
    this.#size = { columns, rows, live: live.length };
    if (rows <= 0) return { lines: [] };
    const { top, cursor } = this.#view();
    this.#top = top;
    const lines: string[] = [];
    let caret = 0;
    let at = top;
    for (; lines.length < rows && at.block < this.#count; at = { block: at.block + 1, row: 0 }) {
      const all = this.#laid(at.block).rows;
      const shown = all.slice(at.row, at.row + rows - lines.length);
      if (at.block === cursor.block) caret = lines.length + cursor.row - at.row;
      const marks = this.#query === "" ? undefined : matches(all, this.#query);
      const from = at.row;
      lines.push(...shown.map((row, index) => emphasised(row, marks?.get(from + index) ?? [])));
    }
    this.#evict(top.block, at.block);
    const row = Math.max(0, Math.min(rows - 1, caret));
    return { lines: [...lines, ...live].slice(0, rows), caret: { row, column: 0 } };
  }

  key(key: string): boolean {
    const { rows } = this.#size;
    const page = Math.max(1, rows - 1);
    const steps: Readonly<Record<string, number>> = { up: -1, down: 1, pageUp: -page, pageDown: page };
    const step = steps[key];
    this.#sync();
    if (step !== undefined) this.#move(step);
    else if (key === "home") this.#choose(START, START);
    else if (key === "end") this.#follow();
    else if (key === "enter") this.#toggle();
    else return false;
    return true;
  }

  click(row: number): void {
    this.#choose(this.#top, this.#within(this.#shift(this.#top, row)));
  }

  find(text: string, direction: 1 | -1): boolean {
    const isNext = text === this.#query;
    this.#query = text;
    if (text === "") return false;
    this.#sync();
    const { cursor } = this.#view();
    for (let step = 0; step <= this.#count; step++) {
      const block = (cursor.block + direction * step + this.#count * 2) % this.#count;
      if (!this.#mayHave(block, text)) continue;
      const rows = [...matches(this.#laid(block).rows, text).keys()].sort((a, b) => direction * (a - b));
      const isBehind = (row: number) => direction * (row - cursor.row) > (isNext ? 0 : -1);
      const row = step === 0 ? rows.find(isBehind) : rows[0];
      if (row !== undefined) {
        this.#show({ block, row });
        return true;
      }
      this.#evict(block, block);
    }
    return false;
  }

  copied(): string | undefined {
    this.#sync();
    const { cursor } = this.#view();
    const { pieces } = this.#laid(cursor.block);
    const piece = pieces[this.#pieceAt(cursor)];
    if (!piece) return undefined;
    const { kind, item, source: { event } } = piece;
    if (kind === "thought") return item?.text;
    if (kind !== "note" && event) {
      if (event.type === "message.user") return userText(event.content);
      if (event.type === "message.end" || event.type === "tool.end") return event.content;
    }
    const isSame = (other: PrintedPiece) => event ? other.source.event === event : other === piece;
    return pieces.filter((other) => isSame(other) && other.kind === kind)
      .flatMap((other) => other.rows(this.#size.columns)).map(withoutStyles).join("\n");
  }

  /** Rows for the main screen, which has missed them. */
  missed(columns: number): string[] {
    this.#sync();
    const { record, texts } = this.#deps;
    const { missed, blocks } = record;
    if (!missed) return [];
    const { kept, pieces, seq } = missed;
    const isMissed = (piece: PrintedPiece) => kept.has(piece) || (piece.source.event?.seq ?? 0) > seq;
    const first = Math.max(0, blocks.findLastIndex(({ from }) => from <= seq + 1));
    const from = Math.max(first, blocks.length - CAUGHT_UP);
    const earlier = (blocks[from]?.messages ?? 0) - (blocks[first]?.messages ?? 0);
    const others = blocks.slice(from).flatMap((_, at) =>
      this.#piecesOf(1 + this.#starts.length + from + at).filter(isMissed)
    );
    const before = record.before.map(({ piece }) => piece).filter((piece) => kept.has(piece));
    const begun = this.#layOut([...before, ...pieces], columns, missed.last);
    const note = earlier > 0 ? ["", this.#deps.palette.dim(texts().earlier(grouped(earlier)))] : [];
    return [...begun.rows, ...note, ...this.#layOut(others, columns, begun.last).rows];
  }

  /** Diffs that were laid out without marks are laid out again. */
  async #loadMarks(): Promise<void> {
    this.#marks = await loadDiffMarks(this.#deps.palette).catch(() => undefined);
    for (const block of this.#blocks.values()) block.columns = 0;
    this.#deps.changed();
  }

  get #count(): number {
    return 1 + this.#starts.length + this.#deps.record.blocks.length;
  }

  #sync(): void {
    const { session, past } = this.#deps.record;
    if (session?.id === this.#session?.id) return;
    this.#session = session;
    this.#blocks.clear();
    this.#toggled.clear();
    this.#read =
      this.#chosen =
      this.#mapped =
      this.#step =
        undefined;
    this.#newRows = 0;
    const { events } = session?.state ?? {};
    this.#past = events?.branch(past.tip) ?? [];
    const starts: number[] = [];
    this.#past.forEach((node, at) => {
      const isFirst = at === 0 || events?.kept(node)?.type === "turn.start";
      if (isFirst || at - (starts.at(-1) ?? 0) >= BLOCK_EVENTS) starts.push(at);
    });
    this.#starts = starts;
  }

  #added(piece: PrintedPiece): void {
    const { columns } = this.#size;
    const block = this.#blocks.get(this.#count - 1);
    const before = block?.rows.length ?? 0;
    if (block) {
      block.pieces.push(piece);
      if (block.columns === columns) this.#append(block, piece, columns);
    }
    if (!this.#chosen) return;
    const rows = block?.columns === columns ? block.rows.length - before : piece.rows(columns).length;
    this.#newRows += rows;
  }

  /** The rows of a block; only those in view are laid out. */
  #laid(index: number): LaidBlock {
    const { columns } = this.#size;
    const known = this.#blocks.get(index);
    this.#blocks.delete(index);
    const pieces = known?.pieces ?? this.#piecesOf(index);
    const block = known?.columns === columns
      ? known
      : this.#layOut(pieces, columns, this.#lastBefore(index, pieces[0]));
    // It is laid out again until everything is loaded.
    if (block !== known && !pieces.every((piece) => piece.isReady())) block.columns = 0;
    this.#blocks.set(index, block);
    return block;
  }

  #layOut(pieces: PrintedPiece[], columns: number, last: PieceKind | undefined): LaidBlock {
    const block: LaidBlock = { pieces, columns, rows: [], starts: [], last };
    for (const piece of pieces) this.#append(block, piece, columns);
    return block;
  }

  #append(block: LaidBlock, piece: PrintedPiece, columns: number): void {
    block.starts.push(block.rows.length);
    const rows = piece.rows(columns);
    if (rows.length === 0) return;
    if (isApart(block.last, piece)) block.rows.push("");
    for (const row of rows) block.rows.push(row);
    block.last = piece.kind;
    if (!piece.item || !this.#isOpen(piece)) return;
    this.#loading ??= this.#loadMarks();
    const style = { palette: this.#deps.palette, marks: this.#marks, texts: this.#deps.texts() };
    for (const line of textLines(piece.item, style)) {
      for (const row of rowsOfLine(line, Math.max(1, columns - 2))) block.rows.push(`  ${row}`);
    }
  }

  /** The kind of the last piece before a block; of most only whether there is one counts. */
  #lastBefore(index: number, first: PrintedPiece | undefined): PieceKind | undefined {
    const isFirst = first?.kind === "user" || (first?.kind === "text" && !first.follows);
    for (let at = index - 1; at >= 0; at--) {
      if (isFirst && at > 0 && at <= this.#starts.length) return "note";
      const last = (this.#blocks.get(at)?.pieces ?? this.#piecesOf(at)).at(-1);
      if (last) return last.kind;
    }
    return undefined;
  }

  /** Drops the rows that were in view longest ago. */
  #evict(first: number, last: number): void {
    for (const index of [...this.#blocks.keys()]) {
      if (this.kept.rows <= KEPT_ROWS) return;
      if (index < first || index > last) this.#blocks.delete(index);
    }
  }

  #piecesOf(index: number): PrintedPiece[] {
    const { record } = this.#deps;
    const past = this.#starts.length;
    if (index === 0) return record.before.map(({ piece }) => piece);
    try {
      const { events, context } = index <= past
        ? this.#pastEvents(index - 1)
        : this.#events(index - 1 - past);
      this.#replayed = [];
      this.#replay.replay(events, context, index > past);
      return index <= past ? this.#replayed : this.#withKept(this.#replayed, index - 1 - past);
    } catch (error) {
      this.#deps.failed(error);
      return [];
    }
  }

  /** The events of a block before the session was opened, as a resumed session shows them. */
  #pastEvents(index: number): BlockEvents {
    const nodes = this.#session?.state.events;
    const [from = 0, to] = this.#starts.slice(index, index + 2);
    const read = nodes?.read(this.#past.slice(from, to)) ?? [];
    // The titles of its calls may be in front of it.
    const before = read[0]?.type === "turn.start"
      ? []
      : nodes?.read(this.#past.slice(Math.max(0, from - BEFORE), from)) ?? [];
    const events = read.filter(({ type }) => type !== "checkpoint" && type !== "todo.update");
    return {
      events: [...before.filter(({ type }) => type === "tool.start"), ...events],
      context: { todos: [] },
    };
  }

  #events(index: number): BlockEvents {
    const { record: { session, blocks, seq } } = this.#deps;
    const { from = 0, context = { todos: [] } } = blocks[index] ?? {};
    const last = (blocks[index + 1]?.from ?? seq + 1) - 1;
    if (!this.#read || from < this.#read.from || last > this.#read.last) {
      const first = Math.floor(index / READ_BLOCKS) * READ_BLOCKS;
      const end = (blocks[first + READ_BLOCKS]?.from ?? seq + 1) - 1;
      const start = blocks[first]?.from ?? from;
      this.#read = { from: start, last: end, events: session?.eventsAfter(start - 1, end) ?? [] };
    }
    const events = this.#read.events.filter((event) => event.seq >= from && event.seq <= last);
    return { events, context };
  }

  /** The pieces of stored events and those that were printed apart from them, in order. */
  #withKept(pieces: readonly PrintedPiece[], index: number): PrintedPiece[] {
    const { record: { kept, blocks } } = this.#deps;
    const { from = 0 } = blocks[index] ?? {};
    const end = blocks[index + 1]?.from ?? Infinity;
    const left = kept.filter(({ piece: { source: { event, after } }, reply }) => {
      const seq = reply ?? (event?.seq || after);
      return (seq >= from || index === 0) && seq < end;
    });
    const isKept = (piece: PrintedPiece) => left.some((other) => isSame(other, piece));
    // A thought opens as it is stored.
    const shown = ({ piece, reply }: KeptPiece) => {
      const stored = pieces.find(({ kind, source: { event } }) => kind === "thought" && event?.seq === reply);
      return stored && piece.kind === "thought" ? { ...stored, rows: piece.rows } : piece;
    };
    const all: PrintedPiece[] = [];
    for (const piece of pieces.filter((piece) => !isKept(piece))) {
      const seq = piece.source.event?.seq ?? 0;
      const isBefore = ({ piece, reply }: KeptPiece) => reply ? reply <= seq : piece.source.after < seq;
      while (left[0] && isBefore(left[0])) all.push(...left.splice(0, 1).map(shown));
      all.push(piece);
    }
    return [...all, ...left.map(shown)];
  }

  /** The first row in view, and the row of the cursor. */
  #view(): { readonly top: Position; readonly cursor: Position } {
    const { columns } = this.#size;
    if (!this.#chosen) return { top: this.#followed, cursor: this.#within({ block: this.#count, row: 0 }) };
    if (this.#mapped?.columns !== columns) {
      const { columns: before, top, cursor } = this.#chosen;
      this.#mapped = columns === before
        ? this.#chosen
        : { columns, top: this.#map(top, before), cursor: this.#map(cursor, before) };
    }
    return this.#mapped;
  }

  /** The first row in view while the end is followed: in steps where each row that moves is written again. */
  get #followed(): Position {
    const { columns, rows } = this.#size;
    const end = this.#lastTop;
    const before = this.#step?.columns === columns ? this.#step.top : undefined;
    const isStepped = this.#deps.transcript.busy && this.#deps.isNarrow?.();
    const top = !isStepped || !before
      ? end
      : isBefore(before, end)
      ? this.#shift(end, Math.floor(rows / 2))
      : before;
    this.#step = { columns, top };
    return top;
  }

  /** The first row in view when the end is. */
  get #lastTop(): Position {
    const { rows, live } = this.#size;
    return this.#shift({ block: this.#count - 1, row: this.#laid(this.#count - 1).rows.length }, live - rows);
  }

  /** The position of the same text in another width. */
  #map({ block, row }: Position, columns: number): Position {
    const now = this.#laid(block);
    const at = this.#layOut(now.pieces, columns, this.#lastBefore(block, now.pieces[0]));
    const piece = pieceAt(at, row);
    const [from = 0, start = 0] = [at.starts[piece], now.starts[piece]];
    const end = now.starts[piece + 1] ?? now.rows.length;
    let left = textLength(at.rows.slice(from, row));
    let mapped = start;
    while (mapped < end - 1 && left >= textLength(now.rows.slice(mapped, mapped + 1))) {
      left -= textLength(now.rows.slice(mapped, mapped + 1));
      mapped += 1;
    }
    return { block, row: row === from ? start : mapped };
  }

  #shift({ block, row }: Position, by: number): Position {
    let at = row + by;
    while (at < 0) {
      if (block === 0) return START;
      block -= 1;
      at += this.#laid(block).rows.length;
    }
    for (; block < this.#count - 1; block++) {
      const { length } = this.#laid(block).rows;
      if (at < length) return { block, row: at };
      at -= length;
    }
    return { block, row: Math.min(at, this.#laid(block).rows.length) };
  }

  /** The position, or the last row where it is behind that. */
  #within({ block, row }: Position): Position {
    const last = this.#count - 1;
    if (block <= last && row < this.#laid(block).rows.length) return { block, row };
    return this.#shift({ block: last, row: this.#laid(last).rows.length }, -1);
  }

  #move(by: number): void {
    if (!this.#chosen && by > 0) return;
    const { top, cursor } = this.#view();
    const moved = this.#shift(top, by);
    const next = this.#within(this.#shift(cursor, by));
    const last = this.#within({ block: this.#count, row: 0 });
    if (by > 0 && !isBefore(moved, this.#lastTop) && !isBefore(next, last)) this.#follow();
    else this.#choose(moved, next);
  }

  #choose(wanted: Position, cursor: Position): void {
    const { columns } = this.#size;
    const end = this.#lastTop;
    this.#chosen = this.#mapped = { columns, top: isBefore(end, wanted) ? end : wanted, cursor };
  }

  #follow(): void {
    this.#chosen = this.#mapped = this.#step = undefined;
    this.#newRows = 0;
  }

  /** Moves the cursor, and the view where that is not in it. */
  #show(cursor: Position): void {
    const { rows, live } = this.#size;
    const { top } = this.#view();
    const isVisible = !isBefore(cursor, top) && isBefore(cursor, this.#shift(top, Math.max(1, rows - live)));
    this.#choose(isVisible ? top : this.#shift(cursor, -Math.floor(rows / 3)), cursor);
  }

  #pieceAt({ block, row }: Position): number {
    return pieceAt(this.#laid(block), row);
  }

  #toggle(): void {
    const { top, cursor } = this.#view();
    const at = this.#pieceAt(cursor);
    const block = this.#laid(cursor.block);
    const piece = block.pieces[at];
    if (!piece?.item) return;
    const key = keyOf(piece);
    if (!this.#toggled.delete(key)) this.#toggled.add(key);
    block.columns = 0;
    const { starts, rows: { length } } = this.#laid(cursor.block);
    const start = { ...cursor, row: starts[at] ?? 0 };
    const end = this.#shift(start, (starts[at + 1] ?? length) - start.row);
    const fits = !isBefore(start, top) && !isBefore(this.#shift(top, this.#size.rows), end);
    this.#choose(fits ? top : start, start);
  }

  #isOpen(piece: PrintedPiece): boolean {
    const isOpen = piece.kind === "thought" && (this.#deps.showsReasoning?.() ?? false);
    return this.#toggled.has(keyOf(piece)) !== isOpen;
  }

  /** Reports whether a block can have a text: its words are in the events, or there are other pieces. */
  #mayHave(block: number, text: string): boolean {
    const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
    const past = this.#starts.length;
    if (block === 0 || words.length === 0) return true;
    const { events } = block <= past ? this.#pastEvents(block - 1) : this.#events(block - 1 - past);
    const { from = 0 } = this.#deps.record.blocks[block - 1 - past] ?? {};
    const end = this.#deps.record.blocks[block - past]?.from ?? Infinity;
    const isKept = block > past &&
      this.#deps.record.kept.some(({ piece: { source: { after } } }) => after + 1 >= from && after + 1 < end);
    const all = isKept ? "" : JSON.stringify(events).toLowerCase();
    return isKept || words.every((word) => all.includes(word));
  }
}

/** Reports whether a kept piece was printed in place of one of a stored event. */
function isSame({ piece, reply }: KeptPiece, { kind, source: { event } }: PrintedPiece): boolean {
  if (event?.type === "message.end") return reply === event.seq && piece.kind === kind && isOfReply(piece);
  return event?.type !== "message.retry" && piece.source.event?.seq === event?.seq;
}

function isBefore(a: Position, b: Position): boolean {
  return a.block < b.block || (a.block === b.block && a.row < b.row);
}

function pieceAt({ starts, rows }: LaidBlock, row: number): number {
  return starts.findLastIndex((start, at) => start <= row && start < (starts[at + 1] ?? rows.length));
}

/** The name of the item of a piece, whenever it is laid out. */
function keyOf({ kind, source: { event, after } }: PrintedPiece): string {
  return event && event.seq > 0 && kind !== "thought" ? `${event.seq}` : `${after} ${kind}`;
}

/** Characters of rows, apart from blanks and styles. */
function textLength(rows: readonly string[]): number {
  return rows.reduce((sum, row) => sum + withoutStyles(row).replace(/\s/g, "").length, 0);
}

/** The parts of rows that match a text, also where it goes over the end of a row. */
function matches(rows: readonly string[], query: string): Map<number, Range[]> {
  const found = new Map<number, Range[]>();
  const add = (row: number, range: Range) => found.set(row, [...found.get(row) ?? [], range]);
  const plain = rows.map(withoutStyles);
  plain.forEach((text, row) => {
    for (const range of occurrences(text, query)) add(row, range);
    const head = text.trimEnd();
    const next = plain[row + 1] ?? "";
    const indent = next.length - next.trimStart().length;
    const from = Math.max(0, head.length - query.length);
    for (const gap of ["", " "]) {
      const joined = head.slice(from) + gap + next.slice(indent, indent + query.length);
      for (const [first, last] of occurrences(joined, query)) {
        const behind = from + last - head.length - gap.length;
        if (from + first >= head.length || behind <= 0) continue;
        add(row, [from + first, head.length]);
        add(row + 1, [indent, indent + behind]);
      }
    }
  });
  return found;
}
