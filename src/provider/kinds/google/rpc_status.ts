import type { Phrase } from "../../../core/mod.ts";
import { isRecord, parseJson } from "../../../util/json.ts";
import type { Reported } from "../../errors.ts";

type Fields = Readonly<Record<string, unknown>>;

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
 * What an error of the vendor comes to, from the details it brings (google.rpc.Status): a quota that is full
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

/** What to do about a quota that no wait of seconds gives back. */
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
