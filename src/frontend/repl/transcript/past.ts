import { type Event, type EventOf, isMessage } from "../../../core/mod.ts";
import type { SessionState } from "../../../session/mod.ts";
import { oneLine } from "../../../util/terminal_text.ts";

/** Turns of an earlier run that are shown when a session goes on. */
const TURNS = 3;
/** Events of them that are shown at most. */
const EVENTS = 60;

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

/**
 * What the calls of earlier runs did, by their ids, as far as the session tells: the name of the tool and the
 * argument that says most.
 */
export function pastTitles({ calls = [] }: EventOf<"message.end">): [id: string, title: string][] {
  return calls.map(({ id, name, arguments: json }) => [id, oneLine(`${name} ${subjectOf(json)}`)]);
}

function subjectOf(json: string): string {
  const subject = /"(?:command|path|pattern|query|url|name)"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(json)?.[1];
  if (subject === undefined) return "";
  try {
    return String(JSON.parse(subject));
  } catch {
    return "";
  }
}
