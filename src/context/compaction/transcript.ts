import type { Message } from "../../core/mod.ts";

/** Text with its middle left out when it is longer than `max` characters. */
export function middleCut(text: string, max: number): string {
  if (text.length <= max) return text;
  const head = text.slice(0, Math.floor(max * 0.65)).replace(/[\uD800-\uDBFF]$/, "");
  const tail = text.slice(text.length - Math.floor(max * 0.3)).replace(/^[\uDC00-\uDFFF]/, "");
  return `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`;
}

/** A message as plain text for a reader that is not the model that wrote it. */
function messageText(message: Message, max: number): string {
  if (message.role === "tool") return `[result of ${message.name}]\n${middleCut(message.content, max)}`;
  if (message.role === "user") return `[user]\n${middleCut(message.content, max)}`;
  const calls = (message.calls ?? []).map((call) =>
    `[call] ${call.name} ${middleCut(call.arguments, Math.floor(max / 2))}`
  );
  return ["[assistant]", middleCut(message.content, max), ...calls].filter((part) => part !== "").join("\n");
}

/** The messages as texts of at most `size` characters each, cut between messages. */
export function transcriptParts(messages: readonly Message[], size: number): string[] {
  const parts: string[] = [];
  let open: string[] = [];
  let length = 0;
  for (const message of messages) {
    const text = messageText(message, Math.floor(size / 4));
    if (length + text.length > size && open.length > 0) {
      parts.push(open.join("\n\n"));
      open = [];
      length = 0;
    }
    open.push(text);
    length += text.length + 2;
  }
  if (open.length > 0) parts.push(open.join("\n\n"));
  return parts;
}

/**
 * The same messages with tool outputs and call arguments shortened, for a request that would be too long
 * otherwise.
 */
export function shortened(messages: readonly Message[], max: number): Message[] {
  return messages.map((message): Message => {
    if (message.role === "tool" && message.content.length > max) {
      return {
        role: "tool",
        callId: message.callId,
        name: message.name,
        content: middleCut(message.content, max),
      };
    }
    if (message.role === "user" && message.content.length > 4 * max) {
      return { role: "user", content: middleCut(message.content, 4 * max) };
    }
    if (message.role === "assistant" && message.calls?.some((call) => call.arguments.length > max)) {
      const calls = message.calls.map((call) => ({
        ...call,
        arguments: shortArguments(call.arguments, max),
      }));
      return { ...message, calls };
    }
    return message;
  });
}

/** Arguments that are still JSON, with long texts cut. */
function shortArguments(json: string, max: number): string {
  try {
    return JSON.stringify(
      JSON.parse(json, (_key, value: unknown) => typeof value === "string" ? middleCut(value, max) : value),
    );
  } catch {
    return "{}";
  }
}
