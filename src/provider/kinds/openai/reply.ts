import type { Chunk, FinishReason } from "../../../core/mod.ts";
import { htmlText, protocolFailure } from "../../errors.ts";
import { type Endpoint, quote } from "../../failure.ts";
import { ReplyCollector } from "./deltas.ts";
import { EventReader } from "../../wire/events.ts";
import type { ReplyReader } from "../../wire/http_stream.ts";
import { DELTA_SHAPE } from "./delta_shape.ts";

/** The facts of its request that a reply needs. */
export interface ReplyContext {
  readonly endpoint: Endpoint;
  readonly thinkTags: boolean;
  /** Tools whose calls are also read from the text; absent = text is text. */
  readonly textCalls?: ReadonlySet<string>;
  /** Ids of earlier calls of the conversation. */
  readonly callIds: ReadonlySet<string>;
  /** Beginning of ids for calls that come without one. */
  readonly callIdPrefix: string;
  /** Told the name when a call begins. */
  readonly onCall?: (tool: string) => void;
}

type Form = "unknown" | "events" | "json" | "html";

/**
 * Reads the text of one successful response, whatever form it turns out to have, and says what came of it.
 */
export class Reply implements ReplyReader {
  readonly #context: ReplyContext;
  readonly #collector: ReplyCollector;
  readonly #events: EventReader;
  #form: Form = "unknown";
  /** All of a JSON or HTML body; of an event stream the beginning, for messages. */
  #raw = "";

  constructor(context: ReplyContext) {
    this.#context = context;
    this.#collector = new ReplyCollector(context.endpoint, context);
    this.#events = new EventReader(this.#collector, DELTA_SHAPE, /tool_call/);
  }

  get over(): "no" | "finished" | "counted" | "done" {
    if (this.#events.done) return "done";
    if (this.#collector.finish === undefined || this.#form !== "events") return "no";
    return this.#collector.usage === undefined ? "finished" : "counted";
  }

  feed(text: string): void {
    if (this.#form === "events") return this.#events.feed(text);
    this.#raw += text;
    if (this.#form !== "unknown") return;
    this.#form = formOf(this.#raw);
    if (this.#form !== "events") return;
    const all = this.#raw;
    this.#raw = all.slice(0, 1000);
    this.#events.feed(all);
  }

  take(): readonly Chunk[] {
    return this.#collector.take();
  }

  /** The rest of the reply after its last byte. Throws a ProviderFailure when it is none. */
  async end(): Promise<readonly Chunk[]> {
    const { endpoint, callIds, callIdPrefix } = this.#context;
    this.#close();
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

  #close(): void {
    const { endpoint } = this.#context;
    if (this.#form === "events") return this.#events.end();
    if (this.#raw.trim() === "") throw protocolFailure("sent an empty reply", endpoint);
    if (this.#form === "html") {
      const page = quote(htmlText(this.#raw), endpoint);
      throw protocolFailure(`sent a web page instead of a reply: ${page}; check base_url`, endpoint, false);
    }
    let value: unknown;
    try {
      value = JSON.parse(this.#raw);
    } catch {
      throw protocolFailure(`sent broken JSON: ${quote(this.#raw, endpoint)}`, endpoint);
    }
    this.#collector.add(Array.isArray(value) ? value[0] : value);
  }

  #check(): void {
    const { endpoint } = this.#context;
    const { good, broken, brokenCall, done } = this.#events;
    const calls = this.#collector.calls;
    const nothing = !this.#collector.hasOutput && calls.size === 0;
    if (this.#form === "events" && good === 0 && !done) {
      const said = quote(this.#raw.replace(/^:.*$/gm, ""), endpoint);
      throw protocolFailure(said === "" ? "sent an empty reply" : `sent no model reply: ${said}`, endpoint);
    }
    if (brokenCall || (broken > 0 && (nothing || calls.size > 0))) {
      throw protocolFailure("sent a broken event", endpoint);
    }
    if (this.#collector.finish !== undefined || done) return;
    if (nothing) throw protocolFailure("ended its reply before saying anything", endpoint);
    if (!calls.complete()) throw protocolFailure("broke off inside a tool call", endpoint);
  }

  #reason(called: boolean): FinishReason {
    const finish = this.#collector.finish ?? (this.#events.done ? "stop" : "unknown");
    if (called) return finish === "stop" || finish === "unknown" ? "tool_calls" : finish;
    return finish === "tool_calls" ? "stop" : finish;
  }
}

function formOf(text: string): Form {
  const first = text.replace(/^\uFEFF/, "").trimStart()[0];
  if (first === undefined) return "unknown";
  if (first === "{" || first === "[") return "json";
  return first === "<" ? "html" : "events";
}
