import type { Chunk, FinishReason, ProviderError, ToolCall, ToolSchema, Usage } from "../../../core/mod.ts";
import { type Endpoint, reportedFailure } from "../../errors.ts";
import { blockedFailure, declinedError, endingFailure, understood } from "./failures.ts";
import { KIND } from "./contents.ts";
import { toolNamed } from "./generate_request.ts";
import { ToolCallCollector } from "../../tool_calls.ts";
import { CollectedReply, type ReplyCollector, type ReplyContext } from "../../wire/collected_reply.ts";
import { digestOf } from "../../wire/fingerprint.ts";
import type { ReplyReader } from "../../wire/http_stream.ts";
import type { Fields } from "../../wire/message_parts.ts";
import { type Channel, SpokenText } from "../../wire/spoken_text.ts";
import { isRecord, safeText } from "../../../util/json.ts";

const FINISH: Readonly<Record<string, FinishReason>> = { STOP: "stop", MAX_TOKENS: "length" };

/** Reads one reply to a request with these tools. */
export function readReply(context: ReplyContext, tools: readonly ToolSchema[]): ReplyReader {
  return new CollectedReply(KIND, context, new Collector(context, tools), /functionCall/);
}

class Collector implements ReplyCollector {
  readonly #endpoint: Endpoint;
  readonly #parts: ReplyParts;
  readonly #usage = new ReplyUsage();
  /** The server's word for why the reply ended, and what it says about it. */
  #ending = { reason: "", explanation: "" };

  constructor({ endpoint, onCall }: ReplyContext, tools: readonly ToolSchema[]) {
    this.#endpoint = endpoint;
    this.#parts = new ReplyParts((name) => toolNamed(name, tools), onCall);
  }

  get calls(): ToolCallCollector {
    return this.#parts.calls;
  }

  get empty(): boolean {
    return this.#parts.empty;
  }

  get usage(): Usage | undefined {
    return this.#usage.value;
  }

  get finished(): boolean {
    return this.#ending.reason !== "";
  }

  get finish(): FinishReason | undefined {
    return FINISH[this.#ending.reason];
  }

  take(): readonly Chunk[] {
    return this.#parts.take();
  }

  end(): readonly Chunk[] {
    return this.#parts.end();
  }

  settle(): ProviderError | undefined {
    const error = declinedError(this.#ending, this.#endpoint);
    const failure = error ? undefined : endingFailure(this.#ending, this.#endpoint);
    if (failure) throw failure;
    return error;
  }

  kept(calls: readonly ToolCall[]) {
    const parts = this.#parts.stored();
    return { calls, data: parts && { parts, digest: digestOf(parts) } };
  }

  /** Reads one event. Throws a ProviderFailure when it reports an error, or that nothing will be said. */
  add(event: unknown): void {
    if (!isRecord(event)) return;
    // Gateways of the vendor's own wrap each answer.
    const { error, candidates, promptFeedback: feedback, usageMetadata } = isRecord(event.response)
      ? event.response
      : event;
    if (error !== undefined && error !== null) {
      const text = typeof error === "string" ? error : JSON.stringify({ error });
      throw reportedFailure(understood({ status: undefined, text }), this.#endpoint);
    }
    this.#usage.add(usageMetadata);
    const candidate = Array.isArray(candidates) && isRecord(candidates[0]) ? candidates[0] : {};
    const { content, finishReason, finishMessage } = candidate;
    if (isRecord(content) && Array.isArray(content.parts)) {
      for (const part of content.parts.filter(isRecord)) this.#parts.add(part);
    }
    if (typeof finishMessage === "string") this.#ending.explanation = finishMessage;
    if (typeof finishReason === "string" && finishReason !== "") this.#ending.reason = finishReason;
    if (isRecord(feedback) && typeof feedback.blockReason === "string") {
      throw blockedFailure(feedback, this.#endpoint);
    }
  }
}

/** Fields by which a part is told to be something that only the server understands. */
const SILENT = new Set(["text", "thought", "thoughtSignature", "functionCall", "partMetadata"]);

/** Collects the parts of one reply; what can be shown at once comes out of {@linkcode take}. */
class ReplyParts {
  readonly calls = new ToolCallCollector();
  readonly #spoken = new SpokenText();
  readonly #onCall: (tool: string) => void;
  readonly #toolNamed: (name: string) => string;
  readonly #list: Fields[] = [];

  /** `toolNamed` gives the tool that a function's name stands for. */
  constructor(toolNamed: (name: string) => string, onCall: ((tool: string) => void) | undefined) {
    this.#toolNamed = toolNamed;
    this.#onCall = onCall ?? (() => {});
  }

  /** True when nothing has come that makes a reply. */
  get empty(): boolean {
    return this.calls.size === 0 && !this.#list.some(({ text }) => typeof text === "string" && text !== "");
  }

  add(part: Fields): void {
    const { thoughtSignature } = part;
    const signed = typeof thoughtSignature === "string" && thoughtSignature !== ""
      ? { thoughtSignature }
      : {};
    if (isRecord(part.functionCall)) this.#call(part.functionCall, signed);
    else if (typeof part.text === "string" || "thoughtSignature" in signed) {
      const text = typeof part.text === "string" ? part.text : "";
      this.#text(part.thought === true ? "reasoning" : "text", text, signed);
    } else if (Object.keys(part).some((key) => !SILENT.has(key))) this.#list.push(part);
  }

  take(): readonly Chunk[] {
    return this.#spoken.take();
  }

  end(): readonly Chunk[] {
    return this.#spoken.end();
  }

  /** The parts as they go back; undefined where text and calls in their usual order say it all. */
  stored(): readonly Fields[] | undefined {
    const plain = this.#list.every(({ text, functionCall, thoughtSignature }) =>
      thoughtSignature === undefined &&
      (typeof text === "string" || isRecord(functionCall) && functionCall.id === undefined)
    );
    if (plain) return undefined;
    return this.#list.map((part) =>
      typeof part.text === "string" ? { ...part, text: safeText(part.text) } : part
    );
  }

  /** A call is written from the message, whose arguments are the text that came. */
  #call({ id, name, args }: Fields, signed: Fields): void {
    const index = this.calls.size;
    const tool = typeof name === "string" ? this.#toolNamed(name) : "";
    this.calls.add({ index, id, function: { name: tool, arguments: isRecord(args) ? args : {} } });
    this.#list.push({ functionCall: typeof id === "string" && id !== "" ? { id } : {}, ...signed });
    if (tool !== "") this.#onCall(tool);
  }

  /** Texts in a row are one part, but for those with a signature: these go back as they came. */
  #text(channel: Channel, text: string, signed: Fields): void {
    this.#spoken.append(channel, text);
    const thought = channel === "text" ? {} : { thought: true };
    const last = this.#list.at(-1);
    const joins = typeof last?.text === "string" && (last.thought === true) === (channel === "reasoning") &&
      last.thoughtSignature === undefined && !("thoughtSignature" in signed);
    if (joins) this.#list[this.#list.length - 1] = { ...last, text: `${last.text}${text}` };
    else if (text !== "" || "thoughtSignature" in signed) this.#list.push({ text, ...thought, ...signed });
  }
}

/**
 * The counts of a reply. Each event counts all of the reply so far; one that leaves a count out does not take
 * it back.
 */
class ReplyUsage {
  readonly #counts: Record<string, number> = {};

  add(usage: unknown): void {
    if (!isRecord(usage)) return;
    for (const [name, value] of Object.entries(usage)) {
      if (typeof value === "number" && Number.isFinite(value) && value >= 0) {
        this.#counts[name] = Math.round(value);
      }
    }
  }

  /** Undefined when the server counted nothing. */
  get value(): Usage | undefined {
    const {
      promptTokenCount: prompt,
      toolUsePromptTokenCount: tools = 0,
      cachedContentTokenCount: cached = 0,
      candidatesTokenCount: said,
      thoughtsTokenCount: thoughts = 0,
      totalTokenCount: total,
    } = this.#counts;
    if (prompt === undefined && said === undefined) return undefined;
    const input = (prompt ?? 0) + tools;
    // Thoughts are counted apart from what was said; the total gives away a server that does not.
    const within = thoughts > 0 && total === input + (said ?? 0);
    const output = (said ?? 0) + (within ? 0 : thoughts);
    return {
      inputTokens: input,
      cachedTokens: Math.min(cached, input),
      outputTokens: output,
      reasoningTokens: Math.min(thoughts, output),
    };
  }
}
