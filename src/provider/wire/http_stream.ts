import { type Chunk, message } from "../../core/mod.ts";
import {
  connectionFailure,
  type Endpoint,
  nameOf,
  providerError,
  ProviderFailure,
  type Reported,
  reportedFailure,
} from "../errors.ts";
import type { Clock, ProviderDeps } from "../kind.ts";
import { requestBody } from "./request_buffer.ts";

const READ_SIZE = 64 * 1024;
/**
 * Text that is held during a garbage collection is moved and enlarges the heap, so pieces are small.
 */
const DECODE_SIZE = 16 * 1024;
const LONGEST_ERROR_BODY = 64 * 1024;
/** Silence before the first word after which the connection itself is looked at. */
const LOOK_AFTER_MS = 20_000;
/** Longest waits for the rest of a reply of which everything that matters has come. */
const GRACE_MS = {
  /** For usage after the finish reason. */
  finished: 5000,
  /** For `[DONE]`, or a later count, where a server sends them. */
  counted: 1000,
  /** For the end of the body, so that the connection can be used again. */
  done: 100,
} as const;

/** Reads the text of one successful response; a kind knows its form. */
export interface ReplyReader {
  /** Reports whether everything that matters has come, so that waiting for more is optional. */
  readonly over: "no" | keyof typeof GRACE_MS;
  /** Takes text as it comes in, cut anywhere. Throws a ProviderFailure when it reports an error. */
  feed(text: string): void;
  /** Returns what can be shown since the last call, adjacent pieces joined. */
  take(): readonly Chunk[];
  /** The rest of the reply after its last byte. Throws a ProviderFailure when it is none. */
  end(): Promise<readonly Chunk[]>;
}

export interface Attempt {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly endpoint: Endpoint;
  readonly reply: ReplyReader;
  /** Reads more out of a refusal than its status and words say. */
  readonly reported?: ((reported: Reported) => Reported) | undefined;
  readonly firstByteMs: number;
  readonly idleMs: number;
}

/**
 * Sends a request and reads its reply.
 *
 * Contract: throws ProviderFailure for whatever goes wrong, and anything at all once `signal` is aborted; a
 * consumer that stops reading closes the connection.
 */
export async function* streamReply(
  attempt: Attempt,
  deps: ProviderDeps,
  signal: AbortSignal,
): AsyncGenerator<Chunk, void> {
  const controller = new AbortController();
  const stop = () => controller.abort();
  let expired: Limit | undefined;
  const watch = new IdleTimeout(deps.clock, (limit) => {
    expired = limit;
    controller.abort();
  });
  const { endpoint, reply } = attempt;
  let phase: "connecting" | "reading" | "complete" = "connecting";
  const stopChecking = deps.clock.after(LOOK_AFTER_MS, async () => {
    const { connectionSilence } = await import("./silent_host.ts");
    const failure = await connectionSilence(attempt.url, endpoint, deps.clock);
    if (failure && phase === "connecting") controller.abort(failure);
  });
  signal.addEventListener("abort", stop);
  try {
    signal.throwIfAborted();
    watch.start({ name: "first_byte_timeout_seconds", ms: attempt.firstByteMs });
    const { url, headers } = attempt;
    const init = {
      method: "POST",
      headers,
      body: await requestBody(attempt.body),
      signal: controller.signal,
    };
    const response = await deps.fetch(url, init);
    if (!response.ok) throw await statusFailure(response, attempt, deps);
    phase = "reading";
    stopChecking();
    const read = byteReader(response.body);
    const decoder = new TextDecoder();
    let over = reply.over;
    for (let first = true;; first = false) {
      const bytes = await read().catch((error) => {
        if (over !== "no" && expired !== undefined) return undefined;
        throw error;
      });
      if (bytes === undefined) break;
      if (first) watch.start({ name: "idle_timeout_seconds", ms: attempt.idleMs });
      else if (over === "no") watch.touch();
      yield* feed(reply, decoder, bytes);
      if (over !== reply.over) {
        over = reply.over;
        if (over !== "no") watch.start({ name: over, ms: GRACE_MS[over] });
      }
    }
    yield* feed(reply, decoder);
    phase = "complete";
    watch.stop();
    yield* await reply.end();
  } catch (error) {
    if (error instanceof ProviderFailure) throw error;
    if (expired) throw timeoutFailure(expired, endpoint);
    throw connectionFailure(error, endpoint, phase === "reading");
  } finally {
    stopChecking();
    watch.stop();
    signal.removeEventListener("abort", stop);
    if (phase !== "complete") controller.abort();
  }
}

/** Yields what is ready to be shown, also when the text ends in a reported error. Without bytes it ends. */
function* feed(reply: ReplyReader, decoder: TextDecoder, bytes?: Uint8Array): Generator<Chunk, void> {
  try {
    for (let at = 0; bytes && at < bytes.length; at += DECODE_SIZE) {
      reply.feed(decoder.decode(bytes.subarray(at, at + DECODE_SIZE), { stream: true }));
    }
    if (!bytes) reply.feed(decoder.decode());
  } finally {
    yield* reply.take();
  }
}

/** Reads a body into one reused buffer where the runtime allows it, which is several times faster. */
function byteReader(
  body: ReadableStream<Uint8Array<ArrayBuffer>> | null,
): () => Promise<Uint8Array | undefined> {
  if (body === null) return () => Promise.resolve(undefined);
  let buffer = new Uint8Array(READ_SIZE);
  let byob: ReadableStreamBYOBReader;
  try {
    byob = body.getReader({ mode: "byob" });
  } catch {
    const plain = body.getReader();
    return async () => (await plain.read()).value;
  }
  return async () => {
    const { done, value } = await byob.read(buffer);
    if (done || value === undefined) return undefined;
    buffer = new Uint8Array(value.buffer);
    return value;
  };
}

async function statusFailure(
  response: Response,
  { endpoint, reported = (as) => as }: Attempt,
  deps: ProviderDeps,
): Promise<ProviderFailure> {
  const read = byteReader(response.body);
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (let bytes = await read(); bytes && text.length < LONGEST_ERROR_BODY; bytes = await read()) {
      text += decoder.decode(bytes, { stream: true });
    }
  } catch { /* the status says enough */ }
  return reportedFailure(
    reported({
      status: response.status,
      text,
      retryAfterMs: retryAfter(response.headers, deps.clock.now()),
      shouldRetry: response.headers.get("x-should-retry") === "false" ? false : undefined,
      requestId: response.headers.get("request-id") ?? response.headers.get("x-request-id") ?? undefined,
    }),
    endpoint,
  );
}

function timeoutFailure(limit: Limit, endpoint: Endpoint): ProviderFailure {
  const text = message`${nameOf(endpoint)} was silent for ${
    limit.ms / 1000
  } s; raise ${limit.name} of this provider for a slow model`;
  return new ProviderFailure(providerError("timeout", text), true);
}

interface Limit {
  readonly name: string;
  readonly ms: number;
}

/** A limit of silence with a single timer: `touch` sets none. */
class IdleTimeout {
  readonly #clock: Clock;
  readonly #onExpire: (limit: Limit) => void;
  #limit: Limit | undefined;
  #deadline = 0;
  #cancel = () => {};

  constructor(clock: Clock, onExpire: (limit: Limit) => void) {
    this.#clock = clock;
    this.#onExpire = onExpire;
  }

  /** Replaces the running limit; 0 ms = none. */
  start(limit: Limit): void {
    this.stop();
    if (limit.ms <= 0) return;
    this.#limit = limit;
    this.touch();
    this.#arm(limit);
  }

  touch(): void {
    if (this.#limit !== undefined) this.#deadline = this.#clock.now() + this.#limit.ms;
  }

  stop(): void {
    this.#cancel();
    this.#limit = undefined;
  }

  #arm(limit: Limit, left = limit.ms): void {
    this.#cancel = this.#clock.after(left, () => {
      const left = this.#deadline - this.#clock.now();
      if (left > 0) return this.#arm(limit, left);
      this.stop();
      this.#onExpire(limit);
    });
  }
}

/** The requested wait in milliseconds: `retry-after-ms`, or `Retry-After` (RFC 9110 §10.2.3). */
export function retryAfter(headers: Headers, now: number): number | undefined {
  const ms = numberIn(headers.get("retry-after-ms"));
  if (ms !== undefined) return ms;
  const value = headers.get("retry-after");
  const seconds = numberIn(value);
  if (seconds !== undefined) return seconds * 1000;
  const date = Date.parse(value ?? "");
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function numberIn(value: string | null): number | undefined {
  return value !== null && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : undefined;
}
