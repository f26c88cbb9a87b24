import {
  type Chunk,
  errorMessage,
  type LocalizedMessage,
  message,
  type ProviderError,
  type Text,
  textOf,
} from "../../core/mod.ts";
import { defined } from "../../util/json.ts";
import {
  abortedError,
  type Endpoint,
  messageOf,
  providerError,
  ProviderFailure,
  type Reported,
} from "../errors.ts";
import type { KindOptions, ProviderDeps } from "../kind.ts";
import type { ModelRequest, Provider } from "../provider.ts";
import { type ReplyReader, streamReply } from "./http_stream.ts";

export interface Wire {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly endpoint: Endpoint;
  /** A reply of the wire as a `data:` URL, for warm-ups. */
  readonly nowhere: string;
  /** Reads more out of a refusal than its status and words say. */
  reported?(reported: Reported): Reported;
  /** The body of an attempt, valid until the next one. */
  body(request: ModelRequest): Uint8Array<ArrayBuffer>;
  /** Reads the reply to the body that was written last. */
  reply(request: ModelRequest): ReplyReader;
  /** Handles a failure; a result means that the next body is another one, to be sent at once. */
  adapt?(failure: ProviderFailure, request: ModelRequest): Adaptation | undefined;
}

/** A stream of events as an address, for warm-ups: the runtime makes its HTTP client for it, too. */
export function eventsUrl(events: string): string {
  return `data:text/event-stream,${encodeURIComponent(events)}`;
}

export interface Adaptation {
  /** A field that the user asked for and that is left out from now on. */
  readonly without?: string;
}

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;

interface RetryPolicy {
  /** Attempts in all, the first included. */
  readonly maxAttempts: number;
  /** Total time that may be spent waiting between attempts. */
  readonly maxWaitMs: number;
}

/** A provider over HTTP: a wire with time limits and retries. */
export function streamingProvider({ entry, model, deps }: KindOptions, wire: Wire): Provider {
  const policy = { maxAttempts: entry.max_attempts, maxWaitMs: entry.max_wait_seconds * 1000 };
  const { headers, endpoint, reported } = wire;
  const limits = {
    firstByteMs: entry.first_byte_timeout_seconds * 1000,
    idleMs: entry.idle_timeout_seconds * 1000,
  };
  const streamTo = (url: string): Provider["stream"] => (request, signal) => {
    const attempt = () => {
      const body = wire.body(request);
      const reply = wire.reply(request);
      return streamReply({ url, headers, body, endpoint, reply, reported, ...limits }, deps, signal);
    };
    const adapt = (failure: ProviderFailure) => wire.adapt?.(failure, request);
    return withRetry({ attempt, adapt }, policy, deps, signal);
  };
  return { name: entry.name, model, stream: streamTo(wire.url), warmUp: streamTo(wire.nowhere) };
}

/**
 * Runs attempts until one succeeds, cannot be repeated, or the bounds are reached. An attempt that its wire
 * can send in another way is sent again at once and not counted.
 *
 * Contract: `attempt` throws only ProviderFailure for what the server did; whatever it throws ends as an
 * error chunk. Tool calls come at the very end of an attempt, so nothing has been acted upon when one breaks
 * off: it is repeated even after text was shown, and the retry chunk says that the text does not count.
 */
export async function* withRetry(
  { attempt, adapt }: {
    readonly attempt: () => AsyncIterable<Chunk>;
    readonly adapt: (failure: ProviderFailure) => Adaptation | undefined;
  },
  policy: RetryPolicy,
  deps: ProviderDeps,
  signal: AbortSignal,
): AsyncGenerator<Chunk, void> {
  let waited = 0;
  for (let number = 1;;) {
    let discarded = false;
    let failure: ProviderFailure;
    try {
      for await (const chunk of attempt()) {
        discarded ||= chunk.type === "text" || chunk.type === "reasoning";
        yield chunk;
      }
      return;
    } catch (error) {
      if (signal.aborted) return yield { type: "error", error: abortedError() };
      failure = asFailure(error);
    }
    const text = messageOf(failure.error);
    const change = adapt(failure);
    if (change) {
      const { without } = change;
      if (without === undefined) continue;
      const reason = message`${text}; from now on the request omits ${without}`;
      yield retryChunk(2, policy.maxAttempts, { waitMs: 0, reason, discarded });
      continue;
    }
    const waitMs = failure.error.retryAfterMs ?? backoff(number, deps.random());
    const maxAttempts = Math.min(policy.maxAttempts, failure.maxAttempts);
    const end = reasonToStop(failure, number, waited + waitMs, { ...policy, maxAttempts });
    if (end !== undefined) return yield { type: "error", error: withNote(failure.error, end) };
    number++;
    yield retryChunk(number, maxAttempts, { waitMs, reason: text, discarded });
    await deps.clock.sleep(waitMs, signal);
    if (signal.aborted) return yield { type: "error", error: abortedError() };
    waited += waitMs;
  }
}

/** The notice of a further attempt; `discarded`: the text of the last one does not count. */
export function retryChunk(
  attempt: number,
  maxAttempts: number,
  { waitMs, reason, discarded }: {
    readonly waitMs: number;
    readonly reason: Text;
    readonly discarded: boolean;
  },
): Chunk {
  const localized = typeof reason === "string" ? undefined : reason;
  return defined({
    type: "retry" as const,
    attempt,
    maxAttempts,
    waitMs,
    reason: textOf(reason),
    localized,
    discarded,
  });
}

function asFailure(error: unknown): ProviderFailure {
  if (error instanceof ProviderFailure) return error;
  return new ProviderFailure(
    { kind: "protocol", message: `Could not read the reply: ${errorMessage(error)}` },
    false,
  );
}

/** Doubles from one second up to half a minute, give or take a quarter. */
function backoff(number: number, random: number): number {
  const base = Math.min(FIRST_WAIT_MS * 2 ** (number - 1), LONGEST_WAIT_MS);
  return Math.round(base * (0.75 + random / 2));
}

/** The reason to stop ("" when the failure is enough); undefined for a further attempt. */
function reasonToStop(
  failure: ProviderFailure,
  number: number,
  totalWaitMs: number,
  policy: RetryPolicy,
): LocalizedMessage | "" | undefined {
  if (!failure.retryable) return "";
  const attempts = String(number);
  if (number >= policy.maxAttempts) return number === 1 ? "" : message`gave up after ${attempts} attempts`;
  if (totalWaitMs <= policy.maxWaitMs) return undefined;
  const asked = failure.error.retryAfterMs;
  const limit = `max_wait_seconds = ${policy.maxWaitMs / 1000}`;
  if (asked === undefined) return message`gave up after ${attempts} attempts, ${limit}`;
  return message`it asks to wait ${Math.ceil(asked / 1000)} s, more than ${limit} leaves`;
}

function withNote(error: ProviderError, note: LocalizedMessage | ""): ProviderError {
  if (note === "") return error;
  return { ...error, ...providerError(error.kind, message`${messageOf(error)} (${note})`) };
}
