import { type Event, EVENT_VERSION, LIVE_ONLY, type NewEvent } from "../core/mod.ts";
import { apply, emptyState, type SessionState } from "../session/mod.ts";
import { mapTexts } from "../util/json.ts";
import type { EventStore } from "./recorder.ts";

/** Keeps a session in memory only: for embedding and tests. */
export class MemoryStore implements EventStore {
  readonly events: Event[] = [];
  readonly state: SessionState = emptyState();
  readonly #redact: ((text: string) => string) | undefined;

  /** `redact` is applied to each text of an event before it is kept or shown. */
  constructor(redact?: (text: string) => string) {
    this.#redact = redact;
  }

  append(event: NewEvent): Event {
    const live = LIVE_ONLY.has(event.type);
    const seq = live ? 0 : this.events.length + 1;
    const stamped: Event = { v: EVENT_VERSION, seq, time: new Date().toISOString(), ...event };
    const kept = this.#redact && (!live || event.type === "tool.delta")
      ? mapTexts(stamped, this.#redact)
      : stamped;
    if (!live) {
      this.events.push(kept);
      apply(this.state, kept);
    }
    return kept;
  }

  sync(): void {}

  close(): void {}
}
