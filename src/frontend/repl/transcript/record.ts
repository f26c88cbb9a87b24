import type { Event } from "../../../core/mod.ts";
import type { Assembly } from "../../../run/mod.ts";
import type { PieceKind, PrintedPiece } from "./printed.ts";
import { isShownMessage, type Transcript, type TranscriptContext } from "./transcript.ts";

type RunSession = Assembly["session"];

/**
 * A printed piece that the stored events do not show, or not in its place: a report, a thought with its time,
 * a reply that broke off, what was printed while a reply came.
 */
export interface KeptPiece {
  readonly piece: PrintedPiece;
  /** The reply with which it was printed; absent: none. */
  readonly reply?: number;
}

/** A run of stored events that is laid out at once. */
interface EventBlock {
  /** Number of its first event. */
  readonly from: number;
  readonly context: TranscriptContext;
  /** Messages before it, since the session was opened. */
  readonly messages: number;
}

/** The part of the conversation that the main screen does not show yet. */
interface Missed {
  /** Kind of the piece that was printed there last. */
  readonly last: PieceKind | undefined;
  /** Pieces of the reply that had begun there, until its end. */
  readonly pieces: PrintedPiece[];
  /** Number of the last event that is shown there, or in `pieces`. */
  seq: number;
  /** The reply that had begun there has not ended. */
  isOpen: boolean;
  /** Later pieces that no stored event shows. */
  readonly kept: Set<PrintedPiece>;
}

/** Maximum number of kept pieces. */
const KEPT = 2000;
/** Replies whose pieces may still wait for their renderer. */
const LATE = 20;
/** Maximum number of events in a block. */
export const BLOCK_EVENTS = 60;

/**
 * The conversation of a session as its stored events show it, and what was printed apart from them. It is
 * small: another view reads the events again.
 */
export class ConversationRecord {
  #session: RunSession | undefined;
  /** The branch of the events before the session was opened, and the number of the last of them. */
  #past = { tip: -1, seq: 0 };
  #seq = 0;
  #blocks: EventBlock[] = [];
  #events = 0;
  #messages = 0;
  /** Reports before the first session. */
  #before: readonly KeptPiece[] = [];
  #kept: KeptPiece[] = [];
  /** Pieces of the reply that has not ended. */
  #open = new Set<PrintedPiece>();
  /** The events that ended the last replies. */
  #ends: readonly Pick<Event, "seq" | "type">[] = [];
  #missed: Missed | undefined;
  #added: (piece: PrintedPiece) => void = () => {};

  get session(): RunSession | undefined {
    return this.#session;
  }

  get past(): { readonly tip: number; readonly seq: number } {
    return this.#past;
  }

  /** Number of the last stored event. */
  get seq(): number {
    return this.#seq;
  }

  get blocks(): readonly EventBlock[] {
    return this.#blocks;
  }

  get messages(): number {
    return this.#messages;
  }

  /** Pieces that were printed before the first session. */
  get before(): readonly KeptPiece[] {
    return this.#session ? this.#before : this.#kept;
  }

  get kept(): readonly KeptPiece[] {
    return this.#kept;
  }

  get missed(): Missed | undefined {
    return this.#missed;
  }

  /** Called with each piece that is printed. */
  set added(added: (piece: PrintedPiece) => void) {
    this.#added = added;
  }

  /** The same session was opened again. */
  reopen(session: RunSession): void {
    this.#session = session;
  }

  /** Begins with a session; `show` prints the end of its conversation. */
  begin(session: RunSession, transcript: Transcript, show: () => void): void {
    const { head, lastSeq } = session.state;
    if (!this.#session) this.#before = this.#kept;
    [this.#session, this.#past, this.#seq] = [session, { tip: head, seq: lastSeq }, lastSeq];
    [this.#kept, this.#events, this.#messages] = [[], 0, 0];
    this.#open.clear();
    this.#ends = [];
    const missed = this.#missed && { ...this.leave(transcript), isOpen: true };
    this.#missed = missed;
    show();
    if (missed) missed.isOpen = false;
    this.#blocks = [{ from: lastSeq + 1, context: transcript.context, messages: 0 }];
  }

  /** From here on nothing is printed on the main screen. */
  leave({ last }: Pick<Transcript, "last">): Missed {
    const isOpen = this.#open.size > 0;
    return this.#missed = { last, pieces: [], seq: this.#seq, isOpen, kept: new Set() };
  }

  /** The main screen shows everything again. */
  comeBack(): void {
    this.#missed = undefined;
  }

  /** Takes an event; `show` prints it. */
  event(event: Event, transcript: Transcript, show: () => void): void {
    if (event.seq > 0 && this.#begins(event)) {
      const { context } = transcript;
      const block = { from: event.seq, messages: this.#messages };
      // The log of a turn ends with it.
      this.#blocks.push({
        ...block,
        context: event.type === "turn.start" ? { todos: context.todos } : context,
      });
      this.#events = 0;
    }
    if (event.type === "message.start" || event.type === "turn.end") this.#open.clear();
    show();
    if (event.seq === 0) return;
    this.#seq = event.seq;
    this.#events += 1;
    if (isShownMessage(event)) this.#messages += 1;
    if (this.#missed?.isOpen) this.#missed.seq = event.seq;
    if (event.type !== "message.end" && event.type !== "message.retry") return;
    if (event.type === "message.end") this.#end(event.seq);
    this.#ends = [...this.#ends.slice(-LATE), { seq: event.seq, type: event.type }];
    this.#open.clear();
    if (this.#missed) this.#missed.isOpen = false;
  }

  /** Takes a piece that was printed. */
  add(piece: PrintedPiece): void {
    if (this.#missed?.isOpen) this.#missed.pieces.push(piece);
    this.#keep(piece);
    this.#added(piece);
  }

  #keep(piece: PrintedPiece): void {
    const { source: { event, after } } = piece;
    const ends = event?.type === "message.end" || event?.type === "message.retry";
    const isReply = isOfReply(piece);
    // A piece that has waited for its renderer may come after the end of its reply.
    const isEnded = this.#ends.find(({ seq }) => seq > after)?.type === "message.end";
    const isStored = isReply
      ? event?.type !== "message.retry" && (isEnded || (event?.seq ?? 0) <= this.#past.seq && ends)
      : event !== undefined && event.seq > 0 && (ends || this.#open.size === 0);
    if (isStored) return;
    if (isReply || this.#open.size > 0) this.#open.add(piece);
    this.#kept.push({ piece });
    if (this.#missed && !this.#missed.isOpen) this.#missed.kept.add(piece);
    if (this.#kept.length > KEPT) this.#kept.shift();
  }

  #begins(event: Event): boolean {
    const isFull = this.#events >= BLOCK_EVENTS && this.#open.size === 0;
    // The thought of a reply is in its block.
    return event.type === "turn.start" ||
      (isFull && (event.type === "tool.start" || event.type === "message.user"));
  }

  /** The text of the reply is stored from here on; what was printed within it has its place only there. */
  #end(seq: number): void {
    const isText = ({ piece }: KeptPiece) => piece.kind === "text" && isOfReply(piece);
    const open = this.#kept.filter(({ piece }) => this.#open.has(piece));
    const isMixed = open.some((kept, at) =>
      kept.piece.isPart || (!isText(kept) && open.slice(0, at).some(isText))
    );
    this.#kept = this.#kept.flatMap((kept) => {
      if (!this.#open.has(kept.piece)) return kept;
      // The text of a thought is stored.
      if (kept.piece.kind === "thought") return { piece: { ...kept.piece, item: undefined }, reply: seq };
      if (isMixed || !isText(kept)) return { ...kept, reply: seq };
      this.#missed?.kept.delete(kept.piece);
      return [];
    });
  }
}

/** Reports whether a piece is text or thought of a reply. */
export function isOfReply({ kind, source: { event } }: PrintedPiece): boolean {
  const type = event?.type;
  return type === "message.delta" ||
    ((type === "message.end" || type === "message.retry") && kind !== "note");
}
