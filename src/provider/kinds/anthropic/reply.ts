import {
  type Chunk,
  clausesOf,
  type FinishReason,
  message,
  type ProviderError,
  type ToolCall,
  type Usage,
} from "../../../core/mod.ts";
import { isRecord, parseJson, safeText } from "../../../util/json.ts";
import {
  askOtherwise,
  nameOf,
  providerError,
  type ProviderFailure,
  quote,
  reportedFailure,
  statusIn,
} from "../../errors.ts";
import { remoteCallChunk } from "../../remote/remote_server.ts";
import { ToolCallCollector } from "../../tool_calls.ts";
import type { ReplyCollector, ReplyContext } from "../../wire/collected_reply.ts";
import { digestOf } from "../../wire/fingerprint.ts";
import type { Fields } from "../../wire/message_parts.ts";
import { type Channel, SpokenText } from "../../wire/spoken_text.ts";
import type { ReplyPart } from "./messages.ts";

const FINISH: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  stop: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
};

/** Collects one reply of the Messages API; `after` names all that its request said. */
export class Collector implements ReplyCollector {
  readonly #context: ReplyContext;
  readonly #after: string;
  readonly #blocks: ReplyBlocks;
  readonly #usage = new ReplyUsage();
  /** The server's word for why the reply ended, and what it says about a refusal. */
  #stop: string | undefined;
  #details: Fields = {};
  stopped = false;
  readonly countsFirst = true;

  constructor(context: ReplyContext, after: string) {
    this.#context = context;
    this.#after = after;
    this.#blocks = new ReplyBlocks(context.onCall);
  }

  get calls(): ToolCallCollector {
    return this.#blocks.calls;
  }

  get empty(): boolean {
    return this.#blocks.empty;
  }

  get usage(): Usage | undefined {
    return this.#usage.value;
  }

  get finished(): boolean {
    return this.#stop !== undefined;
  }

  get finish(): FinishReason | undefined {
    return this.#stop === undefined ? undefined : FINISH[this.#stop] ?? "unknown";
  }

  get breaksOff(): boolean {
    return this.#blocks.breaksOffInCall;
  }

  /** True when the server stopped on the way and wants to be asked to continue. */
  get paused(): boolean {
    return this.#stop === "pause_turn";
  }

  take(): readonly Chunk[] {
    return this.#blocks.take();
  }

  end(): readonly Chunk[] {
    return this.#blocks.end();
  }

  settle(): ProviderError | undefined {
    this.#blocks.settle(this.#stop === "max_tokens");
    return this.#refusal();
  }

  kept(calls: readonly ToolCall[]) {
    return { calls, data: this.#blocks.part(this.#after, this.paused) };
  }

  /** Reads one event. Throws a ProviderFailure when it reports an error. */
  add(event: unknown): void {
    if (!isRecord(event)) return;
    const { type, message, delta, content_block: block } = event;
    const index = typeof event.index === "number" ? event.index : -1;
    if (type === "message_start" && isRecord(message)) this.#message(message);
    else if (type === "content_block_start" && isRecord(block)) this.#blocks.start(index, block);
    else if (type === "content_block_delta" && isRecord(delta)) this.#blocks.delta(index, delta);
    else if (type === "content_block_stop") this.#blocks.close(index);
    else if (type === "message_delta") {
      if (isRecord(delta)) this.#end(delta);
      this.#usage.add(event.usage);
    } else if (type === "message_stop") this.stopped = true;
    else if (type === "message" || Array.isArray(event.content)) this.#message(event);
    if (type === "error" || isPresent(event.error)) throw this.#reported(event);
  }

  /** The message that a stream begins with is empty; the one of a reply in one piece is all there is. */
  #message(message: Fields): void {
    const { content, usage } = message;
    if (Array.isArray(content)) {
      content.filter(isRecord).forEach((block, index) => this.#blocks.start(index, block));
    }
    this.#end(message);
    this.#usage.add(usage);
  }

  #end({ stop_reason: reason, stop_details: details }: Fields): void {
    if (typeof reason === "string" && reason !== "") this.#stop = reason;
    if (isRecord(details)) this.#details = details;
  }

  #reported(event: Fields): ProviderFailure {
    const error = isPresent(event.error) ? event.error : event;
    const status = isRecord(error) ? statusIn(error) : undefined;
    const { request_id: requestId } = event;
    return reportedFailure({
      status,
      text: typeof error === "string" ? error : JSON.stringify({ error }),
      requestId: typeof requestId === "string" ? requestId : undefined,
    }, this.#context.endpoint);
  }

  /** The error that a reply is which ended because the server would not, or could not, go on. */
  #refusal(): ProviderError | undefined {
    const { endpoint } = this.#context;
    const [stop, details] = [this.#stop, this.#details];
    if (stop === "model_context_window_exceeded") {
      const text = `${stop}: the answer does not fit behind the conversation`;
      return reportedFailure({ status: undefined, text }, endpoint).error;
    }
    if (stop !== "refusal") return undefined;
    const why = [details.category, details.explanation].filter((text) => typeof text === "string").join(": ");
    const detail = quote(why, endpoint);
    const what = message`${nameOf(endpoint)} ended the answer, because the model declines to give it`;
    const text = clausesOf([detail === "" ? what : message`${what} (${detail})`, askOtherwise()]);
    return providerError("content_filter", text);
  }
}

function isPresent<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}

/** A content block of a reply as far as it has come. */
interface Block {
  readonly type: "text" | "thinking" | "redacted_thinking" | "tool_use" | "other";
  /** Number that its events carry. */
  readonly index: number;
  /** As it was when it began. */
  readonly start: Fields;
  /** Its text, or reasoning. */
  said: string;
  signature: string;
  /** Pieces of JSON input. */
  json: string;
  /** True once the server has said that it is whole. */
  closed: boolean;
}

/** Blocks that say something to people, by the channel they say it on. */
const CHANNELS: Readonly<Record<string, Channel>> = { text: "text", thinking: "reasoning" };

/** Collects the content blocks of one reply; what can be shown at once comes out of {@linkcode take}. */
class ReplyBlocks {
  readonly calls = new ToolCallCollector();
  readonly #spoken = new SpokenText();
  readonly #onCall: ((tool: string) => void) | undefined;
  readonly #blocks: Block[] = [];
  readonly #said = { text: "", reasoning: "" };
  /** Calls that the server has made itself and that nobody was told of yet. */
  #remoteCalls: Chunk[] = [];

  constructor(onCall: ((tool: string) => void) | undefined) {
    this.#onCall = onCall;
  }

  /** True when nothing has come that makes a reply. */
  get empty(): boolean {
    return this.#said.text === "" && this.#said.reasoning === "" && this.calls.size === 0;
  }

  start(index: number, content: Fields): void {
    const type = typeof content.type === "string" && isKnown(content.type) ? content.type : "other";
    const block: Block = { type, index, start: content, said: "", signature: "", json: "", closed: false };
    this.#blocks.push(block);
    if (type === "tool_use") this.#startCall(block);
    else if (content.type === "mcp_tool_result") this.#remoteResult(content);
    else if (type === "text" || type === "thinking") {
      const channel = type === "text" ? "text" : "reasoning";
      this.#separate(block, channel);
      this.#append(block, channel, typeof content[type] === "string" ? content[type] : "");
      if (typeof content.signature === "string") block.signature = content.signature;
    }
  }

  delta(index: number, delta: Fields): void {
    const { type, text, thinking, signature, partial_json } = delta;
    if (type === "text_delta" && typeof text === "string") this.#say("text", text, index);
    else if (type === "thinking_delta" && typeof thinking === "string") {
      this.#say("reasoning", thinking, index);
    } else if (type === "signature_delta" && typeof signature === "string") {
      const block = this.#find(index);
      if (block) block.signature += signature;
    } else if (type === "input_json_delta" && typeof partial_json === "string") {
      const block = this.#find(index);
      if (block) block.json += partial_json;
      if (block?.type === "tool_use") this.calls.add({ index, function: { arguments: partial_json } });
    }
  }

  /** Takes text for the block of this number; begins a block where there is none. */
  #say(channel: Channel, text: string, index: number): void {
    const known = this.#find(index);
    if (known === undefined || CHANNELS[known.type] !== channel) {
      this.start(index, { type: channel === "text" ? "text" : "thinking" });
    }
    const block = this.#find(index);
    if (block) this.#append(block, channel, text);
  }

  /** Takes it that the block of this number is whole. */
  close(index: number): void {
    const block = this.#find(index);
    if (block) block.closed = true;
  }

  /** True when the last block is a call of which something may be missing. */
  get breaksOffInCall(): boolean {
    const last = this.#blocks.at(-1);
    return last?.type === "tool_use" && (!last.closed || !this.calls.complete());
  }

  /**
   * Gives calls without pieces of input what came at their beginning. Where the reply was `cut`, nothing at
   * all is not the input of a call that wants none.
   */
  settle(cut: boolean): void {
    for (const block of this.#blocks) {
      const { type, index, json, start: { input } } = block;
      if (type !== "tool_use" || json !== "") continue;
      const whole = isRecord(input) && Object.keys(input).length > 0;
      if (whole) this.calls.add({ index, function: { arguments: input } });
      else if (cut && block === this.#blocks.at(-1)) this.calls.add({ index, function: { arguments: "{" } });
    }
  }

  take(): readonly Chunk[] {
    return [...this.#spoken.take(), ...this.#remoteCalls.splice(0)];
  }

  end(): readonly Chunk[] {
    return [...this.#spoken.end(), ...this.#remoteCalls.splice(0)];
  }

  /** The content blocks as they go back; undefined where text and calls in their usual order say it all. */
  part(after: string, paused: boolean): ReplyPart | undefined {
    const plain = this.#blocks.every(({ type }) => type === "text" || type === "tool_use");
    if (plain && !paused) return undefined;
    const blocks = this.#blocks.map(stored);
    return { after, blocks, digest: digestOf(blocks), ...(paused ? { paused } : {}) };
  }

  #startCall(block: Block): void {
    const { id, name } = block.start;
    this.calls.add({ index: block.index, id, function: { name } });
    if (typeof name === "string") this.#onCall?.(name);
  }

  #remoteResult({ tool_use_id: id, is_error: failed, content }: Fields): void {
    const block = this.#blocks.findLast(({ start }) => start.type === "mcp_tool_use" && start.id === id);
    const { server_name: server, name: tool, input } = block?.start ?? {};
    const args = block && block.json !== "" ? block.json : input;
    const call = { server, tool, arguments: args, output: content, failed: failed === true };
    this.#remoteCalls.push(remoteCallChunk(call));
  }

  /** Shows blocks with something between them as separate paragraphs. */
  #separate(block: Block, channel: Channel): void {
    const said = this.#said[channel];
    if (said === "" || CHANNELS[this.#blocks.at(-2)?.type ?? ""] === channel || said.endsWith("\n\n")) return;
    this.#append(block, channel, said.endsWith("\n") ? "\n" : "\n\n");
    block.said = "";
  }

  #append(block: Block, channel: Channel, text: string): void {
    this.#said[channel] += text;
    block.said += text;
    this.#spoken.append(channel, text);
  }

  #find(index: number): Block | undefined {
    return this.#blocks.findLast((block) => block.index === index);
  }
}

function isKnown(type: string): type is Block["type"] {
  return ["text", "thinking", "redacted_thinking", "tool_use"].includes(type);
}

/** A block as it goes back. A call is written from the message, whose arguments are the text that came. */
function stored({ type, start, said, signature, json }: Block): Fields {
  switch (type) {
    case "text":
      return { type, text: safeText(said) };
    case "thinking":
      return { type, thinking: safeText(said), signature };
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

/**
 * The counts of a reply. The server tells them at the beginning and again at the end, each time for all of
 * the reply so far: what comes later takes the place of what came before.
 */
class ReplyUsage {
  #fresh = 0;
  #read = 0;
  #written = 0;
  #output = 0;
  #thinking = 0;
  /** True once the server has counted anything. */
  #counted = false;

  add(usage: unknown): void {
    if (!isRecord(usage)) return;
    this.#fresh = this.#latest(usage.input_tokens, this.#fresh);
    this.#read = this.#latest(usage.cache_read_input_tokens, this.#read);
    this.#written = this.#latest(usage.cache_creation_input_tokens, this.#written);
    this.#output = this.#latest(usage.output_tokens, this.#output);
    const { output_tokens_details: details } = usage;
    if (isRecord(details)) this.#thinking = this.#latest(details.thinking_tokens, this.#thinking);
  }

  /** Undefined when the server counted nothing. */
  get value(): Usage | undefined {
    if (!this.#counted) return undefined;
    return {
      inputTokens: this.#fresh + this.#read + this.#written,
      cachedTokens: this.#read,
      outputTokens: this.#output,
      reasoningTokens: Math.min(this.#thinking, this.#output),
      ...(this.#written > 0 ? { cacheWriteTokens: this.#written } : {}),
    };
  }

  #latest(value: unknown, before: number): number {
    if (typeof value !== "number" || !Number.isFinite(value) || value < 0) return before;
    this.#counted = true;
    return Math.round(value);
  }
}
