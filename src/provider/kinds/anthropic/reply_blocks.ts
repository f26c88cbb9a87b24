import type { Chunk } from "../../../core/mod.ts";
import { isRecord, parseJson, safeText } from "../../../util/json.ts";
import { ToolCallCollector } from "../../tool_calls.ts";
import type { Channel } from "../../wire/delta_template.ts";
import { nameOfTexts } from "../../wire/fingerprint.ts";
import { SpokenText } from "../../wire/spoken_text.ts";
import { remoteCallChunk } from "../../remote/remote_server.ts";
import type { ReplyBlock, ReplyPart } from "./reply_part.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A content block of a reply as far as it has come. */
interface Block {
  readonly type: "text" | "thinking" | "redacted_thinking" | "tool_use" | "other";
  /** Number that its events carry. */
  readonly index: number;
  /** As it was when it began. */
  readonly start: Fields;
  /** Where its text begins and ends among all text, or reasoning, of the reply. */
  from: number;
  to: number;
  signature: string;
  /** Pieces of JSON input. */
  json: string;
  /** True once the server has said that it is whole. */
  closed: boolean;
}

/** Blocks that say something to people, by the channel they say it on. */
const CHANNELS: Readonly<Record<string, Channel>> = { text: "text", thinking: "reasoning" };

/** Collects the content blocks of one reply; what can be shown at once comes out of {@linkcode take}. */
export class ReplyBlocks {
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
    const block: Block = {
      type,
      index,
      start: content,
      from: 0,
      to: 0,
      signature: "",
      json: "",
      closed: false,
    };
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
    if (type === "text_delta" && typeof text === "string") this.say("text", text, index);
    else if (type === "thinking_delta" && typeof thinking === "string") {
      this.say("reasoning", thinking, index);
    } else if (type === "signature_delta" && typeof signature === "string") {
      const block = this.#find(index);
      if (block) block.signature += signature;
    } else if (type === "input_json_delta" && typeof partial_json === "string") {
      const block = this.#find(index);
      if (block) block.json += partial_json;
      if (block?.type === "tool_use") this.calls.add({ index, function: { arguments: partial_json } });
    }
  }

  /** Takes text for the block of this number, else for the last one; begins a block where there is none. */
  say(channel: Channel, text: string, index?: number): void {
    const find = () => index === undefined ? this.#blocks.at(-1) : this.#find(index);
    const fits = (block: Block | undefined) => block !== undefined && CHANNELS[block.type] === channel;
    if (!fits(find())) {
      this.start(index ?? this.#blocks.length, { type: channel === "text" ? "text" : "thinking" });
    }
    const block = find();
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

  /**
   * What the next request has to say of this reply beyond its text and calls; undefined where that is
   * nothing. `calls` is how many there are.
   */
  part(after: string, calls: number, paused: boolean): ReplyPart | undefined {
    const plain = this.#blocks.every(({ type }) => type === "text" || type === "tool_use");
    if (plain && !paused) return undefined;
    const [text, reasoning] = [safeText(this.#said.text), safeText(this.#said.reasoning)];
    let call = 0;
    const blocks = this.#blocks.map((block): ReplyBlock => {
      if (block.type === "tool_use") return { type: "tool_use", call: call++ };
      return stored(block);
    });
    const of = nameOfTexts(text, reasoning);
    const size = [text.length, reasoning.length, calls] as const;
    return { after, of, size, blocks, ...(paused ? { paused } : {}) };
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

  /** Blocks with something between them are paragraphs of their own for people. */
  #separate(block: Block, channel: Channel): void {
    const said = this.#said[channel];
    if (said !== "" && CHANNELS[this.#blocks.at(-2)?.type ?? ""] !== channel && !said.endsWith("\n\n")) {
      this.#append(block, channel, said.endsWith("\n") ? "\n" : "\n\n");
    }
    block.from = this.#said[channel].length;
    block.to = block.from;
  }

  #append(block: Block, channel: Channel, text: string): void {
    this.#said[channel] += text;
    block.to = this.#said[channel].length;
    this.#spoken.append(channel, text);
  }

  #find(index: number): Block | undefined {
    return this.#blocks.findLast((block) => block.index === index);
  }
}

function isKnown(type: string): type is Block["type"] {
  return ["text", "thinking", "redacted_thinking", "tool_use"].includes(type);
}

function stored({ type, start, from, to, signature, json }: Block): ReplyBlock {
  switch (type) {
    case "text":
      return { type, at: [from, to] };
    case "thinking":
      return { type, at: [from, to], signature };
    case "redacted_thinking":
      return { type, data: typeof start.data === "string" ? start.data : "" };
    default: {
      const input = json === "" ? undefined : parseJson(json);
      return { type: "other", block: input === undefined ? start : { ...start, input } };
    }
  }
}
