import type { Event, EventOf } from "../../../core/mod.ts";
import type { Assembly } from "../../../run/mod.ts";
import { isApart, type PieceKind, type PrintedPiece } from "./printed.ts";
import { isShownMessage, type Transcript, type TranscriptContext } from "./transcript.ts";

type RunSession = Assembly["session"];

/** A run of stored events that is laid out at once. */
interface EventBlock {
  /** Number of its first event; 0: it was printed before the first session. */
  readonly from: number;
  /** Its first node of a session that was opened; absent for later events. */
  readonly node?: number;
  context: TranscriptContext;
  /** Printed pieces; once the block is over, only what its stored events do not show in the same way. */
  pieces: PrintedPiece[];
  isOver: boolean;
  /** Ends and retries of its replies; once it is over, the replies whose pieces are kept. */
  replies: EventOf<"message.end" | "message.retry">[];
  events: number;
  messages: number;
}

/** The part of the conversation that the main screen does not show yet. */
interface Missed {
  /** Kind of the piece that was printed there last. */
  readonly last: PieceKind | undefined;
  /** Pieces of other sessions, and of the end of a session that was opened. */
  pieces: PrintedPiece[];
  /** Messages before them that are too many to be printed there. */
  earlier: number;
  /** The first block after them, and the number of its pieces that were printed there. */
  block: EventBlock;
  printed: number;
}

/** Limits of what is kept of blocks that are over: pieces, and titles of thoughts. */
const [KEPT_PIECES, KEPT_TITLES] = [500, 5000];
/** Maximum number of blocks that are printed again on the main screen. */
const MISSED_BLOCKS = 100;
/** Events of a block, unless a turn ends earlier. */
const BLOCK_EVENTS = 24;
/** Events before a block in which its calls may have begun, and before a turn. */
const BEFORE = { calls: 24, turn: 4 };

/**
 * The conversation of a session in blocks. The stored events of a block that is over are shown again; what
 * they do not have is kept: reports, replies that broke off, and the times of thoughts.
 */
export class ConversationRecord {
  readonly #failed: (error: unknown) => void;
  #session: RunSession | undefined;
  readonly #before = newBlock(0, { todos: [] });
  /** Those since the session was opened. */
  #live: EventBlock[] = [];
  /** The events before, and all blocks, once they are needed. */
  #past: readonly number[] = [];
  #head = -1;
  #blocks: EventBlock[] | undefined;
  #kept = 0;
  readonly #titles = new Map<number, string>();
  #rows = 0;
  #missed: Missed | undefined;

  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  get session(): RunSession | undefined {
    return this.#session;
  }

  /** At least one; another array for each session. */
  get blocks(): readonly EventBlock[] {
    return this.#blocks ??= [this.#before, ...this.#pastBlocks(), ...this.#live];
  }

  /** Rows that were printed up to now. */
  get rows(): number {
    return this.#rows;
  }

  get #last(): EventBlock {
    return this.#live.at(-1) ?? this.#before;
  }

  /** Begins with a session, unless it was opened again; `show` prints the end of its conversation. */
  begin(session: RunSession, transcript: Transcript, show: () => void): void {
    const isOther = session.id !== this.#session?.id;
    const missed = this.#missed;
    if (missed && isOther) this.#collect(missed, transcript);
    this.#session = session;
    if (!isOther) return;
    const last = newBlock(session.state.lastSeq + 1, { todos: [] });
    [this.#live, this.#blocks, this.#head, this.#kept] = [[last], undefined, session.state.head, 0];
    this.#titles.clear();
    show();
    last.context = transcript.context;
    if (missed) [missed.block, missed.printed] = [last, 0];
  }

  /** From here on nothing is printed on the main screen. */
  leave({ last }: Pick<Transcript, "last">): void {
    const block = this.#last;
    this.#missed = { last, pieces: [], earlier: 0, block, printed: block.pieces.length };
  }

  /** Returns what the main screen has missed: it shows everything again. */
  comeBack(transcript: Transcript, columns: number, earlierNote: (messages: number) => string): string[] {
    const missed = this.#missed;
    if (!missed) return [];
    this.#collect(missed, transcript);
    this.#missed = undefined;
    if (missed.block !== this.#last) this.#close(missed.block);
    const rows = missed.earlier > 0 ? ["", earlierNote(missed.earlier)] : [];
    let last: PieceKind | undefined = missed.earlier > 0 ? "note" : missed.last;
    for (const piece of missed.pieces) {
      const own = piece.rows(columns);
      if (own.length === 0) continue;
      if (isApart(last, piece)) rows.push("");
      for (const row of own) rows.push(row);
      last = piece.kind;
    }
    return rows;
  }

  /** Adds the pieces of blocks to those that were missed; of too many the first ones are only counted. */
  #collect(missed: Missed, transcript: Transcript): void {
    const { block, printed } = missed;
    const first = this.blocks.indexOf(block);
    const from = Math.max(first, this.blocks.length - MISSED_BLOCKS);
    missed.earlier += this.blocks.slice(first, from).reduce((sum, { messages }) => sum + messages, 0);
    if (from > first) missed.pieces = [];
    for (let at = from; at < this.blocks.length; at++) {
      const own = at === first ? block.pieces.slice(printed) : this.pieces(at, transcript).pieces;
      missed.pieces.push(...own);
    }
  }

  /** Takes an event; `show` prints it. */
  event(event: Event, transcript: Transcript, show: () => void): void {
    const { seq, type } = event;
    if (type === "turn.start" || (type === "tool.start" && this.#last.events >= BLOCK_EVENTS)) {
      const { log, ...context } = transcript.context;
      if (this.#last !== this.#missed?.block) this.#close(this.#last);
      // The log of a turn ends with it.
      const block = newBlock(seq, type === "turn.start" ? context : { ...context, log });
      this.#live.push(block);
      this.#blocks?.push(block);
    }
    show();
    if (seq === 0) return;
    const block = this.#last;
    block.events += 1;
    if (isShownMessage(event)) block.messages += 1;
    if (type === "message.end" || type === "message.retry") block.replies.push(event);
  }

  /** Takes a piece that was printed. */
  add(piece: PrintedPiece, rows: readonly string[]): void {
    this.#rows += rows.length;
    const { event, after } = piece.source;
    const seq = event ? event.seq || after + 1 : Infinity;
    // The conversation before the session was opened is read from it.
    if (event?.seq && seq < (this.#live[0]?.from ?? 0)) return void this.#missed?.pieces.push(piece);
    // A piece may have waited for its renderer until after its block.
    const block = this.#live.findLast(({ from }) => from <= seq) ?? this.#before;
    if (!block.isOver) block.pieces.push(piece);
  }

  /** Drops what the stored events of a block show. */
  #close(block: EventBlock): void {
    if (block === this.#before) return;
    const { pieces, replies } = block;
    /** The pieces of each reply; undefined: those of events. */
    const byReply = Map.groupBy(pieces, ({ kind, source: { event, after } }) => {
      if (kind !== "text" && kind !== "thought" || !event) return undefined;
      return event.type === "message.delta" ? replies.find(({ seq }) => seq > after) : event;
    });
    const kept = replies.filter((reply) => !isShownBy(reply, byReply.get(reply) ?? [], pieces));
    for (const reply of replies) {
      const [first] = byReply.get(reply) ?? [];
      if (first?.kind === "thought" && first.item) this.#titles.set(reply.seq, first.item.title);
    }
    for (const seq of [...this.#titles.keys()].slice(0, -KEPT_TITLES)) this.#titles.delete(seq);
    const isKept = new Set(kept.flatMap((reply) => byReply.get(reply) ?? []));
    block.pieces = pieces.filter((piece) => !piece.source.event || isKept.has(piece));
    [block.replies, block.isOver] = [kept, true];
    this.#kept += block.pieces.length;
    for (let at = 0; this.#kept > KEPT_PIECES && at < this.#live.length; at++) {
      const oldest = this.#live[at];
      if (!oldest?.isOver) continue;
      this.#kept -= oldest.pieces.length;
      [oldest.pieces, oldest.replies] = [[], []];
    }
  }

  /** The pieces of a block, and the kind of the one before them. */
  pieces(
    index: number,
    transcript: Transcript,
  ): { readonly pieces: readonly PrintedPiece[]; readonly before: PieceKind | undefined } {
    const block = this.blocks[index] ?? this.#before;
    const { from, node, context, pieces, replies } = block;
    const events = this.events(index);
    if (!events) return { pieces, before: context.last };
    const all = transcript.replayed(events, { ...context, titles: this.#titles }, node === undefined);
    const isBefore = ({ source: { event } }: PrintedPiece) => (event?.seq ?? 0) < from;
    const isKept = ({ kind, source: { event } }: PrintedPiece) =>
      (kind === "text" || kind === "thought") && replies.some((reply) => reply.seq === event?.seq);
    const shown = all.filter((piece) => !isBefore(piece) && !isKept(piece));
    return {
      pieces: [...pieces, ...shown].sort((a, b) => orderOf(a) - orderOf(b)),
      before: all.findLast(isBefore)?.kind ?? context.last,
    };
  }

  /** The stored events of a block that is over. */
  events(index: number): readonly Event[] | undefined {
    const [{ from = 0, node, isOver = false } = {}, next] = this.blocks.slice(index, index + 2);
    if (!isOver) return undefined;
    try {
      if (node === undefined) return this.#session?.eventsAfter(from - 1, next && next.from - 1);
      const before = this.#beginsTurn(node) ? BEFORE.turn : BEFORE.calls;
      const nodes = this.#past.slice(Math.max(0, node - before), next?.node);
      // As a resumed session shows them.
      return this.#session?.state.events.read(nodes)
        .filter(({ type }) => type !== "checkpoint" && type !== "todo.update");
    } catch (error) {
      return void this.#failed(error);
    }
  }

  /** The events before the session was opened. */
  #pastBlocks(): EventBlock[] {
    const events = this.#session?.state.events;
    this.#past = events?.branch(this.#head) ?? [];
    const context = { todos: [], last: this.#before.pieces.at(-1)?.kind };
    const blocks: EventBlock[] = [];
    for (let node = 0; node < this.#past.length;) {
      const from = events?.seq(this.#past[node] ?? 0) ?? 0;
      blocks.push({ ...newBlock(from, context), node, isOver: true });
      node += BLOCK_EVENTS;
      const most = node + BLOCK_EVENTS;
      while (node < most && !this.#beginsTurn(node)) node++;
    }
    return blocks;
  }

  #beginsTurn(node: number): boolean {
    return this.#session?.state.events.kept(this.#past[node] ?? -1)?.type === "turn.start";
  }
}

function newBlock(from: number, context: TranscriptContext): EventBlock {
  return { from, context, pieces: [], isOver: false, replies: [], events: 0, messages: 0 };
}

/** Reports whether the event of a reply shows its pieces as they were printed among others. */
function isShownBy(
  reply: EventBlock["replies"][number],
  pieces: readonly PrintedPiece[],
  all: readonly PrintedPiece[],
): boolean {
  if (pieces.length === 0) return true;
  const from = all.findIndex((piece) => piece === pieces[0]);
  return reply.type === "message.end" && pieces.every((piece, at) =>
    piece === all[from + at] &&
    ((piece.kind === "text" && !piece.isPart) ||
      (at === 0 && reply.reasoning !== undefined && piece.item !== undefined))
  );
}

/** Pieces that events do not show come after those of the event before them. */
function orderOf({ source: { event, after } }: PrintedPiece): number {
  return event?.seq || after + 0.5;
}
