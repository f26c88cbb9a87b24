import { type Event, type EventOf, isMessage, type Message } from "../../core/mod.ts";

/**
 * The treatment of a message by compaction: it keeps what the user wrote, what is pinned and earlier
 * summaries.
 */
export type MessageKind = "user" | "pinned" | "summary" | "ephemeral" | "assistant" | "tool";

/**
 * The message an event adds to the conversation, or undefined when it adds none. This is the whole mapping;
 * live turns and resumed sessions both go through it, which is what keeps their requests byte-identical.
 */
export function messageOf(event: Event): Message | undefined {
  switch (event.type) {
    case "message.user":
      return {
        role: "user",
        content: event.content,
        ...(event.images?.length ? { images: event.images } : {}),
      };
    case "message.end":
      return assistantMessage(event);
    case "tool.end":
      return {
        role: "tool",
        callId: event.callId,
        name: event.name,
        content: event.content,
        ...(event.images?.length ? { images: event.images } : {}),
      };
    default:
      return undefined;
  }
}

/**
 * A reply that broke off keeps what was shown; its calls were never acted on and would wait for results
 * forever.
 */
function assistantMessage(event: EventOf<"message.end">): Message | undefined {
  if (!isMessage(event)) return undefined;
  const calls = event.interrupted ? [] : event.calls ?? [];
  return {
    role: "assistant",
    content: event.content,
    ...(event.reasoning ? { reasoning: event.reasoning } : {}),
    ...(calls.length > 0 ? { calls } : {}),
    ...(!event.interrupted && event.parts?.length ? { parts: event.parts } : {}),
  };
}

/** Says how a compaction treats the message of this event. */
export function kindOf(event: Event): MessageKind {
  if (event.type === "message.end") return "assistant";
  if (event.type !== "message.user") return "tool";
  switch (event.origin) {
    case "user":
    case "steer":
      return "user";
    case "context":
      return "pinned";
    default:
      return "ephemeral";
  }
}

const isText = (value: unknown): value is string => typeof value === "string";

/**
 * Reports whether a parsed line can be used. Only what the conversation is made of is looked at: a field that
 * is missing there would make every later request invalid, so such a line counts as damaged.
 */
export function isUsable(value: unknown): value is Event {
  if (typeof value !== "object" || value === null) return false;
  const event = value as Record<string, unknown>;
  if (!isText(event.type) || !Number.isSafeInteger(event.seq)) return false;
  switch (event.type) {
    case "message.user":
      return isText(event.content);
    case "image.described":
      return isText(event.image) && isText(event.provider) && isText(event.model) && isText(event.text);
    case "message.end":
      return isText(event.content) && (event.calls === undefined || areCalls(event.calls));
    case "tool.end":
      return isText(event.callId) && isText(event.name) && isText(event.content);
    case "tool.start":
      return areCalls([event.call]);
    case "context.prefix":
      return isText(event.system) && Array.isArray(event.tools);
    case "compaction":
      return Number.isFinite(event.from) && Number.isFinite(event.to) && isText(event.digest);
    case "rewind":
      return Number.isFinite(event.to);
    case "todo.update":
      return Array.isArray(event.items);
    default:
      return true;
  }
}

function areCalls(value: unknown): boolean {
  return Array.isArray(value) && value.every((call: unknown) => {
    if (typeof call !== "object" || call === null) return false;
    const { id, name, arguments: args } = call as Record<string, unknown>;
    return isText(id) && isText(name) && isText(args);
  });
}
