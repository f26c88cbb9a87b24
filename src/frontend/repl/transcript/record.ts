import type { Event } from "../../../core/mod.ts";
import type { Assembly } from "../../../run/mod.ts";
import { isApart, type PieceKind, type PrintedPiece } from "./printed.ts";
import { isShownMessage, type Transcript, type TranscriptContext } from "./transcript.ts";

type RunSession = Assembly["session"];

/** A run of stored events that is laid out at once. */
interface EventBlock {
  /** Number of its first event; 0: it was printed before the first session. */
  readonly from: number;
  /** Nodes of its events, and some before them, in a session that was opened; absent for later ones. */
  readonly nodes?: readonly number[];
  context: TranscriptContext;
  /** Its printed pieces; undefined far above, where the events are read again. */
  pieces: PrintedPiece[] | undefined;
  events: number;
  messages: number;
}

/** The part of the conversation that the main screen does not show yet. */
interface Missed {
  /** Kind of the piece that was printed there last. */
  readonly last: PieceKind | undefined;
  pieces: PrintedPiece[];
  /** Messages before them that are too many to be printed there. */
  earlier: number;
}

/** Maximum number of kept pieces, apart from those of the last block. */
const KEPT = 4000;
/** Events of a block, unless a turn ends earlier. */
const BLOCK_EVENTS = 24;
/** Events before a block in which its calls may have begun. */
const BEFORE = 24;

/** The conversation of a session: its stored events in blocks, and what was printed of the last ones. */
export class ConversationRecord {
  #session: RunSession | undefined;
  readonly #before = emptyBlock(0, { todos: [] });
  #blocks = [this.#before];
  /** Number of the first event since the session was opened. */
  #begun = 0;
  #kept = 0;
  #rows = 0;
  #missed: Missed | undefined;

  get session(): RunSession | undefined {
    return this.#session;
  }

  /** At least one; another array for each session. */
  get blocks(): readonly EventBlock[] {
    return this.#blocks;
  }

  /** Rows that were printed up to now. */
  get rows(): number {
    return this.#rows;
  }

  /** Begins with a session, unless it was opened again; `show` prints the end of its conversation. */
  begin(session: RunSession, transcript: Transcript, show: () => void): void {
    const isOther = session.id !== this.#session?.id;
    this.#session = session;
    if (!isOther) return;
    const last = emptyBlock(session.state.lastSeq + 1, { todos: [] });
    this.#blocks = [this.#before, ...pastBlocks(session, this.#before.pieces?.at(-1)?.kind), last];
    [this.#begun, this.#kept] = [last.from, 0];
    show();
    last.context = transcript.context;
  }

  /** From here on nothing is printed on the main screen. */
  leave({ last }: Pick<Transcript, "last">): void {
    this.#missed = { last, pieces: [], earlier: 0 };
  }

  /** Returns what the main screen has missed: it shows everything again. */
  comeBack(columns: number, earlierNote: (messages: number) => string): string[] {
    const { pieces = [], earlier = 0, last: before } = this.#missed ?? {};
    this.#missed = undefined;
    const rows = earlier > 0 ? ["", earlierNote(earlier)] : [];
    let last: PieceKind | undefined = earlier > 0 ? "note" : before;
    for (const piece of pieces) {
      const own = piece.rows(columns);
      if (own.length === 0) continue;
      if (isApart(last, piece)) rows.push("");
      for (const row of own) rows.push(row);
      last = piece.kind;
    }
    return rows;
  }

  /** Takes an event; `show` prints it. */
  event(event: Event, transcript: Transcript, show: () => void): void {
    const { seq, type } = event;
    const { events = 0 } = this.#blocks.at(-1) ?? {};
    if (type === "turn.start" || (type === "tool.start" && events >= BLOCK_EVENTS)) {
      const { log, ...context } = transcript.context;
      // The log of a turn ends with it.
      this.#blocks.push(emptyBlock(seq, type === "turn.start" ? context : { ...context, log }));
    }
    show();
    const block = this.#blocks.at(-1);
    if (!block || seq === 0) return;
    block.events += 1;
    if (isShownMessage(event)) block.messages += 1;
  }

  /** Takes a piece that was printed. */
  add(piece: PrintedPiece, rows: readonly string[]): void {
    this.#rows += rows.length;
    this.#missed?.pieces.push(piece);
    const block = this.#blocks.at(-1);
    const { seq = 0 } = piece.source.event ?? {};
    // The conversation before the session was opened is read from it.
    if (!block || (seq > 0 && seq < this.#begun)) return;
    block.pieces?.push(piece);
    this.#kept += 1;
    if (this.#kept > KEPT) this.#forget();
  }

  /** Forgets what was printed longest ago. */
  #forget(): void {
    const block = this.#blocks.find(({ from, pieces }) => from > 0 && pieces);
    if (!block || block === this.#blocks.at(-1)) return;
    const far = new Set(block.pieces);
    block.pieces = undefined;
    this.#kept -= far.size;
    const missed = this.#missed;
    const left = missed?.pieces.filter((piece) => !far.has(piece)) ?? [];
    if (!missed || left.length === missed.pieces.length) return;
    missed.pieces = left;
    missed.earlier += block.messages;
  }
}

function emptyBlock(from: number, context: TranscriptContext): EventBlock {
  return { from, context, pieces: [], events: 0, messages: 0 };
}

/** The events before a session was opened, as its end is shown. */
function pastBlocks({ state: { events, head } }: RunSession, last: PieceKind | undefined): EventBlock[] {
  const past = events.branch(head);
  return Array.from({ length: Math.ceil(past.length / BLOCK_EVENTS) }, (_, index) => {
    const at = index * BLOCK_EVENTS;
    const nodes = past.slice(Math.max(0, at - BEFORE), at + BLOCK_EVENTS);
    return { ...emptyBlock(events.seq(past[at] ?? 0), { todos: [], last }), pieces: undefined, nodes };
  });
}
