import {
  type Chunk,
  type FinishReason,
  message,
  type ProviderError,
  type ToolCall,
  type Usage,
} from "../../core/mod.ts";
import { type Endpoint, protocolFailure } from "../errors.ts";
import type { ModelInfo } from "../provider.ts";
import type { ToolCallCollector } from "../tool_calls.ts";
import type { ReplyReader } from "./http_stream.ts";
import { type EventReceiver, ReplyBody } from "./reply_body.ts";

/** The facts of its request that a reply needs. */
export interface ReplyContext {
  readonly endpoint: Endpoint;
  readonly model: ModelInfo;
  /** Ids of earlier calls of the conversation. */
  readonly callIds: ReadonlySet<string>;
  /** Beginning of ids for calls that come without one. */
  readonly callIdPrefix: string;
  /** Gets the name when a call begins. */
  readonly onCall?: ((tool: string) => void) | undefined;
}

/** Collects one reply from its events, or from the whole of it in one piece. */
export interface ReplyCollector extends EventReceiver {
  readonly calls: ToolCallCollector;
  /** True when nothing has come that makes a reply. */
  readonly empty: boolean;
  readonly usage: Usage | undefined;
  /** True once the server has given its reason for the end. */
  readonly finished: boolean;
  /** That reason; undefined when it is not known. */
  readonly finish: FinishReason | undefined;
  /** True once the server has said that nothing follows. */
  readonly stopped?: boolean;
  /** True where the counts come with the reason or before it. */
  readonly countsFirst?: true;
  /** True when the last call is not whole, though its arguments are JSON. */
  readonly breaksOff?: boolean;
  /** Returns what can be shown since the last call, adjacent pieces joined. */
  take(): readonly Chunk[];
  /** Returns what was held back until the end of the reply. */
  end(): readonly Chunk[];
  /**
   * Settles what the last byte completes; returns the error that the reply is where the server declined to
   * continue. Throws a ProviderFailure.
   */
  settle?(): ProviderError | undefined;
  /** The calls as tools take them, and the data of the part that goes back with the message. */
  kept?(calls: readonly ToolCall[]): { readonly calls: readonly ToolCall[]; readonly data?: unknown };
}

/** Reads the text of one successful response, in whatever form, and says what came of it. */
export class CollectedReply implements ReplyReader {
  readonly #kind: string;
  readonly #context: ReplyContext;
  readonly #collector: ReplyCollector;
  readonly #body: ReplyBody;

  /** `callMark` finds the events that are about tool calls, also in broken JSON. */
  constructor(kind: string, context: ReplyContext, collector: ReplyCollector, callMark: RegExp) {
    this.#kind = kind;
    this.#context = context;
    this.#collector = collector;
    this.#body = new ReplyBody(collector, callMark, context.endpoint);
  }

  get over(): "no" | "finished" | "counted" | "done" {
    const { finished, stopped, usage, countsFirst } = this.#collector;
    if (this.#body.done || stopped) return "done";
    if (!finished || !this.#body.streams) return "no";
    return usage === undefined && !countsFirst ? "finished" : "counted";
  }

  feed(text: string): void {
    this.#body.feed(text);
  }

  take(): readonly Chunk[] {
    return this.#collector.take();
  }

  /** The rest of the reply after its last byte. Throws a ProviderFailure when it is none. */
  async end(): Promise<readonly Chunk[]> {
    const { endpoint, model, callIds, callIdPrefix } = this.#context;
    const collector = this.#collector;
    this.#body.end();
    const error = collector.settle?.();
    if (!error) this.#check();
    const shown = collector.end();
    const counted = collector.usage ? [{ type: "usage", usage: collector.usage } as const] : [];
    if (error) return [...shown, ...counted, { type: "error", error }];
    const whole = collector.finish !== "length" && collector.finish !== "content_filter";
    const found = await collector.calls.finish(callIds, callIdPrefix, whole);
    if (found.nameless > 0) throw protocolFailure(message`sent a tool call without a name`, endpoint);
    const { calls, data } = collector.kept?.(found.calls) ?? { calls: found.calls, data: undefined };
    const part = { kind: this.#kind, provider: model.provider, model: model.id, data };
    return [
      ...shown,
      ...calls.map((call) => ({ type: "tool_call", call }) as const),
      ...data === undefined ? [] : [{ type: "part", part } as const],
      ...counted,
      { type: "done", reason: this.#reason(calls.length > 0) },
    ];
  }

  #check(): void {
    const { endpoint } = this.#context;
    const { calls, empty, finished, breaksOff } = this.#collector;
    this.#body.checkEvents(empty || calls.size > 0);
    if (finished || this.over === "done") return;
    if (empty) throw protocolFailure(message`ended its reply before saying anything`, endpoint);
    if (breaksOff ?? !calls.complete()) {
      throw protocolFailure(message`broke off inside a tool call`, endpoint);
    }
  }

  #reason(called: boolean): FinishReason {
    const finish = this.#collector.finish ?? (this.over === "done" ? "stop" : "unknown");
    if (called) return finish === "stop" || finish === "unknown" ? "tool_calls" : finish;
    return finish === "tool_calls" ? "stop" : finish;
  }
}
