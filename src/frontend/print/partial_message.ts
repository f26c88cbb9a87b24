import type { Event, EventOf, ToolCall } from "../../core/mod.ts";

type Piece = Readonly<Record<string, unknown>>;
type Channel = EventOf<"message.delta">["channel"];

/** The pieces of a message in the shape of Anthropic's message stream, block by block. */
export class PartialMessage {
  #index = 0;
  #open: Channel | undefined;

  /** Returns what an event adds to the stream. */
  pieces(event: Event): readonly Piece[] {
    switch (event.type) {
      case "message.start":
        this.#index = 0;
        this.#open = undefined;
        return event.step === 0 ? [] : [startOf(event)];
      case "message.delta":
        return [...this.#opened(event.channel), this.#delta(event)];
      case "message.end":
        return event.step === 0 ? [] : this.#end(event);
      default:
        return [];
    }
  }

  /** Opens a block for text of this channel where none is open. */
  #opened(channel: Channel): readonly Piece[] {
    if (this.#open === channel) return [];
    const closed = this.#closed();
    this.#open = channel;
    const block = channel === "text"
      ? { type: "text", text: "" }
      : { type: "thinking", thinking: "", signature: "" };
    return [...closed, { type: "content_block_start", index: this.#index, content_block: block }];
  }

  #delta({ channel, text }: EventOf<"message.delta">): Piece {
    const delta = channel === "text"
      ? { type: "text_delta", text }
      : { type: "thinking_delta", thinking: text };
    return { type: "content_block_delta", index: this.#index, delta };
  }

  #closed(): readonly Piece[] {
    if (this.#open === undefined) return [];
    this.#open = undefined;
    return [{ type: "content_block_stop", index: this.#index++ }];
  }

  #end(event: EventOf<"message.end">): readonly Piece[] {
    const closed = this.#closed();
    const calls = (event.calls ?? []).flatMap((call) => callPieces(call, this.#index++));
    const delta = { stop_reason: calls.length > 0 ? "tool_use" : "end_turn", stop_sequence: null };
    const usage = { output_tokens: event.usage?.outputTokens ?? 0 };
    return [...closed, ...calls, { type: "message_delta", delta, usage }, { type: "message_stop" }];
  }
}

function startOf({ model }: EventOf<"message.start">): Piece {
  const usage = { input_tokens: 0, output_tokens: 0 };
  const message = { id: `msg_${crypto.randomUUID()}`, type: "message", role: "assistant", model };
  return {
    type: "message_start",
    message: { ...message, content: [], stop_reason: null, stop_sequence: null, usage },
  };
}

function callPieces({ id, name, arguments: json }: ToolCall, index: number): readonly Piece[] {
  return [
    { type: "content_block_start", index, content_block: { type: "tool_use", id, name, input: {} } },
    { type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: json } },
    { type: "content_block_stop", index },
  ];
}
