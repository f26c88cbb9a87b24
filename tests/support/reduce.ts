import type { Event } from "../../src/core/mod.ts";
import { apply, emptyState, type SessionState } from "../../src/session/mod.ts";

/** The state of a session after all of these events. */
export function reduce(events: Iterable<Event>): SessionState {
  const state = emptyState();
  for (const event of events) apply(state, event);
  return state;
}
