import type { EventOf, ToolMessage } from "../../core/mod.ts";
import type { MessageEntry } from "./message_list.ts";
import type { MessageSource, SessionState } from "./state.ts";

/**
 * Applies a compaction to the conversation. A removal takes the assistant and tool messages out of the
 * range, and the harness's ephemeral remarks; what the user wrote, pinned context and earlier summaries stay
 * as they are, and the new summary follows them. A prune only shortens tool outputs. Neither can leave a tool
 * result without its call.
 */
export function compact(state: SessionState, event: EventOf<"compaction">): void {
  if (event.action === "prune") prune(state, event);
  else removeRange(state, event);
}

function removeRange(state: SessionState, event: EventOf<"compaction">): void {
  const { messageList: list } = state;
  const messages: MessageEntry[] = [];
  const sources: MessageSource[] = [];
  let at = 0;
  let replyRemoved = false;
  list.entries.forEach((message, i) => {
    const source = state.sources[i];
    if (!source) return;
    // Results share the fate of the reply that asked for them, wherever the range begins or ends.
    const removed = source.kind === "tool"
      ? replyRemoved
      : isRemoved(source, event, () => list.at(i)?.content.length ?? 0);
    if (source.kind === "assistant") replyRemoved = removed;
    if (removed) return;
    messages.push(message);
    sources.push(source);
    if (source.seq <= event.to) at = messages.length;
  });
  // Nothing may stand between a reply and its results.
  while (sources[at]?.kind === "tool") at += 1;
  if (event.digest !== "") {
    messages.splice(at, 0, { role: "user", content: event.digest });
    sources.splice(at, 0, { seq: Math.max(event.to, sources[at - 1]?.seq ?? 0), kind: "summary" });
  }
  list.replace(messages);
  state.sources = sources;
}

function isRemoved(
  source: MessageSource,
  event: EventOf<"compaction">,
  characters: () => number,
): boolean {
  if (source.seq < event.from || source.seq > event.to) return false;
  switch (source.kind) {
    case "user":
      return event.keepBelow !== undefined && characters() > event.keepBelow;
    case "pinned":
      return false;
    case "summary":
      return event.digests === true;
    default:
      return true;
  }
}

function prune(state: SessionState, event: EventOf<"compaction">): void {
  const { messageList: list } = state;
  list.replace(list.entries.map((entry, i) => {
    const { seq = 0, kind } = state.sources[i] ?? {};
    if (kind !== "tool" || seq < event.from || seq > event.to) return entry;
    const message = list.at(i);
    if (message?.role !== "tool") return entry;
    const content = prunedOutput(message.content, event);
    return content === message.content
      ? entry
      : { role: "tool", callId: message.callId, name: message.name, content } satisfies ToolMessage;
  }));
  state.sources = [...state.sources];
}

/** Shortens one tool output to its beginning and end around the marker; a short one comes back as it is. */
export function prunedOutput(
  content: string,
  prune: Pick<EventOf<"compaction">, "digest" | "keepBelow" | "keepHead" | "keepTail">,
): string {
  const { digest, keepBelow = 0, keepHead = 0, keepTail = 0 } = prune;
  if (content.length <= Math.max(keepBelow, keepHead + digest.length + keepTail)) return content;
  const head = content.slice(0, keepHead).replace(/[\uD800-\uDBFF]$/, "");
  const tail = content.slice(content.length - keepTail).replace(/^[\uDC00-\uDFFF]/, "");
  return `${head}${digest}${tail}`;
}
