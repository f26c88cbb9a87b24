import type { Chunk, FinishReason, Usage } from "../../../core/mod.ts";
import { type ProviderFailure, reportedFailure, statusIn } from "../../errors.ts";
import { ThinkTags } from "../../think_tags.ts";
import { type CallDelta, ToolCallCollector } from "../../tool_calls.ts";
import { CollectedReply, type ReplyCollector, type ReplyContext } from "../../wire/collected_reply.ts";
import type { ReplyReader } from "../../wire/http_stream.ts";
import { type Channel, SpokenText } from "../../wire/spoken_text.ts";
import { readUsage } from "../../wire/usage.ts";

/** The parts of a stream event, or of a whole completion, that are read. */
interface WireEvent {
  readonly choices?: readonly (WireChoice | null)[] | null;
  readonly usage?: unknown;
  readonly x_groq?: { readonly usage?: unknown } | null;
  readonly error?: unknown;
}

interface WireChoice {
  readonly delta?: WireDelta | null;
  readonly message?: WireDelta | null;
  readonly text?: unknown;
  readonly finish_reason?: unknown;
  readonly usage?: unknown;
}

interface WireDelta {
  readonly content?: unknown;
  readonly refusal?: unknown;
  readonly reasoning_content?: unknown;
  readonly reasoning?: unknown;
  readonly tool_calls?: readonly CallDelta[] | null;
  readonly function_call?: CallDelta["function"];
}

const FINISH: Readonly<Record<string, FinishReason>> = {
  stop: "stop",
  end_turn: "stop",
  stop_sequence: "stop",
  eos: "stop",
  eos_token: "stop",
  tool_calls: "tool_calls",
  tool_use: "tool_calls",
  function_call: "tool_calls",
  length: "length",
  max_tokens: "length",
  model_length: "length",
  content_filter: "content_filter",
  sensitive: "content_filter",
  safety: "content_filter",
};

/** Finish reasons by which a server says that it gave up. */
const GAVE_UP = new Set(["insufficient_system_resource", "network_error", "abort", "error"]);

/** Reads one reply of chat completions. */
export function readReply(context: ReplyContext, thinkTags: boolean): ReplyReader {
  return new CollectedReply("openai", context, new Collector(context, thinkTags), /tool_call/);
}

class Collector implements ReplyCollector {
  readonly calls = new ToolCallCollector();
  readonly #context: ReplyContext;
  readonly #tags: ThinkTags | undefined;
  readonly #spoken = new SpokenText();
  #silent = true;
  usage: Usage | undefined;
  finish: FinishReason | undefined;

  constructor(context: ReplyContext, thinkTags: boolean) {
    this.#context = context;
    this.#tags = thinkTags ? new ThinkTags() : undefined;
  }

  get empty(): boolean {
    return this.#silent && this.calls.size === 0;
  }

  get finished(): boolean {
    return this.finish !== undefined;
  }

  /** Reads one event. Throws a ProviderFailure when it reports an error. */
  add(event: unknown): void {
    if (typeof event !== "object" || event === null) return;
    const { choices, usage, x_groq, error } = event as WireEvent;
    const choice = choices?.[0];
    // The delta first: some servers put the last words and the error into one event.
    if (choice) this.#choice(choice);
    const counted = usage ?? x_groq?.usage ?? choice?.usage;
    if (counted !== undefined && counted !== null) this.usage = readUsage(counted) ?? this.usage;
    if (error !== undefined && error !== null) throw this.#reported(error);
    if (!choice && choices === undefined && isErrorObject(event)) throw this.#reported(event);
  }

  take(): readonly Chunk[] {
    return this.#spoken.take();
  }

  end(): readonly Chunk[] {
    const rest = this.#tags?.done === false ? this.#tags.end() : undefined;
    if (rest) {
      this.#append("reasoning", rest.reasoning);
      this.#append("text", rest.text);
    }
    return this.#spoken.end();
  }

  #choice(choice: WireChoice): void {
    const delta = choice.delta ?? choice.message;
    if (delta) this.#delta(delta);
    else if (typeof choice.text === "string") this.#text(choice.text);
    const reason = choice.finish_reason;
    if (typeof reason !== "string" || reason === "") return;
    if (GAVE_UP.has(reason)) {
      throw reportedFailure(
        { status: undefined, text: `server_error: finish reason ${reason}` },
        this.#context.endpoint,
      );
    }
    this.finish = FINISH[reason.toLowerCase()] ?? "unknown";
  }

  #delta(delta: WireDelta): void {
    const reasoning = delta.reasoning_content ?? delta.reasoning;
    if (typeof reasoning === "string" && reasoning !== "") this.#append("reasoning", reasoning);
    const content = delta.content ?? delta.refusal;
    if (typeof content === "string") {
      if (content !== "") this.#text(content);
    } else if (Array.isArray(content)) this.#parts(content);
    if (delta.tool_calls) { for (const call of delta.tool_calls) if (call) this.#call(call); }
    if (delta.function_call) this.#call({ index: 0, function: delta.function_call });
  }

  #call(delta: CallDelta): void {
    const known = this.calls.size;
    this.calls.add(delta);
    const name = delta.function?.name;
    if (this.calls.size > known && typeof name === "string") this.#context.onCall?.(name);
  }

  /** Content as a list of parts, each text or thinking. */
  #parts(parts: readonly unknown[]): void {
    for (const part of parts as readonly { type?: unknown; text?: unknown; thinking?: unknown }[]) {
      if (typeof part?.text === "string") this.#text(part.text);
      if (Array.isArray(part?.thinking)) {
        for (const thought of part.thinking) {
          if (typeof thought?.text === "string") this.#append("reasoning", thought.text);
        }
      }
    }
  }

  #text(text: string): void {
    if (this.#tags === undefined || this.#tags.done) return this.#append("text", text);
    const told = this.#tags.push(text);
    this.#append("reasoning", told.reasoning);
    this.#append("text", told.text);
  }

  #append(channel: Channel, text: string): void {
    if (text !== "") this.#silent = false;
    this.#spoken.append(channel, text);
  }

  #reported(error: unknown): ProviderFailure {
    const fields = typeof error === "object" ? error as Record<string, unknown> : {};
    const text = typeof error === "string" ? error : JSON.stringify({ error });
    return reportedFailure({ status: statusIn(fields), text }, this.#context.endpoint);
  }
}

/** An error that stands alone in its event, without the usual wrapper. */
function isErrorObject(event: object): boolean {
  const { object, type, message, code, detail } = event as Record<string, unknown>;
  return object === "error" || type === "error" ||
    (typeof message === "string" && code !== undefined) || typeof detail === "string";
}
