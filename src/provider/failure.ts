import { type ProviderError, ReasonixError } from "../core/mod.ts";
import { createRedactor } from "../util/redact.ts";

/** The failure of one attempt at a request. Stays inside the package: outside, failures are chunks. */
export class ProviderFailure extends Error {
  override readonly name = "ProviderFailure";
  readonly error: ProviderError;
  /** True when the same request may succeed a moment later. */
  readonly retryable: boolean;
  /** Attempts that are worth making, the first included, where more cannot help. */
  readonly maxAttempts: number;

  constructor(error: ProviderError, retryable: boolean, maxAttempts = Infinity) {
    super(error.message);
    this.error = error;
    this.retryable = retryable;
    this.maxAttempts = maxAttempts;
  }
}

/** A failure as the error that calls outside of conversations reject with. */
export function errorOf(failure: ProviderFailure): ReasonixError {
  const { message, said } = failure.error;
  return new ReasonixError(message, { exit: "provider", said, cause: failure });
}

/** Takes out what came up as a secret while the program ran, such as printed keys. */
const withoutLearned = createRedactor([]);
const LONGEST_QUOTE = 500;
const KEY_SHAPES = /\b(?:sk|pk|gsk|xai|key|api)[-_][A-Za-z0-9_-]{12,}|\bBearer\s+[A-Za-z0-9._~+/=-]{8,}/gi;

export interface ProxyOrigin {
  /** The setting or variable that names it. */
  readonly name: string;
  readonly url: string;
}

/** The receiver of requests, as far as messages may tell. */
export interface Endpoint {
  readonly provider: string;
  readonly host: string;
  readonly model: string;
  /** Name of the key's environment variable; empty when the provider uses none. */
  readonly keyName: string;
  /** True when a command prints the key. */
  readonly keyCommand?: boolean;
  /** True when a key was sent. */
  readonly keyed: boolean;
  /** The proxy that requests take, if there is one. */
  readonly proxy?: ProxyOrigin | undefined;
  /** Texts that must never appear in a message. */
  readonly secrets: readonly string[];
}

/** Returns what the server said, on one line, bounded, and without secrets. */
export function quote(text: string, endpoint: Endpoint): string {
  let out = text;
  for (const secret of endpoint.secrets) out = out.replaceAll(secret, "[redacted]");
  out = withoutLearned(out).replace(KEY_SHAPES, "[redacted]").replace(/\s+/g, " ").trim();
  return out.length > LONGEST_QUOTE ? `${out.slice(0, LONGEST_QUOTE).toWellFormed()}…` : out;
}

export function nameOf(endpoint: Endpoint): string {
  return `Provider "${endpoint.provider}" at ${endpoint.host}`;
}
