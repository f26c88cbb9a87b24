import { type FinishReason, message, type ProviderError, type ToolCall } from "../../../core/mod.ts";
import { isRecord, parseJson, safeText } from "../../../util/json.ts";
import { declinedError, nameOf, quote } from "../../errors.ts";
import { remoteCallChunk } from "../../remote/remote_server.ts";
import { digestOf } from "../../wire/fingerprint.ts";
import type { Fields } from "../../wire/message_parts.ts";
import { addCounts, type Channel, type ReplyContext, WireReply } from "../../wire/wire_reply.ts";
import { KIND, type ReplyPart } from "./messages_request.ts";

const FINISH: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  stop: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
};

/** A content block of a reply as far as it has come. */
interface Block {
  readonly type: "text" | "thinking" | "redacted_thinking" | "tool_use" | "other";
  readonly index: number;
  readonly start: Fields;
  text: string;
  signature: string;
  /** JSON input as far as it has come in pieces. */
  json: string;
  isClosed: boolean;
}

const CHANNELS: Readonly<Record<string, Channel>> = { text: "text", thinking: "reasoning" };

export class MessageReply extends WireReply {
  protected override readonly countsFirst = true;
  /** Digest of everything that was sent before the reply. */
  readonly #after: string;
  readonly #blocks: Block[] = [];
  readonly #texts = { text: "", reasoning: "" };
  readonly #counts: Record<string, number> = {};
  #stop = "";
  #details: Fields = {};

  constructor(context: ReplyContext, after: string) {
    super(KIND, context, /tool_use|input_json/);
    this.#after = after;
  }

  /** The server paused the reply and expects a request to continue it. */
  get #paused(): boolean {
    return this.#stop === "pause_turn";
  }

  protected override add(event: unknown): void {
    if (!isRecord(event)) return;
    const { type, message, delta, content_block: block } = event;
    const index = typeof event.index === "number" ? event.index : -1;
    if (type === "message_start" && isRecord(message)) this.#message(message);
    else if (type === "content_block_start" && isRecord(block)) this.#start(index, block);
    else if (type === "content_block_delta" && isRecord(delta)) this.#delta(index, delta);
    else if (type === "content_block_stop") {
      const closed = this.#find(index);
      if (closed) closed.isClosed = true;
    } else if (type === "message_delta") {
      if (isRecord(delta)) this.#end(delta);
      this.#count(event.usage);
    } else if (type === "message_stop") this.stopped = true;
    else if (type === "message" || Array.isArray(event.content)) this.#message(event);
    const error = event.error ?? undefined;
    if (type !== "error" && error === undefined) return;
    const { request_id: requestId } = event;
    throw this.reported(error ?? event, typeof requestId === "string" ? { requestId } : {});
  }

  /** Returns the error of a reply that the server would not, or could not, complete. */
  protected override settle(): ProviderError | undefined {
    this.#completeInputs();
    const { endpoint } = this.context;
    const { category, explanation } = this.#details;
    if (this.#stop === "model_context_window_exceeded") {
      const text = `${this.#stop}: the answer does not fit behind the conversation`;
      return this.reported(text).error;
    }
    if (this.#stop !== "refusal") return undefined;
    const why = [category, explanation].filter((text) => typeof text === "string").join(": ");
    const detail = quote(why, endpoint);
    const what = message`${nameOf(endpoint)} ended the answer, because the model declines to give it`;
    return declinedError(detail === "" ? what : message`${what} (${detail})`);
  }

  protected override breaksOff(): boolean {
    const last = this.#blocks.at(-1);
    return last?.type === "tool_use" && (!last.isClosed || !this.calls.complete());
  }

  /** Without data where text and calls in their usual order are the whole reply. */
  protected override finished(calls: readonly ToolCall[]) {
    const isPlain = this.#blocks.every(({ type }) => type === "text" || type === "tool_use");
    if (isPlain && !this.#paused) return { calls };
    const blocks = this.#blocks.map(stored);
    const data: ReplyPart = {
      after: this.#after,
      blocks,
      digest: digestOf(blocks),
      ...(this.#paused ? { paused: true } : {}),
    };
    return { calls, data };
  }

  /** The message that a stream begins with is empty; the one of a reply in one piece is all there is. */
  #message(message: Fields): void {
    const { content, usage } = message;
    if (Array.isArray(content)) {
      content.filter(isRecord).forEach((block, index) => this.#start(index, block));
    }
    this.#end(message);
    this.#count(usage);
  }

  #end({ stop_reason: reason, stop_details: details }: Fields): void {
    if (typeof reason === "string" && reason !== "") {
      this.#stop = reason;
      this.finish = FINISH[reason] ?? "unknown";
    }
    if (isRecord(details)) this.#details = details;
  }

  #count(usage: unknown): void {
    if (!isRecord(usage)) return;
    addCounts(this.#counts, usage);
    addCounts(this.#counts, usage.output_tokens_details);
    const {
      input_tokens: fresh,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: written,
      output_tokens: output,
      thinking_tokens: thinking,
    } = this.#counts;
    if ([fresh, read, written, output, thinking].every((count) => count === undefined)) return;
    this.usage = {
      inputTokens: (fresh ?? 0) + (read ?? 0) + (written ?? 0),
      cachedTokens: read ?? 0,
      outputTokens: output ?? 0,
      reasoningTokens: Math.min(thinking ?? 0, output ?? 0),
      ...(written ? { cacheWriteTokens: written } : {}),
    };
  }

  #start(index: number, content: Fields): void {
    const type = typeof content.type === "string" && isKnown(content.type) ? content.type : "other";
    const block: Block = { type, index, start: content, text: "", signature: "", json: "", isClosed: false };
    this.#blocks.push(block);
    const { id, name, signature } = content;
    if (type === "tool_use") {
      this.announce(this.calls.add({ index, id, function: { name } }));
    } else if (content.type === "mcp_tool_result") this.#remoteResult(content);
    else if (type === "text" || type === "thinking") {
      const channel = type === "text" ? "text" : "reasoning";
      this.#separate(block, channel);
      this.#append(block, channel, typeof content[type] === "string" ? content[type] : "");
      if (typeof signature === "string") block.signature = signature;
    }
  }

  #delta(index: number, { type, text, thinking, signature, partial_json }: Fields): void {
    if (type === "text_delta" && typeof text === "string") return this.#say("text", text, index);
    if (type === "thinking_delta" && typeof thinking === "string") {
      return this.#say("reasoning", thinking, index);
    }
    const block = this.#find(index);
    if (block && type === "signature_delta" && typeof signature === "string") block.signature += signature;
    if (type !== "input_json_delta" || typeof partial_json !== "string") return;
    if (block) block.json += partial_json;
    if (block?.type === "tool_use") {
      this.announce(this.calls.add({ index, function: { arguments: partial_json } }));
    }
  }

  /** Takes text for the block of this number; begins a block where there is none. */
  #say(channel: Channel, text: string, index: number): void {
    if (CHANNELS[this.#find(index)?.type ?? ""] !== channel) {
      this.#start(index, { type: channel === "text" ? "text" : "thinking" });
    }
    const block = this.#find(index);
    if (block) this.#append(block, channel, text);
  }

  /** Completes calls without pieces of input. In a cut reply, no input is not the empty input. */
  #completeInputs(): void {
    for (const block of this.#blocks) {
      const { type, index, json, start: { input } } = block;
      if (type !== "tool_use" || json !== "") continue;
      const isCut = this.#stop === "max_tokens" && block === this.#blocks.at(-1);
      if (isRecord(input) && Object.keys(input).length > 0) {
        this.calls.add({ index, function: { arguments: input } });
      } else if (isCut) this.calls.add({ index, function: { arguments: "{" } });
    }
  }

  #remoteResult({ tool_use_id: id, is_error: failed, content }: Fields): void {
    const block = this.#blocks.findLast(({ start }) => start.type === "mcp_tool_use" && start.id === id);
    const { server_name: server, name: tool, input } = block?.start ?? {};
    const args = block && block.json !== "" ? block.json : input;
    this.remoteCalls.push(
      remoteCallChunk({ server, tool, arguments: args, output: content, failed: failed === true }),
    );
  }

  /** Shows blocks with something between them as separate paragraphs. */
  #separate(block: Block, channel: Channel): void {
    const before = this.#texts[channel];
    const follows = CHANNELS[this.#blocks.at(-2)?.type ?? ""] === channel;
    if (before === "" || follows || before.endsWith("\n\n")) return;
    this.#append(block, channel, before.endsWith("\n") ? "\n" : "\n\n");
    block.text = "";
  }

  #append(block: Block, channel: Channel, text: string): void {
    this.#texts[channel] += text;
    block.text += text;
    this.spoken.append(channel, text);
  }

  #find(index: number): Block | undefined {
    return this.#blocks.findLast((block) => block.index === index);
  }
}

function isKnown(type: string): type is Block["type"] {
  return ["text", "thinking", "redacted_thinking", "tool_use"].includes(type);
}

/** A block as it goes back. Calls are written from the message, which has their arguments as they came. */
function stored({ type, start, text, signature, json }: Block): Fields {
  switch (type) {
    case "text":
      return { type, text: safeText(text) };
    case "thinking":
      return { type, thinking: safeText(text), signature };
    case "redacted_thinking":
      return { type, data: typeof start.data === "string" ? start.data : "" };
    case "tool_use":
      return { type };
    default: {
      const input = json === "" ? undefined : parseJson(json);
      return input === undefined ? start : { ...start, input };
    }
  }
}
