/** What a server of each provider kind answers while starts of the program are traced. */

/** The shortest complete reply of a wire, event by event. */
const REPLIES: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>> = {
  openai: [
    { choices: [{ index: 0, delta: { role: "assistant", content: "Hello." }, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  ],
  anthropic: [
    {
      type: "message_start",
      message: { id: "trace", role: "assistant", content: [], usage: { input_tokens: 1, output_tokens: 1 } },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello." } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } },
    { type: "message_stop" },
  ],
  google: [{
    candidates: [{ index: 0, content: { role: "model", parts: [{ text: "Hello." }] }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  }],
  responses: responsesReply(),
};

/** The kinds whose start is traced. */
export const TRACED_KINDS = Object.keys(REPLIES);

/** The kind that most endpoints speak: its code lies in the program itself. */
export const USUAL_KIND = "openai";

/** The shortest answer in the form of a kind. */
export function answerOf(kind: string): Response {
  return answerWith(kind, REPLIES[kind] ?? []);
}

/** A server's answer of these events in the form of a kind. */
export function answerWith(kind: string, events: readonly Readonly<Record<string, unknown>>[]): Response {
  const text = events.map((event) => {
    const name = typeof event.type === "string" ? `event: ${event.type}\n` : "";
    return `${name}data: ${JSON.stringify(event)}\n\n`;
  }).join("");
  const end = kind === USUAL_KIND ? "data: [DONE]\n\n" : "";
  return new Response(text + end, { headers: { "content-type": "text/event-stream" } });
}

function responsesReply(): Readonly<Record<string, unknown>>[] {
  const part = { type: "output_text", text: "Hello.", annotations: [] };
  const item = { type: "message", id: "trace", role: "assistant", status: "completed", content: [part] };
  const place = { output_index: 0, item_id: "trace", content_index: 0 };
  const response = { id: "trace", status: "completed", output: [item] };
  return [
    { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
    { type: "response.content_part.added", ...place, part: { ...part, text: "" } },
    { type: "response.output_text.delta", ...place, delta: "Hello." },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: { ...response, usage: { input_tokens: 1, output_tokens: 1 } } },
  ];
}
