import type { EventBodies } from "./event_schema.ts";

/** Version of the event format and of the session file. */
export const EVENT_VERSION = 1;

export type EventType = keyof EventBodies;

/** An event as a part of the program reports it; the log adds the envelope. */
export type NewEvent = { [K in EventType]: { readonly type: K } & Readonly<EventBodies[K]> }[EventType];

/** Version, place in the session (1, 2, …; 0 for live-only kinds) and time (RFC 3339, UTC). */
interface Envelope {
  readonly v: typeof EVENT_VERSION;
  readonly seq: number;
  readonly time: string;
}

/** One thing that happened. Everything a front end shows and a session keeps is made of these. */
export type Event = NewEvent & Envelope;

export type EventOf<K extends EventType> = Extract<Event, { type: K }>;
export type NewEventOf<K extends EventType> = Extract<NewEvent, { type: K }>;

/** A reply that says and does nothing is recorded for what it cost: it is no message. */
export function isMessage({ content, calls, interrupted }: NewEventOf<"message.end">): boolean {
  return content !== "" || (!interrupted && (calls ?? []).length > 0);
}

/** Kinds that are streamed to readers but never written to the session file. */
export const LIVE_ONLY: ReadonlySet<EventType> = new Set([
  "turn.state",
  "message.start",
  "message.delta",
  "tool.delta",
  "question",
  "subagent.progress",
  "verification.start",
]);

/**
 * Receives every event in order.
 *
 * Contract: a promise is returned only when the sink is behind; the emitter awaits it before it continues
 * (back-pressure).
 */
export type EventSink = (event: Event) => void | Promise<void>;

/** The key of a wait for a person that names no call. */
const ANY_CALL = "";

export interface Wait {
  readonly key: string;
  readonly from: number;
  to: number | undefined;
}

/** The times of a turn in which a person was asked: they are no part of how long a call or the turn took. */
export class PersonWaits {
  #waits: Wait[] = [];

  /** Takes an event; the time is in milliseconds. */
  take(event: Event, now: number): void {
    switch (event.type) {
      case "turn.start":
        this.#waits = [];
        break;
      case "approval.request":
        this.#begin(event.callId, now);
        break;
      case "approval.decision":
      case "tool.end":
        this.#end(event.callId, now);
        break;
      case "plan.change":
        if (event.state === "proposed") this.#begin(ANY_CALL, now);
        else this.#end(ANY_CALL, now);
        break;
      case "question":
        if (event.state === "asked") this.#begin(event.callId ?? ANY_CALL, now);
        else this.#end(event.callId ?? ANY_CALL, now);
        break;
      case "turn.end":
        for (const wait of this.#waits) wait.to ??= now;
        break;
    }
  }

  /** Reports whether an approval of a call is pending, or a prompt that names no call. */
  waiting(callId: string): boolean {
    return this.#waits.some(({ key, to }) => to === undefined && (key === callId || key === ANY_CALL));
  }

  /** Returns the time since `since` in which a person was asked by a call; without one, by anything. */
  since(since: number, now: number, callId?: string): number {
    let counted = since;
    let sum = 0;
    for (const { key, from, to = now } of this.#waits) {
      if (callId !== undefined && key !== callId && key !== ANY_CALL) continue;
      sum += Math.max(0, to - Math.max(from, counted));
      counted = Math.max(counted, to);
    }
    return sum;
  }

  #begin(key: string, now: number): void {
    this.#waits.push({ key, from: now, to: undefined });
  }

  #end(key: string, now: number): void {
    const wait = this.#waits.find((each) => each.key === key && each.to === undefined);
    if (wait) wait.to = now;
  }
}
