/** Events with their time, session and span: the data of all telemetry. */
import type { Event } from "../../core/mod.ts";

/** The session that an event belongs to: the user's own one, or that of an agent. */
export interface ObservedSession {
  readonly id: string;
  /** The session that an agent works for. */
  readonly parent?: string;
  /** Name of the agent. */
  readonly agent?: string;
  /** Number of agents above this one; 0 for the user's session. */
  readonly depth: number;
  /** Name of the configured provider, and its model. */
  readonly provider: string;
  readonly model: string;
  /** Host and port of the model's server. */
  readonly server?: { readonly address: string; readonly port: number };
}

/** Identifiers of a span. They are drawn when it begins, before the SDK is loaded. */
export interface SpanIds {
  readonly trace: string;
  readonly id: string;
  /** Absent: the first span of its trace. */
  readonly parent?: SpanIds;
  readonly sampled: boolean;
  /** `tracestate` (W3C) of the process that started the program. */
  readonly state?: string;
}

/** An event with the time, in milliseconds since 1970, and the span that it begins, ends or belongs to. */
export interface Observed {
  readonly event: Event;
  readonly at: number;
  readonly session: ObservedSession;
  /** Absent: nothing is open. */
  readonly span?: SpanIds;
}

/**
 * Reads events and writes spans, metrics or log records.
 *
 * Contract: does nothing else, and gives no text out that did not go through `redact`.
 */
export interface Reader {
  take(observed: Observed): void;
  /** Nothing follows: ends what is open. */
  end(): void;
}

/** Settings that every reader needs. */
export interface ReaderOptions {
  /** Prompts, answers, arguments and results are exported. */
  readonly content: boolean;
  readonly redact: (text: string) => string;
}

/** Names of vendors in the conventions, where they are others than those that `reasonix setup` gives. */
const PROVIDER_NAMES: Readonly<Record<string, string>> = {
  google: "gcp.gemini",
  gemini: "gcp.gemini",
  mistral: "mistral_ai",
  moonshot: "moonshot_ai",
  xai: "x_ai",
};

/** The value of `gen_ai.provider.name` for the name of a configured provider. */
export function providerName(name: string): string {
  return PROVIDER_NAMES[name] ?? name;
}
