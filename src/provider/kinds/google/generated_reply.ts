import type { Chunk, FinishReason, ProviderPart, ToolSchema, Usage } from "../../../core/mod.ts";
import { type Endpoint, protocolFailure, reportedFailure } from "../../errors.ts";
import { blockedFailure, declinedError, endingFailure, understood } from "./failures.ts";
import { toolNamed } from "./generate_request.ts";
import { ToolCallCollector } from "../../tool_calls.ts";
import type { Channel } from "../../wire/delta_template.ts";
import type { EventReceiver } from "../../wire/events.ts";
import { digestOf } from "../../wire/fingerprint.ts";
import type { ReplyReader } from "../../wire/http_stream.ts";
import type { Fields } from "../../wire/message_parts.ts";
import { ReplyBody } from "../../wire/reply_body.ts";
import { SpokenText } from "../../wire/spoken_text.ts";
import { isRecord, safeText } from "../../../util/json.ts";

/** The facts of its request that a reply needs. */
export interface ReplyContext {
  readonly endpoint: Endpoint;
  readonly tools: readonly ToolSchema[];
  /** Makes the part that holds what this reply leaves behind. */
  readonly part: (data: { readonly parts: readonly Fields[]; readonly digest: string }) => ProviderPart;
  /** Ids of earlier calls of the conversation. */
  readonly callIds: ReadonlySet<string>;
  /** Beginning of ids for calls that come without one. */
  readonly callIdPrefix: string;
  /** Told the name when a call comes. */
  readonly onCall?: (tool: string) => void;
}

/** Each event counts tokens anew, so hardly two of them are alike. */
const NO_SHAPE = { start: "data: ", onlyText: () => undefined };

/** Reads the text of one successful response, in whatever form, and says what came of it. */
export class Reply implements ReplyReader, EventReceiver {
  readonly #context: ReplyContext;
  readonly #parts: ReplyParts;
  readonly #body: ReplyBody;
  readonly #usage = new ReplyUsage();
  /** The server's word for why the reply ended, and what it says about it. */
  #finish: string | undefined;
  #finishMessage = "";

  constructor(context: ReplyContext) {
    this.#context = context;
    this.#parts = new ReplyParts((name) => toolNamed(name, context.tools), context.onCall);
    this.#body = new ReplyBody(this, { shape: NO_SHAPE, callMark: /functionCall/ }, context.endpoint);
  }

  get over(): "no" | "finished" | "counted" | "done" {
    if (this.#body.done) return "done";
    if (this.#finish === undefined || !this.#body.streams) return "no";
    return this.#usage.value === undefined ? "finished" : "counted";
  }

  feed(text: string): void {
    this.#body.feed(text);
  }

  take(): readonly Chunk[] {
    return this.#parts.take();
  }

  say(channel: Channel, text: string): void {
    this.#parts.say(channel, text);
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
      throw reportedFailure(understood({ status: undefined, text }), this.#context.endpoint);
    }
    this.#usage.add(usageMetadata);
    const candidate = Array.isArray(candidates) && isRecord(candidates[0]) ? candidates[0] : {};
    const { content, finishReason, finishMessage } = candidate;
    if (isRecord(content) && Array.isArray(content.parts)) {
      for (const part of content.parts.filter(isRecord)) this.#parts.add(part);
    }
    if (typeof finishMessage === "string") this.#finishMessage = finishMessage;
    if (typeof finishReason === "string" && finishReason !== "") this.#finish = finishReason;
    if (isRecord(feedback) && typeof feedback.blockReason === "string") {
      throw blockedFailure(feedback, this.#context.endpoint);
    }
  }

  /** The rest of the reply after its last byte. Throws a ProviderFailure when it is none. */
  async end(): Promise<readonly Chunk[]> {
    const { endpoint, part, callIds, callIdPrefix } = this.#context;
    this.#body.end();
    const parts = this.#parts;
    const counted = this.#usage.value ? [{ type: "usage", usage: this.#usage.value } as const] : [];
    const ending = { reason: this.#finish ?? "", message: this.#finishMessage };
    const error = declinedError(ending, endpoint);
    if (error) return [...parts.end(), ...counted, { type: "error", error }];
    this.#check();
    const { calls, nameless } = await parts.calls.finish(callIds, callIdPrefix, false);
    if (nameless > 0) throw protocolFailure("sent a tool call without a name", endpoint);
    const stored = parts.stored();
    return [
      ...parts.end(),
      ...stored ? [{ type: "part", part: part({ parts: stored, digest: digestOf(stored) }) } as const] : [],
      ...calls.map((call) => ({ type: "tool_call", call }) as const),
      ...counted,
      { type: "done", reason: this.#reason(calls.length > 0) },
    ];
  }

  #check(): void {
    const { endpoint } = this.#context;
    const { empty, calls } = this.#parts;
    const failure = endingFailure({ reason: this.#finish ?? "", message: this.#finishMessage }, endpoint);
    if (failure) throw failure;
    this.#body.checkEvents(empty || calls.size > 0);
    if (this.#finish === undefined && !this.#body.done && empty) {
      throw protocolFailure("ended its reply before saying anything", endpoint);
    }
  }

  #reason(called: boolean): FinishReason {
    if (this.#finish === "MAX_TOKENS") return "length";
    if (called) return "tool_calls";
    return this.#finish === "STOP" || this.#body.done ? "stop" : "unknown";
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

  say(channel: Channel, text: string): void {
    this.#text(channel, text, {});
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
