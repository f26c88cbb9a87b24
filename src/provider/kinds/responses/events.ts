import type { Chunk, FinishReason, Usage } from "../../../core/mod.ts";
import { isRecord } from "../../../util/json.ts";
import { reportedFailure, statusIn } from "../../errors.ts";
import type { Endpoint, ProviderFailure } from "../../failure.ts";
import type { Channel, DeltaShape, OnlyText } from "../../wire/delta_template.ts";
import type { EventReceiver } from "../../wire/events.ts";
import { SpokenText } from "../../wire/spoken_text.ts";
import { readUsage } from "../../wire/usage.ts";
import { type Fields, OutputItems } from "./output.ts";
import { remoteCallOf } from "./remote_calls.ts";

/** Events that bring a piece of a text: the type of their item, and the field that the text stands in. */
const TEXT_EVENTS: Readonly<Record<string, readonly [type: string, field: string]>> = {
  "response.output_text.delta": ["message", "content"],
  "response.refusal.delta": ["message", "content"],
  "response.reasoning_summary_text.delta": ["reasoning", "summary"],
  "response.reasoning_text.delta": ["reasoning", "content"],
  // Names that some servers use.
  "response.reasoning.delta": ["reasoning", "content"],
  "response.reasoning_summary.delta": ["reasoning", "summary"],
};

const CUT: Readonly<Record<string, FinishReason>> = {
  max_output_tokens: "length",
  max_tokens: "length",
  content_filter: "content_filter",
};

/** Codes of failed responses that no repetition helps; others are faults of the server. */
const REFUSED = /^(?:invalid_|image_|unsupported_|empty_|bio_policy|cyber_policy|data_residency)|_policy_/;

const KNOWN_STATUS: Readonly<Record<string, number>> = {
  rate_limit_exceeded: 429,
  server_error: 500,
  vector_store_timeout: 504,
};

/** Text deltas where a server numbers nothing, so that they are all alike. */
export const DELTA_SHAPE: DeltaShape = { start: "event: response.output_text.delta\ndata: ", onlyText };

function onlyText(event: unknown): OnlyText | undefined {
  if (!isRecord(event) || event.type !== "response.output_text.delta") return undefined;
  const { delta } = event;
  // Between numbered events no two are alike.
  if (typeof delta !== "string" || delta === "" || event.sequence_number !== undefined) return undefined;
  return { field: "delta", channel: "text", text: delta };
}

/** Collects one reply from its events; what can be shown at once comes out of {@linkcode take}. */
export class ResponseCollector implements EventReceiver {
  readonly output: OutputItems;
  readonly #spoken = new SpokenText();
  readonly #endpoint: Endpoint;
  readonly #onCall: ((tool: string) => void) | undefined;
  readonly #told = new WeakSet<object>();
  /** True once text or reasoning has been seen. */
  hasOutput = false;
  usage: Usage | undefined;
  finish: FinishReason | undefined;
  /** The id that the server gave the reply. */
  id: string | undefined;

  constructor(endpoint: Endpoint, onCall?: (tool: string) => void) {
    this.#endpoint = endpoint;
    this.#onCall = onCall;
    this.output = new OutputItems((channel, text) => {
      this.hasOutput = true;
      this.#spoken.append(channel, text);
    });
  }

  /** Takes a text delta whose event said nothing else. */
  say(channel: Channel, text: string): void {
    const item = this.output.at({}, channel === "text" ? "message" : "reasoning");
    this.output.speak(item, channel === "text" ? "content:0" : "summary:0", text);
  }

  /** Reads one event, or a whole response. Throws a ProviderFailure when it reports an error. */
  add(event: unknown): void {
    if (!isRecord(event)) return;
    const { type } = event;
    const text = typeof type === "string" ? TEXT_EVENTS[type] : undefined;
    if (text) return this.#text(event, ...text);
    const { item, output_index: index } = event;
    switch (type) {
      case "response.output_item.added":
        if (isRecord(item)) this.#added(item, index);
        return;
      case "response.output_item.done":
        if (isRecord(item)) this.#done(item, index);
        return;
      case "response.function_call_arguments.delta":
        if (typeof event.delta === "string") this.output.at(event, "function_call").written += event.delta;
        return;
      case "response.function_call_arguments.done":
        if (typeof event.arguments === "string") {
          this.output.at(event, "function_call").written = event.arguments;
        }
        return;
    }
    if (isRecord(event.response)) return this.#response(event.response);
    if (Array.isArray(event.output) || event.object === "response") return this.#response(event);
    if (type === "error" || (event.error !== undefined && event.error !== null)) {
      throw this.#reported(isRecord(event.error) ? event.error : event);
    }
    if (type === undefined && (typeof event.message === "string" || typeof event.detail === "string")) {
      throw this.#reported(event);
    }
  }

  /** Returns what has come since the last call, adjacent pieces joined. */
  take(): readonly Chunk[] {
    return [...this.#spoken.take(), ...this.#newRemoteCalls()];
  }

  end(): readonly Chunk[] {
    return [...this.#spoken.end(), ...this.#newRemoteCalls()];
  }

  /** Calls that the server has made itself and that were not told yet. */
  #newRemoteCalls(): readonly Chunk[] {
    const made = this.output.list.filter((item) => item.done && !this.#told.has(item));
    return made.flatMap((item) => {
      this.#told.add(item);
      return remoteCallOf(item.fields) ?? [];
    });
  }

  #text(event: Fields, type: string, field: string): void {
    if (typeof event.delta !== "string") return;
    const at = event.summary_index ?? event.content_index ?? 0;
    const item = this.output.at(event, type);
    this.output.speak(item, type === "message" ? "content:0" : `${field}:${at}`, event.delta);
  }

  #added(item: Fields, index: unknown): void {
    this.output.announce(item, index);
    if (item.type === "function_call" && typeof item.name === "string") this.#onCall?.(item.name);
  }

  #done(item: Fields, index: unknown): void {
    const known = this.output.calls.length;
    this.output.finish(item, index);
    if (this.output.calls.length > known && typeof item.name === "string") this.#onCall?.(item.name);
  }

  /** The response object as it stands: at the beginning of a stream empty, at its end whole. */
  #response(response: Fields): void {
    const { id, status, usage, output, error } = response;
    if (typeof id === "string" && id !== "") this.id = id;
    if (isRecord(usage)) this.usage = readUsage(usage) ?? this.usage;
    if (isRecord(error) && (status === undefined || status === "failed")) throw this.#reported(error);
    if (status === "failed" || status === "cancelled") {
      throw this.#reported({ code: "server_error", message: `the response is ${status}` });
    }
    if (Array.isArray(output)) this.output.settle(output);
    if (status === "completed") this.finish = "stop";
    if (status === "incomplete") this.finish = cutReason(response.incomplete_details);
    if (status === undefined && Array.isArray(output)) this.finish = "stop";
  }

  #reported(error: Fields): ProviderFailure {
    const code = typeof error.code === "string" ? error.code : "";
    const status = statusIn(error) ?? KNOWN_STATUS[code] ?? (REFUSED.test(code) ? 400 : undefined);
    return reportedFailure({ status, text: JSON.stringify({ error }) }, this.#endpoint);
  }
}

function cutReason(details: unknown): FinishReason {
  const reason = isRecord(details) ? details.reason : undefined;
  return typeof reason === "string" ? CUT[reason] ?? "unknown" : "unknown";
}
