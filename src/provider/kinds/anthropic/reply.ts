import type { Chunk, FinishReason, ProviderError, ProviderPart } from "../../../core/mod.ts";
import { protocolFailure, reportedFailure } from "../../errors.ts";
import { type Endpoint, nameOf, quote } from "../../failure.ts";
import { isRecord } from "../../../util/json.ts";
import type { DeltaShape, OnlyText } from "../../wire/delta_template.ts";
import type { ReplyReader } from "../../wire/http_stream.ts";
import { ReplyBody } from "../../wire/reply_body.ts";
import { ReplyEvents } from "./reply_events.ts";
import type { ReplyPart } from "./reply_part.ts";

/** The facts of its request that a reply needs. */
export interface ReplyContext {
  readonly endpoint: Endpoint;
  /** Makes the part that holds what this reply leaves behind. */
  readonly part: (data: ReplyPart) => ProviderPart;
  /** Name of all that the request said. */
  readonly after: string;
  /** Ids of earlier calls of the conversation. */
  readonly callIds: ReadonlySet<string>;
  /** Beginning of ids for calls that come without one. */
  readonly callIdPrefix: string;
  /** Told the name when a call begins. */
  readonly onCall?: (tool: string) => void;
}

/** Text deltas of the Messages API. */
const DELTA_SHAPE: DeltaShape = { start: "event: content_block_delta\ndata: ", onlyText };

const FINISH: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  stop: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
};

/** Reads the text of one successful response, in whatever form, and says what came of it. */
export class Reply implements ReplyReader {
  readonly #context: ReplyContext;
  readonly #events: ReplyEvents;
  readonly #body: ReplyBody;

  constructor(context: ReplyContext) {
    this.#context = context;
    this.#events = new ReplyEvents(context.endpoint, context.onCall);
    this.#body = new ReplyBody(
      this.#events,
      { shape: DELTA_SHAPE, callMark: /tool_use|input_json/ },
      context.endpoint,
    );
  }

  get over(): "no" | "counted" | "done" {
    if (this.#body.done || this.#events.stopped) return "done";
    return this.#events.stop !== undefined && this.#body.streams ? "counted" : "no";
  }

  /** True when the server stopped on the way and wants to be asked to go on. */
  get paused(): boolean {
    return this.#events.stop === "pause_turn";
  }

  feed(text: string): void {
    this.#body.feed(text);
  }

  take(): readonly Chunk[] {
    return this.#events.blocks.take();
  }

  /** The rest of the reply after its last byte. Throws a ProviderFailure when it is none. */
  async end(): Promise<readonly Chunk[]> {
    const { endpoint, after, part: madePart, callIds, callIdPrefix } = this.#context;
    this.#body.end();
    const { blocks, usage, stop } = this.#events;
    blocks.settle(stop === "max_tokens");
    const error = this.#refusal();
    if (!error) this.#check();
    const counted = usage.value ? [{ type: "usage", usage: usage.value } as const] : [];
    if (error) return [...blocks.end(), ...counted, { type: "error", error }];
    const { calls, nameless } = await blocks.calls.finish(callIds, callIdPrefix, stop !== "max_tokens");
    if (nameless > 0) throw protocolFailure("sent a tool call without a name", endpoint);
    const data = blocks.part(after, calls.length, this.paused);
    return [
      ...blocks.end(),
      ...data ? [{ type: "part", part: madePart(data) } as const] : [],
      ...calls.map((call) => ({ type: "tool_call", call }) as const),
      ...counted,
      { type: "done", reason: this.#reason(calls.length > 0) },
    ];
  }

  #check(): void {
    const { endpoint } = this.#context;
    const { blocks, stop, stopped } = this.#events;
    this.#body.checkEvents(blocks.empty || blocks.calls.size > 0);
    if (stop !== undefined || stopped || this.#body.done) return;
    if (blocks.empty) throw protocolFailure("ended its reply before saying anything", endpoint);
    if (blocks.breaksOffInCall) throw protocolFailure("broke off inside a tool call", endpoint);
  }

  /** The error that a reply is which ended because the server would not, or could not, go on. */
  #refusal(): ProviderError | undefined {
    const { endpoint } = this.#context;
    const { stop, details } = this.#events;
    if (stop === "model_context_window_exceeded") {
      const text = `${stop}: the answer does not fit behind the conversation`;
      return reportedFailure({ status: undefined, text }, endpoint).error;
    }
    if (stop !== "refusal") return undefined;
    const why = [details.category, details.explanation].filter((text) => typeof text === "string").join(": ");
    const said = quote(why, endpoint);
    const message = `${nameOf(endpoint)} ended the answer, because the model declines to give it` +
      `${
        said === "" ? "" : ` (${said})`
      }; ask in other words, or go back to before the message that led to it`;
    const { provider, host } = endpoint;
    return { kind: "content_filter", message, said: [["declined", provider, host, said], ["askOtherwise"]] };
  }

  #reason(called: boolean): FinishReason {
    const { stop } = this.#events;
    const finish = stop === undefined ? this.over === "done" ? "stop" : "unknown" : FINISH[stop] ?? "unknown";
    if (called) return finish === "stop" || finish === "unknown" ? "tool_calls" : finish;
    return finish === "tool_calls" ? "stop" : finish;
  }
}

function onlyText(event: unknown): OnlyText | undefined {
  if (!isRecord(event) || event.type !== "content_block_delta" || !isRecord(event.delta)) return undefined;
  const { type, text, thinking } = event.delta;
  if (type === "text_delta" && typeof text === "string") return { field: "text", channel: "text", text };
  if (type !== "thinking_delta" || typeof thinking !== "string") return undefined;
  return { field: "thinking", channel: "reasoning", text: thinking };
}
