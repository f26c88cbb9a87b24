import { createParser } from "eventsource-parser";
import {
  type Chunk,
  type FinishReason,
  message,
  type ProviderError,
  type ToolCall,
  type Usage,
} from "../../core/mod.ts";
import { isRecord, parseJson, recordOf, safeText } from "../../util/json.ts";
import {
  type Endpoint,
  htmlText,
  protocolFailure,
  type ProviderFailure,
  quote,
  type Reported,
  reportedFailure,
  statusIn,
} from "../errors.ts";
import type { ModelInfo } from "../provider.ts";
import { CallAnnouncer, type CallSoFar, ToolCallCollector } from "../tool_calls.ts";
import type { ReplyReader } from "./http_stream.ts";
import { attempt } from "../../util/lazy.ts";

export interface ReplyContext {
  readonly endpoint: Endpoint;
  readonly model: ModelInfo;
  /** Ids of earlier calls of the conversation. */
  readonly callIds: ReadonlySet<string>;
  /** Beginning of ids for calls that come without one. */
  readonly callIdPrefix: string;
  readonly announceCalls?: true | undefined;
}

/** One reply of a wire, as a stream of events or as one JSON value. A kind says what its events mean. */
export abstract class WireReply implements ReplyReader {
  protected readonly context: ReplyContext;
  protected readonly calls = new ToolCallCollector();
  protected readonly spoken = new SpokenText();
  readonly #announcer: CallAnnouncer | undefined;
  /** Notices of calls that the server has made itself, not returned yet. */
  protected readonly remoteCalls: Chunk[] = [];
  protected usage: Usage | undefined;
  /** The server's reason for the end; undefined before it. */
  protected finish: FinishReason | undefined;
  /** True after the event that ends a reply. */
  protected stopped = false;
  /** True where the counts come with the reason or before it. */
  protected readonly countsFirst: boolean = false;
  readonly #kind: string;
  readonly #events: EventReader;
  #form: "unknown" | "events" | "json" | "html" = "unknown";
  /** All of a JSON or HTML body; of an event stream the beginning, for messages. */
  #raw = "";

  /** `callMark` finds the events that are about tool calls, also in broken JSON. */
  constructor(kind: string, context: ReplyContext, callMark: RegExp) {
    this.#kind = kind;
    this.context = context;
    if (context.announceCalls) this.#announcer = new CallAnnouncer(context.callIds, context.callIdPrefix);
    this.#events = new EventReader((event) => this.add(event), callMark);
  }

  /** Reads an event, or a whole reply. Throws a ProviderFailure for an error that the server reports. */
  protected abstract add(event: unknown): void;

  /**
   * Completes the reply after its last byte. Returns the error that the reply is where the server declined to
   * continue. Throws a ProviderFailure.
   */
  protected settle(): ProviderError | undefined {
    return undefined;
  }

  /** True when the last call is not whole, although its arguments may be JSON. */
  protected breaksOff(): boolean {
    return !this.calls.complete();
  }

  /** Announces a call whose arguments are arriving. `key` identifies it within the reply. */
  protected announce(call: CallSoFar, key: object = call): void {
    this.#announcer?.add(call, key);
  }

  /** Shows text that was held until the end. */
  protected flush(): void {}

  /** The calls as tools take them, and the data of the part that goes back with the message. */
  protected finished(
    calls: readonly ToolCall[],
  ): { readonly calls: readonly ToolCall[]; readonly data?: unknown } {
    return { calls };
  }

  /** The failure for an error that the reply reports, as an object or a text. */
  protected reported(error: unknown, facts: Partial<Reported> = {}): ProviderFailure {
    const status = isRecord(error) ? statusIn(error) : undefined;
    const text = typeof error === "string" ? error : JSON.stringify({ error });
    return reportedFailure({ status, text, ...facts }, this.context.endpoint);
  }

  get over(): "no" | "finished" | "counted" | "done" {
    if (this.#events.done || this.stopped) return "done";
    if (this.finish === undefined || this.#form !== "events") return "no";
    return this.usage === undefined && !this.countsFirst ? "finished" : "counted";
  }

  feed(text: string): void {
    if (this.#form === "events") return this.#events.feed(text);
    this.#raw += text;
    if (this.#form !== "unknown") return;
    const first = this.#raw.replace(/^\uFEFF/, "").trimStart()[0];
    if (first === undefined) return;
    this.#form = first === "{" || first === "[" ? "json" : first === "<" ? "html" : "events";
    if (this.#form !== "events") return;
    const all = this.#raw;
    this.#raw = all.slice(0, 1000);
    this.#events.feed(all);
  }

  take(): readonly Chunk[] {
    return [...this.spoken.take(), ...this.remoteCalls.splice(0), ...this.#announcer?.take() ?? []];
  }

  async end(): Promise<readonly Chunk[]> {
    const { endpoint, model, callIds, callIdPrefix } = this.context;
    this.#endBody();
    const error = this.settle();
    if (!error) this.#check();
    this.flush();
    const shown = [...this.spoken.end(), ...this.remoteCalls.splice(0)];
    const counted = this.usage ? [{ type: "usage", usage: this.usage } as const] : [];
    if (error) return [...shown, ...counted, { type: "error", error }];
    const whole = this.finish !== "length" && this.finish !== "content_filter";
    const found = await this.calls.finish(callIds, callIdPrefix, whole);
    if (found.nameless > 0) throw protocolFailure(message`sent a tool call without a name`, endpoint);
    const { calls, data } = this.finished(found.calls);
    const part = { kind: this.#kind, provider: model.provider, model: model.id, data };
    return [
      ...shown,
      ...calls.map((call) => ({ type: "tool_call", call }) as const),
      ...data === undefined ? [] : [{ type: "part", part } as const],
      ...counted,
      { type: "done", reason: this.#reason(calls.length > 0) },
    ];
  }

  /** Reads what the end of the body completes. Throws a ProviderFailure when there was no reply in it. */
  #endBody(): void {
    const { endpoint } = this.context;
    if (this.#form === "events") {
      this.#events.end();
      if (this.#events.good > 0 || this.#events.done) return;
      const text = quote(this.#raw.replace(/^:.*$/gm, ""), endpoint);
      throw protocolFailure(
        text === "" ? message`sent an empty reply` : message`sent no model reply: ${text}`,
        endpoint,
      );
    }
    if (this.#raw.trim() === "") throw protocolFailure(message`sent an empty reply`, endpoint);
    if (this.#form === "html") {
      const page = quote(htmlText(this.#raw), endpoint);
      throw protocolFailure(
        message`sent a web page instead of a reply: ${page}; check base_url`,
        endpoint,
        false,
      );
    }
    const value = parseJson(this.#raw);
    if (value === undefined) {
      throw protocolFailure(message`sent broken JSON: ${quote(this.#raw, endpoint)}`, endpoint);
    }
    for (const each of Array.isArray(value) ? value : [value]) this.add(each);
  }

  /** Throws a ProviderFailure when the reply is not whole. */
  #check(): void {
    const { endpoint } = this.context;
    const empty = this.spoken.isSilent && this.calls.size === 0;
    const { broken, brokenCall } = this.#events;
    if (brokenCall || (broken > 0 && (empty || this.calls.size > 0))) {
      throw protocolFailure(message`sent a broken event`, endpoint);
    }
    if (this.finish !== undefined || this.over === "done") return;
    if (empty) throw protocolFailure(message`ended its reply before any content`, endpoint);
    if (this.breaksOff()) throw protocolFailure(message`broke off inside a tool call`, endpoint);
  }

  #reason(called: boolean): FinishReason {
    const finish = this.finish ?? (this.over === "done" ? "stop" : "unknown");
    if (called) return finish === "stop" || finish === "unknown" ? "tool_calls" : finish;
    return finish === "tool_calls" ? "stop" : finish;
  }
}

/**
 * Turns the text of a stream into events. Broken events are counted, not thrown: one bad event among good
 * ones is tolerable as long as no tool call was in it.
 */
export class EventReader {
  readonly #add: (event: unknown) => void;
  readonly #callMark: RegExp;
  readonly #parser = createParser({ onEvent: ({ data, event }) => this.#read(data, event) });
  /** Numbers of events that could be read, and that could not. */
  good = 0;
  broken = 0;
  brokenCall = false;
  /** True once the server has sent `[DONE]`. */
  done = false;

  constructor(add: (event: unknown) => void, callMark: RegExp) {
    this.#add = add;
    this.#callMark = callMark;
  }

  feed(text: string): void {
    this.#parser.feed(text);
  }

  /** Reads an event that lacks its final blank line. */
  end(): void {
    this.#parser.feed("\n\n");
  }

  #read(data: string, type: string | undefined): void {
    if (this.done) return;
    if (data.length < 20 && data.trim() === "[DONE]") {
      this.done = true;
      return;
    }
    if (data === "") return;
    const events = parseData(data);
    if (events === undefined) {
      if (type === "error") return this.#add({ error: data });
      this.broken++;
      if (this.#callMark.test(data)) this.brokenCall = true;
      return;
    }
    for (const event of events) {
      this.good++;
      this.#add(type === "error" && !(isRecord(event) && "error" in event) ? { error: event } : event);
    }
  }
}

/**
 * The JSON of an event: as it stands, else with line breaks taken out (a value cut in two by a `data:` line),
 * else line by line (events without a blank line between them).
 */
function parseData(data: string): readonly unknown[] | undefined {
  const value = parseJson(data);
  if (value !== undefined) return [value];
  if (!data.includes("\n")) return undefined;
  const joined = parseJson(data.replaceAll("\n", ""));
  if (joined !== undefined) return [joined];
  return attempt(() =>
    data.split("\n").filter((line) => line.trim() !== "" && line !== "[DONE]").map((line) => JSON.parse(line))
  );
}

export type Channel = "text" | "reasoning";

/** Joins the pieces of a reply's text into chunks that can be shown, whole characters only. */
class SpokenText {
  isSilent = true;
  #channel: Channel = "text";
  #pending = "";
  #chunks: Chunk[] = [];
  /** First half of a surrogate pair whose second half is due in the next piece. */
  #half = "";

  append(channel: Channel, text: string): void {
    if (text === "") return;
    this.isSilent = false;
    if (channel !== this.#channel) {
      this.#flush(true);
      this.#channel = channel;
    }
    this.#pending += text;
  }

  take(): readonly Chunk[] {
    this.#flush(false);
    return this.#chunks.splice(0);
  }

  end(): readonly Chunk[] {
    this.#flush(true);
    return this.#chunks.splice(0);
  }

  /** Unless it is `final`, half a surrogate pair at the end waits for the other half. */
  #flush(final: boolean): void {
    if (this.#pending === "" && !(final && this.#half !== "")) return;
    let text = this.#half + this.#pending;
    this.#half = "";
    this.#pending = "";
    if (!final && /[\ud800-\udbff]$/.test(text)) {
      this.#half = text.slice(-1);
      text = text.slice(0, -1);
    }
    if (text !== "") this.#chunks.push({ type: this.#channel, text: safeText(text) });
  }
}

/** Takes over the counts of a usage object. Each counts the reply up to it; later ones may omit some. */
export function addCounts(counts: Record<string, number>, usage: unknown): void {
  for (const [name, value] of Object.entries(recordOf(usage))) {
    const number = count(value);
    if (number !== undefined) counts[name] = number;
  }
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? Math.round(value) : undefined;
}

/** Reads the usage of chat completions or responses in any spelling of vendors; undefined without counts. */
export function readUsage(value: unknown): Usage | undefined {
  const usage = recordOf(value);
  const inputDetails = recordOf(usage.prompt_tokens_details ?? usage.input_tokens_details);
  const outputDetails = recordOf(usage.completion_tokens_details ?? usage.output_tokens_details);
  const cached = count(inputDetails.cached_tokens) ?? count(usage.prompt_cache_hit_tokens) ??
    count(usage.cached_tokens) ?? count(usage.cache_read_input_tokens) ?? 0;
  const missed = count(usage.prompt_cache_miss_tokens);
  const input = count(usage.prompt_tokens) ?? count(usage.input_tokens) ??
    (missed === undefined ? undefined : cached + missed);
  const completion = count(usage.completion_tokens) ?? count(usage.output_tokens);
  if (input === undefined && completion === undefined) return undefined;
  const reasoning = count(outputDetails.reasoning_tokens) ?? count(usage.reasoning_tokens) ?? 0;
  // Some vendors leave reasoning out of the completion count; their total gives it away.
  const isExtra = reasoning > 0 &&
    count(usage.total_tokens) === (input ?? 0) + (completion ?? 0) + reasoning;
  const output = (completion ?? 0) + (isExtra ? reasoning : 0);
  const read = Math.min(cached, input ?? 0);
  const written = Math.min(count(inputDetails.cache_write_tokens) ?? 0, (input ?? 0) - read);
  return {
    inputTokens: input ?? 0,
    cachedTokens: read,
    ...(written > 0 ? { cacheWriteTokens: written } : {}),
    outputTokens: output,
    reasoningTokens: Math.min(reasoning, output),
  };
}
