import type { Chunk, FinishReason, ProviderPart, ToolSchema } from "../../../core/mod.ts";
import { isRecord } from "../../../util/json.ts";
import { protocolFailure, reportedFailure } from "../../errors.ts";
import type { Endpoint } from "../../failure.ts";
import type { Channel } from "../../wire/delta_template.ts";
import type { EventReceiver } from "../../wire/events.ts";
import type { ReplyReader } from "../../wire/http_stream.ts";
import { ReplyBody } from "../../wire/reply_body.ts";
import { blockedFailure, declinedError, endingFailure } from "./endings.ts";
import type { ReplyLayout } from "./reply_layout.ts";
import { ReplyParts } from "./reply_parts.ts";
import { toolNamed } from "./generate_request.ts";
import { understood } from "./rpc_status.ts";
import { ReplyUsage } from "./usage_metadata.ts";

/** The facts of its request that a reply needs. */
export interface ReplyContext {
  readonly endpoint: Endpoint;
  readonly tools: readonly ToolSchema[];
  /** Makes the part that holds what this reply leaves behind. */
  readonly part: (data: ReplyLayout) => ProviderPart;
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
    const layout = parts.layout(calls.length);
    return [
      ...parts.end(),
      ...layout ? [{ type: "part", part: part(layout) } as const] : [],
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
