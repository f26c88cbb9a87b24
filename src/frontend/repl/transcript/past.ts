import { type Event, isMessage } from "../../../core/mod.ts";
import type { SessionState } from "../../../session/mod.ts";

/** Turns of an earlier run that are shown when a session goes on. */
const TURNS = 3;
/** Events of them that are shown at most. */
const EVENTS = 90;

/** The end of a session, to be shown again. */
interface Past {
  readonly events: readonly Event[];
  /** Messages before it. */
  readonly earlier: number;
}

/** The last turns of a session that was opened. Costs nothing that grows with the session. */
export function pastOf(state: SessionState): Past {
  const events = state.events.recent(state.head, { turns: TURNS, events: EVENTS });
  const shown = events.filter((event) =>
    event.type === "message.end"
      ? isMessage(event)
      : event.type === "message.user" || event.type === "tool.end"
  );
  return { events, earlier: Math.max(0, state.messageList.length - shown.length) };
}
