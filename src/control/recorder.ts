import {
  type Event,
  type EventSink,
  type Message,
  type NewEvent,
  PersonWaits,
  type Prefix,
} from "../core/mod.ts";
import type { Conversation } from "../agent/mod.ts";
import type { SessionState } from "../session/mod.ts";
import { type TurnState, TurnStates } from "./turn_state.ts";

/** Gives an event its envelope, keeps it, and takes it into the state: a session file, or memory. */
export interface EventStore {
  readonly state: SessionState;
  append(event: NewEvent): Event;
  /** Notices that arose in the store itself and wait to be told. */
  takeNotices?(): readonly NewEvent[];
  /** Flushes to the disk itself. */
  sync(): void | Promise<void>;
  close(): void;
}

/** Makes an event that follows from another one, or nothing. */
export type EventSource = (event: Event) => NewEvent | undefined | Promise<NewEvent | undefined>;

/**
 * The one way into a session: an event is kept first, then taken into the state, then shown to every sink.
 *
 * Contract: a sink records nothing; what follows from an event comes from a source given to `follow`.
 */
export class Recorder implements Conversation {
  readonly #store: EventStore;
  readonly #sinks = new Set<EventSink>();
  readonly #sources: EventSource[] = [];
  readonly #states = new TurnStates();
  readonly #waits = new PersonWaits();
  readonly #now: () => number;

  /** `now`: milliseconds, monotonic; the clock of the process when absent. */
  constructor(store: EventStore, now: () => number = () => performance.now()) {
    this.#store = store;
    this.#now = now;
  }

  get state(): SessionState {
    return this.#store.state;
  }

  get prefix(): Prefix {
    if (!this.state.prefix) throw new TypeError("Cannot run a turn: the conversation has no prefix yet");
    return this.state.prefix;
  }

  get messages(): readonly Message[] {
    return this.state.messages;
  }

  get nextTurn(): number {
    return (this.state.turns.at(-1)?.turn ?? 0) + 1;
  }

  /** Adds a reader; the returned function removes it. */
  subscribe(sink: EventSink): () => void {
    this.#sinks.add(sink);
    return () => this.#sinks.delete(sink);
  }

  /** Records what the source makes of an event once that event was shown to every sink. */
  follow(source: EventSource): void {
    this.#sources.push(source);
  }

  record(event: NewEvent): void | Promise<void> {
    const kept = this.#store.append(event);
    this.#waits.take(kept, this.#now());
    let behind: Promise<unknown> | undefined;
    for (const sink of this.#sinks) {
      const wait = sink(kept);
      if (wait) behind = behind ? Promise.all([behind, wait]) : wait;
    }
    for (const source of this.#sources) {
      const next = source(kept);
      if (next) behind = this.#recordAfter(behind, next);
    }
    const change = this.#states.take(kept);
    if (change) {
      const told = { type: "turn.state", ...change } as const;
      behind = behind ? this.#recordAfter(behind, told) : this.record(told) ?? undefined;
    }
    if (behind) return behind.then(() => {});
  }

  waitedForPerson(since: number, callId?: string): number {
    return this.#waits.since(since, this.#now(), callId);
  }

  /** What the session is doing. */
  get turnState(): TurnState {
    return this.#states.state;
  }

  /** Says that nothing is going on any more, where something that was begun has not ended. */
  async settle(): Promise<void> {
    const change = this.#states.settle();
    if (change) await this.record({ type: "turn.state", ...change });
  }

  async #recordAfter(
    behind: Promise<unknown> | undefined,
    next: NewEvent | Promise<NewEvent | undefined>,
  ): Promise<void> {
    await behind;
    const event = await next;
    if (event) await this.record(event);
  }

  async sync(): Promise<void> {
    await this.#store.sync();
    for (const notice of this.#store.takeNotices?.() ?? []) await this.record(notice);
  }

  close(): void {
    this.#store.close();
  }
}
