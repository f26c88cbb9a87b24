import type { Phrase, ProviderError } from "../../../core/mod.ts";
import { isRecord, parseJson } from "../../../util/json.ts";
import {
  type Endpoint,
  nameOf,
  protocolFailure,
  ProviderFailure,
  quote,
  type Reported,
} from "../../errors.ts";
import type { Fields } from "../../wire/message_parts.ts";

/** The server's word for why a reply ended, and what it says about it. */
interface Ending {
  readonly reason: string;
  readonly message: string;
}

/** Why an answer was not given, by the server's word. */
const DECLINED: Readonly<Record<string, string>> = {
  SAFETY: "its safety filter stopped it",
  RECITATION: "it was about to repeat a protected text",
  BLOCKLIST: "it has a word of a block list",
  PROHIBITED_CONTENT: "it has prohibited content",
  SPII: "it has personal data",
  LANGUAGE: "it is in a language that the model does not support",
  IMAGE_SAFETY: "its safety filter stopped an image",
  IMAGE_PROHIBITED_CONTENT: "an image has prohibited content",
  IMAGE_RECITATION: "an image repeats a protected one",
  MODEL_ARMOR: "Model Armor stopped it",
  JAILBREAK: "it looks like an attempt to get around the rules",
};

/** Faults of an answer that another attempt may not have. */
const BROKEN: Readonly<Record<string, string>> = {
  MALFORMED_FUNCTION_CALL: "broke off at a tool call that the model had not written well",
  MALFORMED_RESPONSE: "broke off at an answer that the model had not written well",
  UNEXPECTED_TOOL_CALL: "broke off at a tool call that was not allowed",
  TOO_MANY_TOOL_CALLS: "broke off after too many tool calls of its own",
};

/** The error that a reply is which ended because the server would not go on. */
export function declinedError(ending: Ending, endpoint: Endpoint): ProviderError | undefined {
  const why = DECLINED[ending.reason];
  return why === undefined ? undefined : declined({ what: "ended the answer", why, ...ending }, endpoint);
}

/** The failure that a reply is which came to no good end. */
export function endingFailure({ reason, message }: Ending, endpoint: Endpoint): ProviderFailure | undefined {
  const what = BROKEN[reason];
  if (what === undefined) return undefined;
  const said = quote(message, endpoint);
  return protocolFailure(`${what} (${reason}${said === "" ? "" : `: ${said}`})`, endpoint);
}

/** The failure for a request that the server will not answer. */
export function blockedFailure(
  feedback: Fields,
  endpoint: Endpoint,
): ProviderFailure {
  const { blockReason, blockReasonMessage: said } = feedback;
  const reason = String(blockReason);
  const message = typeof said === "string" ? said : "";
  const why = DECLINED[reason] ?? "it does not say why";
  return new ProviderFailure(
    declined({ what: "does not answer the conversation", why, reason, message }, endpoint),
    false,
  );
}

function declined(
  { what, why, reason, message }: Ending & { readonly what: string; readonly why: string },
  endpoint: Endpoint,
): ProviderError {
  const said = quote(`${reason}${message === "" ? "" : `: ${message}`}`, endpoint);
  const { provider, host } = endpoint;
  return {
    kind: "content_filter",
    message: `${nameOf(endpoint)} ${what}: ${why} (${said}); ask in other words, ` +
      "or go back to before the message that led to it",
    said: [["declined", provider, host, said], ["askOtherwise"]],
  };
}

/** Words for a quota that time alone gives back. */
const QUOTA = /exceeded your current quota|quota exceeded|resource has been exhausted|resource exhausted/i;
const NO_QUOTA = /\blimit: 0(?!\.?\d)/;
const RETRY_IN = /please retry in ([\d.]+)\s*(ms|s)\b/i;

const DAY: Phrase = {
  text: "the quota of the day is used up: wait for the next day, or use another model or key",
  said: ["dayQuota"],
};
const NONE: Phrase = {
  text: "this key has no quota for the model: choose another model, or turn on billing for the key",
  said: ["noQuota"],
};

/**
 * The meaning of an error of the vendor, from its details (google.rpc.Status): a quota that is full
 * for a while, or for the day, and a key that is not valid, which comes as a bad request.
 */
export function understood(reported: Reported): Reported {
  const value = parseJson(reported.text.trim());
  const body = Array.isArray(value) ? value[0] : value;
  const error = isRecord(body) && isRecord(body.error) ? body.error : undefined;
  if (error === undefined) return reported;
  const { code, message: said } = error;
  const status = reported.status ?? (typeof code === "number" ? code : undefined);
  const message = typeof said === "string" ? said : "";
  const details = Array.isArray(error.details) ? error.details.filter(isRecord) : [];
  const reasons = details.map(({ reason }) => reason);
  if (reasons.includes("API_KEY_INVALID") || /api key (?:not valid|expired|not found)/i.test(message)) {
    return { ...reported, status, kind: "auth" };
  }
  const full = details.some((detail) => isOf(detail, "QuotaFailure")) || QUOTA.test(message);
  if (status !== 429 || !full) return { ...reported, status };
  const remedy = lastingQuota(details, message);
  const wait = waitOf(details, message);
  return {
    ...reported,
    status,
    kind: "rate_limit",
    ...(remedy ? { remedy, shouldRetry: false } : wait === undefined ? {} : { retryAfterMs: wait }),
  };
}

/** The remedy for a quota that no wait of seconds gives back. */
function lastingQuota(details: readonly Fields[], message: string): Phrase | undefined {
  const violations = details.flatMap((detail) =>
    isOf(detail, "QuotaFailure") && Array.isArray(detail.violations) ? detail.violations.filter(isRecord) : []
  );
  if (NO_QUOTA.test(message)) return NONE;
  return violations.some(({ quotaId }) => /PerDay|Daily/.test(String(quotaId))) ? DAY : undefined;
}

/** Milliseconds that the server asks to wait. */
function waitOf(details: readonly Fields[], message: string): number | undefined {
  const delay = details.find((detail) => isOf(detail, "RetryInfo"))?.retryDelay;
  const [, number, unit] = (typeof delay === "string" ? /^([\d.]+)(s)$/.exec(delay) : null) ??
    RETRY_IN.exec(message) ?? [];
  const value = Number(number);
  if (number === undefined || !Number.isFinite(value)) return undefined;
  return Math.ceil(unit === "ms" ? value : value * 1000);
}

function isOf(detail: Fields, type: string): boolean {
  return String(detail["@type"]).endsWith(`google.rpc.${type}`);
}
