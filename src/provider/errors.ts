import { isLoopback, LOCAL_VENDORS } from "../config/mod.ts";
import {
  clausesOf,
  type LocalizedMessage,
  message,
  type ProviderError,
  type ProviderErrorKind,
  ReasonixError,
  type Text,
  textOf,
} from "../core/mod.ts";
import { readEnv } from "../path/read_env.ts";
import { networkFailure, proxyHint, RedirectError } from "../util/network/fetch.ts";
import { defined, isRecord, parseJson } from "../util/json.ts";
import { createRedactor } from "../util/redact.ts";

/** The failure of one attempt at a request. Stays inside the package: outside, failures are chunks. */
export class ProviderFailure extends Error {
  override readonly name = "ProviderFailure";
  readonly error: ProviderError;
  /** True when the same request may succeed a moment later. */
  readonly retryable: boolean;
  /** Attempts in all, the first included, where more cannot help. */
  readonly maxAttempts: number;

  constructor(error: ProviderError, retryable: boolean, maxAttempts = Infinity) {
    super(error.message);
    this.error = error;
    this.retryable = retryable;
    this.maxAttempts = maxAttempts;
  }
}

/** The error of a request outside of a conversation. */
export function errorOf(failure: ProviderFailure): ReasonixError {
  return new ReasonixError(messageOf(failure.error), { exit: "provider", cause: failure });
}

export function providerError(
  kind: ProviderErrorKind,
  text: Text,
  facts: Omit<ProviderError, "kind" | "message" | "localized"> = {},
): ProviderError {
  return { kind, message: textOf(text), ...(typeof text === "string" ? {} : { localized: text }), ...facts };
}

export function messageOf({ message, localized }: ProviderError): Text {
  return localized ?? message;
}

export function abortedError(): ProviderError {
  return { kind: "aborted", message: "The request was stopped" };
}

/** An answer that the model or its filter declines. */
export function declinedError(what: LocalizedMessage): ProviderError {
  const remedy = message`ask in other words, or go back to before the message that led to it`;
  return providerError("content_filter", clausesOf([what, remedy]));
}

/** Redacts secrets that the program learned while it ran, such as printed keys. */
const withoutLearned = createRedactor([]);
const LONGEST_QUOTE = 500;
const KEY_SHAPES = /\b(?:sk|pk|gsk|xai|key|api)[-_][A-Za-z0-9_-]{12,}|\bBearer\s+[A-Za-z0-9._~+/=-]{8,}/gi;

export interface ProxyOrigin {
  readonly name: string;
  readonly url: string;
}

/** The receiver of requests, as messages name it. */
export interface Endpoint {
  readonly provider: string;
  readonly host: string;
  readonly model: string;
  /** Name of the key's environment variable; empty when the provider uses none. */
  readonly keyName: string;
  readonly keyCommand?: boolean;
  readonly keyed: boolean;
  readonly proxy?: ProxyOrigin | undefined;
  /** Texts that must never appear in a message. */
  readonly secrets: readonly string[];
}

/** The text of a server on one line, bounded, and without secrets. */
export function quote(text: string, endpoint: Endpoint): string {
  let out = text;
  for (const secret of endpoint.secrets) out = out.replaceAll(secret, "[redacted]");
  out = withoutLearned(out).replace(KEY_SHAPES, "[redacted]").replace(/\s+/g, " ").trim();
  return out.length > LONGEST_QUOTE ? `${out.slice(0, LONGEST_QUOTE).toWellFormed()}…` : out;
}

export function nameOf({ provider, host }: Endpoint): LocalizedMessage {
  return message`Provider "${provider}" at ${host}`;
}

/**
 * Phrases by which vendors say that a request does not fit the model's window. Sources: OpenAI, Azure,
 * DeepSeek, Groq and OpenRouter (`context_length_exceeded`, "maximum context length"), vLLM ("maximum model
 * length", "longer than"), llama.cpp (`exceed_context_size_error`), Ollama ("exceeds context window"),
 * Anthropic ("prompt is too long"), Gemini ("input token count"), Mistral ("too large for model"), xAI
 * ("maximum prompt length"), Moonshot, Z.AI, SGLang, LM Studio, Bedrock.
 */
const CONTEXT_LENGTH = [
  /context[_ -]?(?:length|window|size)[_ ]?(?:_?exceeded|is exceeded|limit)/i,
  /exceed\w*(?: the| its| your| model's| model| maximum| available| limit of)*[ _](?:context|prompt length|input length)/i,
  /(?:maximum|max)[ _](?:model |allowed )?(?:context|prompt|input|model)[ _](?:len|length|tokens)/i,
  /prompt (?:is|was) too long|prompt contains too many tokens|input is too long|too many (?:input )?tokens/i,
  /input token count.*exceeds|exceeds? the maximum number of (?:input )?tokens|exceeded model token limit/i,
  /too large for model with \d+ maximum context|reduce the length of (?:the|your) (?:messages|prompt|input)/i,
  /longer than the model'?s? (?:maximum |max )?context|trying to keep the first \d+ tokens|n_ctx|token limit exceeded/i,
];

const CONTENT_FILTER =
  /content[_ ]?filter|content[_ ]policy|responsible_?ai|content management policy|safety (?:system|filter)|data_inspection_failed|content exists risk/i;

/** Answers that look like a rate limit but last until the account has credit. */
const NO_CREDIT =
  /insufficient[_ ](?:quota|balance|credit|funds)|exceeded your current quota|billing|credit balance|payment required/i;

/** Ollama, vLLM, llama.cpp, OpenRouter and Gemini about models without tools. */
const NO_TOOLS =
  /does(?: not|n't) support (?:tools|tool|function)|no endpoints found that support tool|tool[ _](?:use|choice|calling)[^.]{0,40} not supported|function calling is not (?:enabled|supported)/i;

/** Chat templates of Gemma, Mistral and others, as llama.cpp, vLLM and LM Studio pass it on. */
const MUST_ALTERNATE = /roles? (?:must|should) alternate|must alternate (?:between )?user/i;

const OVERLOADED = /overload|server[_ ]?(?:error|busy)|internal|unavailable|capacity|timeout|try again/i;
const RATE = /rate[_ -]?limit|too many requests|throttl/i;
const AUTH = /invalid[_ ]api[_ ]key|authentication|unauthori[sz]ed|permission[_ ]denied/i;
const NOT_FOUND = /model[_ ]not[_ ]found|model .{1,80}(?:not found|does not exist)|not_found_error/i;
const BAD_REQUEST = /invalid[_ ]request|bad[_ ]request|invalid_(?:argument|parameter|type|value)/i;

/** An error a server reported, over HTTP or inside a stream. */
export interface Reported {
  /** HTTP status, or the numeric code of an error object. */
  readonly status: number | undefined;
  /** The whole text of the error, codes included. */
  readonly text: string;
  readonly retryAfterMs?: number | undefined;
  /** The server's own advice, from `x-should-retry`. */
  readonly shouldRetry?: boolean | undefined;
  /** The id under which the operators of the server find the request. */
  readonly requestId?: string | undefined;
  readonly kind?: ProviderErrorKind;
  readonly remedy?: LocalizedMessage;
}

const RETRYABLE: ReadonlySet<ProviderErrorKind> = new Set([
  "rate_limit",
  "server",
  "connection",
  "timeout",
  "protocol",
]);

export function reportedFailure(reported: Reported, endpoint: Endpoint): ProviderFailure {
  const { status, retryAfterMs, requestId } = reported;
  const kind = reported.kind ?? kindOf(reported);
  const request = requestId === undefined ? "" : `(request ${quote(requestId, endpoint)})`;
  const details = `${quote(readable(reported.text), endpoint)} ${request}`.trim();
  const answer = answerWith(kind, status, nameOf(endpoint));
  const byText = reported.kind === undefined ? remedyOfText(reported, endpoint) : reported.remedy;
  const remedy = byText ?? remedyFor(kind, endpoint, status);
  const what = details === "" ? answer : message`${answer}: ${details}`;
  const facts = defined({ status, retryAfterMs });
  const error = providerError(kind, remedy ? clausesOf([what, remedy]) : what, facts);
  return new ProviderFailure(error, RETRYABLE.has(kind) && reported.shouldRetry !== false);
}

function remedyOfText({ text }: Reported, endpoint: Endpoint): LocalizedMessage | undefined {
  const { model } = endpoint;
  if (NO_CREDIT.test(text)) return message`add credit to the account or choose another provider`;
  if (NO_TOOLS.test(text)) {
    return message`set tool_mode = "pseudo" for "${model}", which then writes its calls as text, or choose a model that can call tools`;
  }
  if (MUST_ALTERNATE.test(text)) {
    return message`set compat = { alternate_roles = true } for this provider`;
  }
  return undefined;
}

/** The failure for a redirect to another server, which is not retried. */
function redirectFailure({ to: target, status }: RedirectError, endpoint: Endpoint): ProviderFailure {
  const to = quote(target, endpoint);
  const remedy =
    message`the request was redirected to ${to}, which is not followed: if that is the server you mean, write its address into base_url`;
  return reportedFailure({ status, text: "", kind: "bad_request", remedy }, endpoint);
}

function answerWith(kind: ProviderErrorKind, code: number | undefined, name: LocalizedMessage) {
  const status = code === undefined ? message`an error in its reply` : message`status ${code}`;
  if (kind === "context_length") {
    return message`${name} answered that the conversation is too long for the model, with ${status}`;
  }
  return kind === "rate_limit"
    ? message`${name} answered that there were too many requests, with ${status}`
    : message`${name} answered with ${status}`;
}

function kindOf({ status, text }: Reported): ProviderErrorKind {
  const code = status ?? 0;
  if (code !== 401 && code !== 429 && CONTEXT_LENGTH.some((pattern) => pattern.test(text))) {
    return "context_length";
  }
  if ((code === 400 || code === 403 || code === 0) && CONTENT_FILTER.test(text)) return "content_filter";
  if (NO_CREDIT.test(text) && (code === 0 || (code >= 400 && code < 500))) return "auth";
  if (MUST_ALTERNATE.test(text) && STATUS_KINDS[code] !== "auth") return "bad_request";
  const kind = STATUS_KINDS[code] ?? (code >= 500 ? "server" : code >= 400 ? "bad_request" : undefined);
  if (kind !== undefined) return kind;
  if (RATE.test(text)) return "rate_limit";
  if (AUTH.test(text)) return "auth";
  if (NOT_FOUND.test(text)) return "not_found";
  return BAD_REQUEST.test(text) && !OVERLOADED.test(text) ? "bad_request" : "server";
}

const STATUS_KINDS: Readonly<Record<number, ProviderErrorKind>> = {
  401: "auth",
  402: "auth",
  403: "auth",
  404: "not_found",
  408: "server",
  409: "server",
  413: "context_length",
  425: "server",
  429: "rate_limit",
};

function proxyRemedy({ proxy, host }: Endpoint): LocalizedMessage | undefined {
  if (proxy === undefined) return undefined;
  return proxy.name === "proxy" ? message`check proxy of this provider` : proxyHint(host);
}

const PROXY_STATUS: ReadonlySet<number> = new Set([502, 503, 504]);

function remedyFor(
  kind: ProviderErrorKind,
  endpoint: Endpoint,
  status: number | undefined,
): LocalizedMessage | undefined {
  const { model } = endpoint;
  switch (kind) {
    case "auth":
      return keyRemedy(endpoint);
    case "not_found":
      return model === ""
        ? message`check base_url of this provider`
        : message`check base_url and the model name "${model}" of this provider`;
    case "server":
      return PROXY_STATUS.has(status ?? 0) ? proxyRemedy(endpoint) : undefined;
    case "bad_request":
      return status === 407
        ? message`add the user and password that the proxy requires to the address of the proxy`
        : undefined;
    case "context_length":
      return message`compact the conversation or start a new one`;
    default:
      return undefined;
  }
}

function keyRemedy({ keyName, keyCommand, keyed }: Endpoint): LocalizedMessage {
  if (keyCommand) return message`check the output of api_key_command`;
  if (keyName === "") return message`set api_key_env of this provider to the variable that holds the key`;
  return keyed
    ? message`check the value of ${keyName}`
    : message`set ${keyName} in the environment or in the .env file of the Reasonix home`;
}

/** The sentence inside an error body: its message when it is JSON, its text when it is HTML. */
function readable(text: string): string {
  const trimmed = text.trim();
  return trimmed.startsWith("<") ? htmlText(trimmed) : errorText(parseJson(trimmed)) ?? trimmed;
}

/** Title and text of an HTML page, without markup; a title that the text repeats is left out. */
export function htmlText(html: string): string {
  const plain = (part: string) => part.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ").trim();
  const shown = html.replace(/<(script|style)\b[\s\S]*?<\/\1>/gi, " ");
  const title = plain(/<title\b[^>]*>([\s\S]*?)<\/title>/i.exec(shown)?.[1] ?? "");
  const text = plain(shown.replace(/<title\b[\s\S]*?<\/title>/i, " "));
  return text.includes(title) ? text : `${title} ${text}`;
}

function errorText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return errorText(value[0]);
  if (!isRecord(value)) return undefined;
  const { error, message: text, detail, msg, metadata } = value;
  const message = errorText(error) ?? errorText(text) ?? errorText(detail) ?? errorText(msg);
  const raw = isRecord(metadata) ? metadata.raw : undefined;
  return typeof raw === "string" && message ? `${message} (${raw})` : message;
}

export function statusIn(error: Readonly<Record<string, unknown>>): number | undefined {
  for (const code of [error.status, error.code, error.status_code, error.http_status]) {
    const number = typeof code === "string" && /^\d{3}$/.test(code) ? Number(code) : code;
    if (typeof number === "number" && number >= 400 && number < 600) return number;
  }
  return undefined;
}

/** The failure for a connection that could not be made or broke, from what the runtime threw. */
export function connectionFailure(thrown: unknown, endpoint: Endpoint, started: boolean): ProviderFailure {
  if (thrown instanceof RedirectError) return redirectFailure(thrown, endpoint);
  const { detail: raw, unknownName, remedy } = networkFailure(thrown, "base_url");
  if (!started && unknownName) return noAddress(endpoint);
  const detail = quote(raw, endpoint);
  const name = nameOf(endpoint);
  const what = started ? message`${name} broke off its reply` : message`${name} could not be reached`;
  const refusal = started ? undefined : refusedHere(raw, endpoint);
  const remedies = remedy ? [remedy] : started ? [] : refusal ?? [
    ...[proxyRemedy(endpoint)].filter((one) => one !== undefined),
    checkServer(),
  ];
  return new ProviderFailure(
    providerError(
      "connection",
      clausesOf([detail === "" ? what : message`${what}: ${detail}`, ...remedies]),
    ),
    remedy === undefined,
    refusal ? REFUSED_ATTEMPTS : undefined,
  );
}

const checkServer = () => message`check base_url and that the server is running`;
const REFUSED = /connection refused|actively refused/i;
/** A local server that does not listen is not started by waiting; one that restarts gets a second. */
const REFUSED_ATTEMPTS = 2;

/** The remedies when nothing listens on this machine, as server or as proxy. */
function refusedHere(
  detail: string,
  { provider, host, proxy }: Endpoint,
): readonly LocalizedMessage[] | undefined {
  if (!REFUSED.test(detail)) return undefined;
  if (proxy) {
    const url = URL.parse(proxy.url.includes("://") ? proxy.url : `http://${proxy.url}`);
    if (!url || !isLoopback(url.href) || bypassesProxy(host)) return undefined;
    const setting = proxy.name === "proxy" ? message`proxy of this provider` : proxy.name;
    const refuses = message`nothing listens at the proxy ${url.host}: start it, or correct ${setting}`;
    const without = proxy.name === "proxy" ? undefined : proxyHint(host);
    return without ? [refuses, without] : [refuses];
  }
  if (!isLoopback(`http://${host}`)) return undefined;
  const port = Number(URL.parse(`http://${host}`)?.port);
  const vendor = LOCAL_VENDORS.find(({ name }) => name === provider) ??
    LOCAL_VENDORS.find((vendor) => vendor.port === port);
  if (!vendor) return [checkServer()];
  const { label, start } = vendor;
  return [checkServer(), message`${label} starts with: ${start}`];
}

/** Reports whether NO_PROXY names the host: then the server itself may have refused. */
function bypassesProxy(host: string): boolean {
  const name = host.replace(/:\d+$/, "");
  const listed = (readEnv("NO_PROXY") ?? readEnv("no_proxy") ?? "").split(/[\s,]+/).filter(Boolean);
  return listed.some((entry) => entry === "*" || name.endsWith(entry.replace(/^\*?\./, "")));
}

export function requestFailure(thrown: unknown, endpoint: Endpoint): ProviderFailure {
  return thrown instanceof ProviderFailure ? thrown : connectionFailure(thrown, endpoint, false);
}

/** The failure for a host without an address: mostly the network or a proxy is missing. */
function noAddress({ provider, host, proxy: by }: Endpoint): ProviderFailure {
  const advice = by
    ? message`check the network, the proxy and base_url`
    : message`check the network and base_url, and set HTTPS_PROXY if this network needs a proxy`;
  const what = message`Provider "${provider}": ${host} cannot be found (DNS)`;
  return new ProviderFailure(providerError("connection", clausesOf([what, advice])), true);
}

export function protocolFailure(what: Text, endpoint: Endpoint, retryable = true): ProviderFailure {
  return new ProviderFailure(providerError("protocol", message`${nameOf(endpoint)} ${what}`), retryable);
}
