import {
  type LocalizedMessage,
  message,
  type ProviderError,
  type ToolCall,
  type ToolSchema,
} from "../../../core/mod.ts";
import { isRecord, parseJson, recordOf, safeText } from "../../../util/json.ts";
import {
  declinedError,
  type Endpoint,
  nameOf,
  protocolFailure,
  ProviderFailure,
  quote,
  type Reported,
  reportedFailure,
} from "../../errors.ts";
import { digestOf } from "../../wire/fingerprint.ts";
import type { Fields } from "../../wire/message_parts.ts";
import { addCounts, type ReplyContext, WireReply } from "../../wire/wire_reply.ts";
import { KIND, toolNamed } from "./gemini_request.ts";

/** Fields that are read here; a part with any other field is kept as it came. */
const KNOWN_FIELDS = new Set(["text", "thought", "thoughtSignature", "functionCall", "partMetadata"]);

/** One reply of `streamGenerateContent` to a request with these tools. */
export class GeneratedReply extends WireReply {
  readonly #tools: readonly ToolSchema[];
  readonly #parts: Fields[] = [];
  readonly #counts: Record<string, number> = {};
  /** Why the reply ended, and what the server says about it. */
  #reason = "";
  #message = "";

  constructor(context: ReplyContext, tools: readonly ToolSchema[]) {
    super(KIND, context, /functionCall/);
    this.#tools = tools;
  }

  protected override add(event: unknown): void {
    if (!isRecord(event)) return;
    const { endpoint } = this.context;
    // Gateways of the vendor's own wrap each answer.
    const { error, candidates, promptFeedback: feedback, usageMetadata } = isRecord(event.response)
      ? event.response
      : event;
    if (error !== undefined && error !== null) {
      const text = typeof error === "string" ? error : JSON.stringify({ error });
      throw reportedFailure(understood({ status: undefined, text }), endpoint);
    }
    this.#count(usageMetadata);
    const candidate = recordOf(Array.isArray(candidates) ? candidates[0] : undefined);
    const { content, finishReason, finishMessage } = candidate;
    if (isRecord(content) && Array.isArray(content.parts)) {
      for (const part of content.parts.filter(isRecord)) this.#add(part);
    }
    if (typeof finishMessage === "string") this.#message = finishMessage;
    if (typeof finishReason === "string" && finishReason !== "") {
      this.#reason = finishReason;
      this.finish = finishReason === "STOP" ? "stop" : finishReason === "MAX_TOKENS" ? "length" : "unknown";
    }
    if (isRecord(feedback) && typeof feedback.blockReason === "string") {
      const { blockReason, blockReasonMessage } = feedback;
      const why = DECLINED[blockReason]?.() ?? message`it gives no reason`;
      const what = message`${nameOf(endpoint)} does not answer the conversation: ${why}`;
      throw new ProviderFailure(declined(what, blockReason, blockReasonMessage, endpoint), false);
    }
  }

  protected override settle(): ProviderError | undefined {
    const { endpoint } = this.context;
    const why = DECLINED[this.#reason]?.();
    if (why) {
      const text = message`${nameOf(endpoint)} ended the answer: ${why}`;
      return declined(text, this.#reason, this.#message, endpoint);
    }
    const what = BROKEN[this.#reason]?.();
    if (what === undefined) return undefined;
    throw protocolFailure(message`${what} (${detailOf(this.#reason, this.#message, endpoint)})`, endpoint);
  }

  /** Without data where text and calls in their usual order are the whole reply. */
  protected override finished(calls: readonly ToolCall[]) {
    const isPlain = this.#parts.every(({ text, functionCall, thoughtSignature }) =>
      thoughtSignature === undefined &&
      (typeof text === "string" || isRecord(functionCall) && functionCall.id === undefined)
    );
    if (isPlain) return { calls };
    const parts = this.#parts.map((part) =>
      typeof part.text === "string" ? { ...part, text: safeText(part.text) } : part
    );
    return { calls, data: { parts, digest: digestOf(parts) } };
  }

  #add(part: Fields): void {
    const { thoughtSignature, functionCall, text, thought } = part;
    const isSigned = typeof thoughtSignature === "string" && thoughtSignature !== "";
    const signed = isSigned ? { thoughtSignature } : {};
    if (isRecord(functionCall)) this.#call(functionCall, signed);
    else if (typeof text === "string" || isSigned) {
      this.#text(thought === true, typeof text === "string" ? text : "", signed);
    } else if (Object.keys(part).some((key) => !KNOWN_FIELDS.has(key))) this.#parts.push(part);
  }

  /** A call is written from the message, whose arguments are the text that came. */
  #call({ id, name, args }: Fields, signed: Fields): void {
    const index = this.calls.size;
    const tool = typeof name === "string" ? toolNamed(name, this.#tools) : "";
    this.announce(this.calls.add({ index, id, function: { name: tool, arguments: recordOf(args) } }));
    this.#parts.push({ functionCall: typeof id === "string" && id !== "" ? { id } : {}, ...signed });
  }

  /** Consecutive texts are one part, except for signed ones: these go back as they came. */
  #text(isThought: boolean, text: string, signed: Fields): void {
    this.spoken.append(isThought ? "reasoning" : "text", text);
    const isSigned = "thoughtSignature" in signed;
    const last = this.#parts.at(-1);
    const continues = typeof last?.text === "string" && (last.thought === true) === isThought &&
      last.thoughtSignature === undefined && !isSigned;
    if (continues) this.#parts[this.#parts.length - 1] = { ...last, text: `${last.text}${text}` };
    else if (text !== "" || isSigned) {
      this.#parts.push({ text, ...(isThought ? { thought: true } : {}), ...signed });
    }
  }

  #count(usage: unknown): void {
    addCounts(this.#counts, usage);
    const {
      promptTokenCount: prompt,
      toolUsePromptTokenCount: tools = 0,
      cachedContentTokenCount: cached = 0,
      candidatesTokenCount: answer,
      thoughtsTokenCount: thoughts = 0,
      totalTokenCount: total,
    } = this.#counts;
    if (prompt === undefined && answer === undefined) return;
    const input = (prompt ?? 0) + tools;
    // Thoughts are counted separately from the answer; the total gives away a server that does not.
    const isIncluded = thoughts > 0 && total === input + (answer ?? 0);
    const output = (answer ?? 0) + (isIncluded ? 0 : thoughts);
    this.usage = {
      inputTokens: input,
      cachedTokens: Math.min(cached, input),
      outputTokens: output,
      reasoningTokens: Math.min(thoughts, output),
    };
  }
}

/** Reasons of the server for a refused answer. */
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
  TOO_MANY_TOOL_CALLS: () => message`broke off after too many tool calls that it ran itself`,
};

function declined(
  what: LocalizedMessage,
  reason: string,
  explanation: unknown,
  endpoint: Endpoint,
): ProviderError {
  const detail = detailOf(reason, explanation, endpoint);
  return declinedError(message`${what} (${detail})`);
}

/** The word of the server and its explanation. */
function detailOf(reason: string, explanation: unknown, endpoint: Endpoint): string {
  const hasMore = typeof explanation === "string" && explanation !== "";
  return quote(hasMore ? `${reason}: ${explanation}` : reason, endpoint);
}

/** Matches a quota that recovers with time. */
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

/** The remedy for a quota that does not recover within seconds. */
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
