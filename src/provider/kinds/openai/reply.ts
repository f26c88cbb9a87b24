import type { Chunk, FinishReason } from "../../../core/mod.ts";
import { type Endpoint, protocolFailure } from "../../errors.ts";
import type { ReplyReader } from "../../wire/http_stream.ts";
import { ReplyBody } from "../../wire/reply_body.ts";
import { ReplyCollector } from "./deltas.ts";
import { DELTA_SHAPE } from "./delta_shape.ts";

/** The facts of its request that a reply needs. */
export interface ReplyContext {
  readonly endpoint: Endpoint;
  readonly thinkTags: boolean;
  /** Ids of earlier calls of the conversation. */
  readonly callIds: ReadonlySet<string>;
  /** Beginning of ids for calls that come without one. */
  readonly callIdPrefix: string;
  /** Told the name when a call begins. */
  readonly onCall?: (tool: string) => void;
}

/**
 * Reads the text of one successful response, whatever form it turns out to have, and says what came of it.
 */
export class Reply implements ReplyReader {
  readonly #context: ReplyContext;
  readonly #collector: ReplyCollector;
  readonly #body: ReplyBody;

  constructor(context: ReplyContext) {
    this.#context = context;
    this.#collector = new ReplyCollector(context.endpoint, context);
    this.#body = new ReplyBody(
      this.#collector,
      { shape: DELTA_SHAPE, callMark: /tool_call/ },
      context.endpoint,
    );
  }

  get over(): "no" | "finished" | "counted" | "done" {
    if (this.#body.done) return "done";
    if (this.#collector.finish === undefined || !this.#body.streams) return "no";
    return this.#collector.usage === undefined ? "finished" : "counted";
  }

  feed(text: string): void {
    this.#body.feed(text);
  }

  take(): readonly Chunk[] {
    return this.#collector.take();
  }

  /** The rest of the reply after its last byte. Throws a ProviderFailure when it is none. */
  async end(): Promise<readonly Chunk[]> {
    const { endpoint, callIds, callIdPrefix } = this.#context;
    this.#body.end();
    const finish = this.#collector.finish;
    this.#check();
    const chunks: Chunk[] = [...this.#collector.end()];
    const whole = finish !== "length" && finish !== "content_filter";
    const { calls, nameless } = await this.#collector.calls.finish(callIds, callIdPrefix, whole);
    if (nameless > 0) throw protocolFailure("sent a tool call without a name", endpoint);
    for (const call of calls) chunks.push({ type: "tool_call", call });
    if (this.#collector.usage) chunks.push({ type: "usage", usage: this.#collector.usage });
    chunks.push({ type: "done", reason: this.#reason(calls.length > 0) });
    return chunks;
  }

  #check(): void {
    const { endpoint } = this.#context;
    const calls = this.#collector.calls;
    const nothing = !this.#collector.hasOutput && calls.size === 0;
    this.#body.checkEvents(nothing || calls.size > 0);
    if (this.#collector.finish !== undefined || this.#body.done) return;
    if (nothing) throw protocolFailure("ended its reply before saying anything", endpoint);
    if (!calls.complete()) throw protocolFailure("broke off inside a tool call", endpoint);
  }

  #reason(called: boolean): FinishReason {
    const finish = this.#collector.finish ?? (this.#body.done ? "stop" : "unknown");
    if (called) return finish === "stop" || finish === "unknown" ? "tool_calls" : finish;
    return finish === "tool_calls" ? "stop" : finish;
  }
}
