import { type Chunk, errorMessage, type LocalizedMessage, message, type ProviderError } from "../core/mod.ts";
import { messageOf, providerError, ProviderFailure } from "./errors.ts";
import type { ProviderDeps } from "./kind.ts";

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;

export interface RetryPolicy {
  /** Attempts in all, the first included. */
  readonly maxAttempts: number;
  /** Total time that may be spent waiting between attempts. */
  readonly maxWaitMs: number;
}

/**
 * Runs attempts until one succeeds, cannot be repeated, or the bounds are reached.
 *
 * Contract: `attempt` throws only ProviderFailure for what the server did; whatever it throws ends as an
 * error chunk. Tool calls come at the very end of an attempt, so nothing has been acted upon when one breaks
 * off: it is repeated even after text was shown, and the retry chunk says that the text does not count.
 */
export async function* withRetry(
  attempt: () => AsyncIterable<Chunk>,
  policy: RetryPolicy,
  deps: ProviderDeps,
  signal: AbortSignal,
): AsyncGenerator<Chunk, void> {
  let waited = 0;
  for (let number = 1;; number++) {
    let shown = false;
    let failure: ProviderFailure;
    try {
      for await (const chunk of attempt()) {
        shown ||= chunk.type === "text" || chunk.type === "reasoning";
        yield chunk;
      }
      return;
    } catch (error) {
      if (signal.aborted) return yield { type: "error", error: abortedError() };
      failure = asFailure(error);
    }
    const waitMs = failure.error.retryAfterMs ?? backoff(number, deps.random());
    const maxAttempts = Math.min(policy.maxAttempts, failure.maxAttempts);
    const end = reasonToStop(failure, number, waited + waitMs, { ...policy, maxAttempts });
    if (end !== undefined) return yield { type: "error", error: withNote(failure.error, end) };
    yield {
      type: "retry",
      attempt: number + 1,
      maxAttempts,
      waitMs,
      reason: failure.error.message,
      ...(failure.error.localized ? { localized: failure.error.localized } : {}),
      discarded: shown,
    };
    await deps.clock.sleep(waitMs, signal);
    if (signal.aborted) return yield { type: "error", error: abortedError() };
    waited += waitMs;
  }
}

export function abortedError(): ProviderError {
  return { kind: "aborted", message: "The request was stopped" };
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

/**
 * Returns why there is no further attempt ("" when the failure speaks for itself), or undefined when there is
 * one.
 */
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

/**
 * The wait a server asks for, in milliseconds: `retry-after-ms`, or `Retry-After` in seconds or as a date
 * (RFC 9110 §10.2.3).
 */
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
