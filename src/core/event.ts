import type { EventBodies } from "./event_schema.ts";
import { type Text, textFields } from "./texts.ts";

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

/** Makes a line for the user. */
export function newNotice(
  level: NewEventOf<"notice">["level"],
  code: string,
  text: Text,
): NewEventOf<"notice"> {
  return { type: "notice", level, code, ...textFields(text) };
}

/** Kinds that are streamed to readers but never written to the session file. */
export const LIVE_ONLY: ReadonlySet<EventType> = new Set([
  "turn.state",
  "message.start",
  "message.delta",
  "tool.call",
  "tool.delta",
  "question",
  "question.state",
  "subagent.progress",
  "verification.start",
]);

/**
 * Receives every event in order.
 *
 * Contract: a promise is returned only by a sink that writes to a pipe or a file and is behind; the emitter
 * awaits it before it continues (back-pressure). A front end of a person returns none: what it does not take
 * is dropped there alone.
 */
export type EventSink = (event: Event) => void | Promise<void>;
