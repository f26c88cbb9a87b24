import type { Event } from "../../core/mod.ts";

/** Where the file of a session has an event: bytes from its beginning, without the line feed. */
export interface LogOffset {
  readonly seq: number;
  readonly offset: number;
  readonly length: number;
}

/** Reads events at places of a file, in their order. Throws ReasonixError when they are not there. */
export type EventReader = (places: readonly LogOffset[]) => Event[];

interface NewNode {
  readonly event: Event;
  /** Index of the event before it on its branch; -1: none. */
  readonly parent: number;
  /** The event stays there. */
  readonly place?: LogOffset | undefined;
}

const NUMBERS = 4;
/** Events whose numbers are kept together; an array that grows would leave its smaller selves behind. */
const BLOCK = 1024;

/**
 * The events that shape a conversation, by their index in the order of the file. Those of a session that was
 * opened stay in its file, of which this holds a few numbers for each: an object for each of the thousands
 * of events costs far more than its bytes, and only a rewind wants them back.
 */
export class EventNodes {
  #read: EventReader | undefined;
  /** Parent, seq, offset and length of each. */
  readonly #blocks: Float64Array[] = [];
  readonly #kept = new Map<number, Event>();
  #length = 0;

  constructor(read?: EventReader) {
    this.#read = read;
  }

  get length(): number {
    return this.#length;
  }

  /** Events may stay in the file. */
  get filed(): boolean {
    return this.#read !== undefined;
  }

  /** Returns the index of the new event. */
  push({ event, parent, place }: NewNode): number {
    const index = this.#length++;
    if (index % BLOCK === 0) this.#blocks.push(new Float64Array(BLOCK * NUMBERS));
    const numbers = [parent, event.seq, place?.offset ?? 0, place?.length ?? 0];
    this.#blocks.at(-1)?.set(numbers, index % BLOCK * NUMBERS);
    if (!place) this.#kept.set(index, event);
    return index;
  }

  parent(index: number): number {
    return this.#number(index, 0);
  }

  seq(index: number): number {
    return this.#number(index, 1);
  }

  /** An event that is in memory. */
  kept(index: number): Event | undefined {
    return this.#kept.get(index);
  }

  /** The events that are in memory: turns' beginnings, ends that are not as usual, rewinds, all new ones. */
  get known(): Iterable<Event> {
    return this.#kept.values();
  }

  /** Events by their indexes. */
  read(indexes: readonly number[]): Event[] {
    const absent = indexes.filter((index) => !this.#kept.has(index));
    const read = absent.length > 0 ? this.#read?.(absent.map((index) => this.#place(index))) ?? [] : [];
    let at = 0;
    return indexes.flatMap((index) => this.#kept.get(index) ?? read[at++] ?? []);
  }

  /** Indexes of the events of a branch that ends with one, oldest first; the last so many of them. */
  branch(tip: number, most = Infinity): number[] {
    const branch: number[] = [];
    for (let at = tip; at >= 0 && branch.length < most; at = this.parent(at)) branch.push(at);
    return branch.reverse();
  }

  /** The last events of a branch, oldest first: those of so many turns, and no more than a number. */
  recent(tip: number, most: { readonly turns: number; readonly events: number }): Event[] {
    const branch = this.branch(tip, most.events);
    let turns = 0;
    const isFirst = (at: number) => this.kept(at)?.type === "turn.start" && ++turns === most.turns;
    return this.read(branch.slice(Math.max(0, branch.findLastIndex(isFirst))));
  }

  /** Brings all events into memory, for good. */
  bringIn(): void {
    if (!this.#read) return;
    const indexes = Array.from({ length: this.#length }, (_, index) => index);
    const events = this.read(indexes);
    this.#kept.clear();
    events.forEach((event, index) => this.#kept.set(index, event));
    this.#read = undefined;
  }

  #place(index: number): LogOffset {
    return { seq: this.seq(index), offset: this.#number(index, 2), length: this.#number(index, 3) };
  }

  #number(index: number, which: number): number {
    return this.#blocks[Math.floor(index / BLOCK)]?.[index % BLOCK * NUMBERS + which] ?? -1;
  }
}
