import { type Event, EVENT_VERSION, LIVE_ONLY, type NewEvent } from "../core/mod.ts";
import { apply, emptyState, type SessionState } from "../session/mod.ts";
import type { EventStore } from "./recorder.ts";

/** Keeps a session in memory only: for embedding and tests. */
export class MemoryStore implements EventStore {
  readonly events: Event[] = [];
  readonly state: SessionState = emptyState();

  append(event: NewEvent): Event {
    const live = LIVE_ONLY.has(event.type);
    const seq = live ? 0 : this.events.length + 1;
    const kept: Event = { v: EVENT_VERSION, seq, time: new Date().toISOString(), ...event };
    if (!live) {
      this.events.push(kept);
      apply(this.state, kept);
    }
    return kept;
  }

  sync(): void {}

  close(): void {}
}
