import { clausesOf, type LocalizedMessage, message, type ProviderError } from "../../../core/mod.ts";
import { isRecord, parseJson } from "../../../util/json.ts";
import {
  askOtherwise,
  type Endpoint,
  nameOf,
  protocolFailure,
  providerError,
  ProviderFailure,
  quote,
  type Reported,
} from "../../errors.ts";
import type { Fields } from "../../wire/message_parts.ts";

/** The server's word for why a reply ended, and what it says about it. */
interface Ending {
  readonly reason: string;
  readonly explanation: string;
}

/** Why an answer was not given, by the server's word. */
const DECLINED: Readonly<Record<string, () => LocalizedMessage>> = {
  SAFETY: () => message`its safety filter stopped it`,
  RECITATION: () => message`it was about to repeat a protected text`,
  BLOCKLIST: () => message`it has a word of a block list`,
  PROHIBITED_CONTENT: () => message`it has prohibited content`,
  SPII: () => message`it has personal data`,
  LANGUAGE: () => message`it is in a language that the model does not support`,
  IMAGE_SAFETY: () => message`its safety filter stopped an image`,
  IMAGE_PROHIBITED_CONTENT: () => message`an image has prohibited content`,
  IMAGE_RECITATION: () => message`an image repeats a protected one`,
  MODEL_ARMOR: () => message`Model Armor stopped it`,
  JAILBREAK: () => message`it looks like an attempt to get around the rules`,
};

/** Faults of an answer that another attempt may not have. */
const BROKEN: Readonly<Record<string, () => LocalizedMessage>> = {
  MALFORMED_FUNCTION_CALL: () => message`broke off at a tool call that the model had not written well`,
  MALFORMED_RESPONSE: () => message`broke off at an answer that the model had not written well`,
  UNEXPECTED_TOOL_CALL: () => message`broke off at a tool call that was not allowed`,
  TOO_MANY_TOOL_CALLS: () => message`broke off after too many tool calls of its own`,
};

/** The error that a reply is which ended because the server would not go on. */
export function declinedError(ending: Ending, endpoint: Endpoint): ProviderError | undefined {
  const why = DECLINED[ending.reason]?.();
  return why && declined(message`${nameOf(endpoint)} ended the answer: ${why}`, ending, endpoint);
}

/** The failure that a reply is which came to no good end. */
export function endingFailure(ending: Ending, endpoint: Endpoint): ProviderFailure | undefined {
  const what = BROKEN[ending.reason]?.();
  if (what === undefined) return undefined;
  return protocolFailure(message`${what} (${detailOf(ending, endpoint)})`, endpoint);
}

/** The word of the server and its explanation. */
function detailOf({ reason, explanation }: Ending, endpoint: Endpoint): string {
  return quote(`${reason}${explanation === "" ? "" : `: ${explanation}`}`, endpoint);
}

/** The failure for a request that the server will not answer. */
export function blockedFailure(
  feedback: Fields,
  endpoint: Endpoint,
): ProviderFailure {
  const { blockReason, blockReasonMessage } = feedback;
  const reason = String(blockReason);
  const explanation = typeof blockReasonMessage === "string" ? blockReasonMessage : "";
  const why = DECLINED[reason]?.() ?? message`it gives no reason`;
  const what = message`${nameOf(endpoint)} does not answer the conversation: ${why}`;
  return new ProviderFailure(declined(what, { reason, explanation }, endpoint), false);
}

function declined(what: LocalizedMessage, ending: Ending, endpoint: Endpoint): ProviderError {
  return providerError(
    "content_filter",
    clausesOf([message`${what} (${detailOf(ending, endpoint)})`, askOtherwise()]),
  );
}

/** Words for a quota that time alone gives back. */
const QUOTA = /exceeded your current quota|quota exceeded|resource has been exhausted|resource exhausted/i;
const NO_QUOTA = /\blimit: 0(?!\.?\d)/;
const RETRY_IN = /please retry in ([\d.]+)\s*(ms|s)\b/i;

/**
 * The meaning of an error of the vendor, from its details (google.rpc.Status): a quota that is full
 * for a while, or for the day, and a key that is not valid, which comes as a bad request.
 */
export function understood(reported: Reported): Reported {
  const value = parseJson(reported.text.trim());
  const body = Array.isArray(value) ? value[0] : value;
  const error = isRecord(body) && isRecord(body.error) ? body.error : undefined;
  if (error === undefined) return reported;
  const { code } = error;
  const status = reported.status ?? (typeof code === "number" ? code : undefined);
  const text = typeof error.message === "string" ? error.message : "";
  const details = Array.isArray(error.details) ? error.details.filter(isRecord) : [];
  const reasons = details.map(({ reason }) => reason);
  if (reasons.includes("API_KEY_INVALID") || /api key (?:not valid|expired|not found)/i.test(text)) {
    return { ...reported, status, kind: "auth" };
  }
  const full = details.some((detail) => isOf(detail, "QuotaFailure")) || QUOTA.test(text);
  if (status !== 429 || !full) return { ...reported, status };
  const remedy = lastingQuota(details, text);
  const wait = waitOf(details, text);
  return {
    ...reported,
    status,
    kind: "rate_limit",
    ...(remedy ? { remedy, shouldRetry: false } : wait === undefined ? {} : { retryAfterMs: wait }),
  };
}

/** The remedy for a quota that no wait of seconds gives back. */
function lastingQuota(details: readonly Fields[], text: string): LocalizedMessage | undefined {
  const violations = details.flatMap((detail) =>
    isOf(detail, "QuotaFailure") && Array.isArray(detail.violations) ? detail.violations.filter(isRecord) : []
  );
  if (NO_QUOTA.test(text)) {
    return message`this key has no quota for the model: choose another model, or turn on billing for the key`;
  }
  return violations.some(({ quotaId }) => /PerDay|Daily/.test(String(quotaId)))
    ? message`the quota of the day is used up: wait for the next day, or use another model or key`
    : undefined;
}

/** Milliseconds that the server asks to wait. */
function waitOf(details: readonly Fields[], text: string): number | undefined {
  const delay = details.find((detail) => isOf(detail, "RetryInfo"))?.retryDelay;
  const [, number, unit] = (typeof delay === "string" ? /^([\d.]+)(s)$/.exec(delay) : null) ??
    RETRY_IN.exec(text) ?? [];
  const value = Number(number);
  if (number === undefined || !Number.isFinite(value)) return undefined;
  return Math.ceil(unit === "ms" ? value : value * 1000);
}

function isOf(detail: Fields, type: string): boolean {
  return String(detail["@type"]).endsWith(`google.rpc.${type}`);
}
