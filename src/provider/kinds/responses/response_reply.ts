import type { Chunk, FinishReason, ToolCall, ToolSchema } from "../../../core/mod.ts";
import { protocolFailure } from "../../errors.ts";
import type { Endpoint } from "../../failure.ts";
import type { ModelInfo } from "../../provider.ts";
import type { RemoteServers } from "../../remote/remote_server.ts";
import { ToolCallCollector } from "../../tool_calls.ts";
import type { ReplyReader } from "../../wire/http_stream.ts";
import { ReplyBody } from "../../wire/reply_body.ts";
import { withoutNulls } from "../../wire/schema/strict.ts";
import { DELTA_SHAPE, ResponseCollector } from "./events.ts";
import { type LayoutItem, layoutPart } from "./layout.ts";
import { layoutItem, type OutputItem } from "./output.ts";
import { askedName, ASKS } from "./remote_calls.ts";

/** The facts of its request that a reply needs. */
export interface ReplyContext {
  readonly endpoint: Endpoint;
  readonly model: ModelInfo;
  /** Ids of earlier calls of the conversation. */
  readonly callIds: ReadonlySet<string>;
  /** Beginning of ids for calls that come without one. */
  readonly callIdPrefix: string;
  /** Told the name when a call begins. */
  readonly onCall?: ((tool: string) => void) | undefined;
  /** Tools whose optional arguments come as null. */
  readonly strictTools: ReadonlyMap<string, ToolSchema>;
  /** Digest of the conversation that the server keeps the reply behind; absent: it keeps nothing. */
  readonly storedAfter?: string | undefined;
  readonly remote?: RemoteServers | undefined;
}

/** Reads one response of this wire, streamed or not. */
export class ResponseReply implements ReplyReader {
  readonly #context: ReplyContext;
  readonly #collector: ResponseCollector;
  readonly #body: ReplyBody;

  constructor(context: ReplyContext) {
    this.#context = context;
    this.#collector = new ResponseCollector(context.endpoint, context.onCall);
    const look = { shape: DELTA_SHAPE, callMark: /function_call/ };
    this.#body = new ReplyBody(this.#collector, look, context.endpoint);
  }

  get over(): "no" | "finished" | "counted" | "done" {
    if (this.#body.done) return "done";
    if (this.#collector.finish === undefined || !this.#body.streams) return "no";
    // Nothing follows the event that ends a response.
    return this.#collector.usage === undefined ? "counted" : "done";
  }

  feed(text: string): void {
    this.#body.feed(text);
  }

  take(): readonly Chunk[] {
    return this.#collector.take();
  }

  async end(): Promise<readonly Chunk[]> {
    this.#body.end();
    const collector = this.#collector;
    const items = collector.output.calls;
    const nothing = !collector.hasOutput && items.length === 0;
    this.#body.checkEvents(nothing || items.length > 0);
    const { endpoint, callIds, callIdPrefix } = this.#context;
    const written = new ToolCallCollector();
    items.forEach((item, index) => written.add(callDelta(item, index, this.#context.remote)));
    if (collector.finish === undefined && !this.#body.done) {
      if (nothing) throw protocolFailure("ended its reply before saying anything", endpoint);
      if (!written.complete()) throw protocolFailure("broke off inside a tool call", endpoint);
    }
    const whole = collector.finish !== "length" && collector.finish !== "content_filter";
    const { calls, nameless } = await written.finish(callIds, callIdPrefix, whole);
    if (nameless > 0) throw protocolFailure("sent a tool call without a name", endpoint);
    const cleaned = calls.map((call) => this.#cleaned(call));
    const chunks: Chunk[] = [...collector.end()];
    for (const call of cleaned) chunks.push({ type: "tool_call", call });
    chunks.push(...this.#part(calls, cleaned));
    if (collector.usage) chunks.push({ type: "usage", usage: collector.usage });
    chunks.push({ type: "done", reason: this.#reason(calls.length > 0) });
    return chunks;
  }

  /** The call as its tool takes it. */
  #cleaned(call: ToolCall): ToolCall {
    const tool = this.#context.strictTools.get(call.name);
    return tool ? { ...call, arguments: withoutNulls(call.arguments, tool.parameters) } : call;
  }

  /** What has to go back with the message; nothing where text and calls in their usual order say it all. */
  #part(calls: readonly ToolCall[], cleaned: readonly ToolCall[]): Chunk[] {
    const { model, storedAfter } = this.#context;
    const { output, id, finish } = this.#collector;
    // Without a name an item is no call, so those that are left have the places of the calls.
    const named = output.calls.filter(({ fields }) => typeof fields.name === "string" && fields.name !== "");
    const items = output.list.flatMap((item): LayoutItem[] => {
      const found = layoutItem(item, (one) => named.indexOf(one));
      if (found === undefined || ("call" in found && found.call < 0)) return [];
      if (!("call" in found)) return [found];
      const [was, is] = [calls[found.call]?.arguments, cleaned[found.call]?.arguments];
      return [was === is || was === undefined ? found : { ...found, arguments: was }];
    });
    const sameIds = named.every((item, at) => calls[at]?.id === callId(item));
    const stored = storedAfter !== undefined && id !== undefined && finish !== undefined && sameIds
      ? { id, after: storedAfter }
      : undefined;
    if (stored === undefined && isPlain(items)) return [];
    return [{ type: "part", part: layoutPart({ items, ...(stored ? { stored } : {}) }, model) }];
  }

  #reason(called: boolean): FinishReason {
    const finish = this.#collector.finish ?? (this.#body.done ? "stop" : "unknown");
    return called && (finish === "stop" || finish === "unknown") ? "tool_calls" : finish;
  }
}

function callId({ fields }: OutputItem): unknown {
  return fields.call_id || fields.id;
}

function callDelta(item: OutputItem, index: number, remote: RemoteServers | undefined) {
  const name = item.type === ASKS ? askedName(item.fields, remote) : item.fields.name;
  return { index, id: callId(item), function: { name, arguments: item.written } };
}

/** One text at most, then calls as they were written: what is sent for a message without a part, too. */
function isPlain(items: readonly LayoutItem[]): boolean {
  return items.every((item, at) =>
    "text" in item
      ? at === 0 && item.phase === undefined
      : "call" in item && item.arguments === undefined && item.asks === undefined
  );
}
