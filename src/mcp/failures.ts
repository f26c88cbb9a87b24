import {
  clausesOf,
  errorMessage,
  isAbort,
  type LocalizedMessage,
  message,
  ReasonixError,
  type Text,
} from "../core/mod.ts";
import type { McpServerSpec } from "./server_spec.ts";
import { isRecord, parseJson } from "../util/json.ts";
import { networkFailure, proxyHint, RedirectError } from "../util/network/fetch.ts";
import { oneLine } from "../util/terminal_text.ts";

export class SignInNeeded extends ReasonixError {}

export const signInNeeded = () => message`it requires you to sign in`;

/** The server ended before a message reached it, so the message had no effect. */
export class UndeliveredError extends ReasonixError {
  constructor() {
    super(message`The server has ended`);
  }
}

/** The server answered the probe of the newer era only after the older greeting. */
export class AnsweredLate extends ReasonixError {}

export function statusOf(error: unknown): number | undefined {
  return causes(error).find(isRefusal)?.status;
}

/** An error and what caused it, the outermost first. */
export function causes(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let one = error; one instanceof Error && chain.length < 8; one = one.cause) chain.push(one);
  return chain;
}

function isRefusal(error: Error): error is HttpRefusal {
  return "status" in error && typeof error.status === "number";
}

type HttpRefusal = Error & {
  readonly status: number;
  readonly statusText?: string;
  readonly data?: { readonly text?: unknown };
};

export function hasOwnAuthorization(headers: Readonly<Record<string, string>>): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
}

/** The program of a server is not installed, so it is not started again. */
export class MissingProgramError extends ReasonixError {}

interface FailureContext {
  readonly spec: McpServerSpec;
  /** The server has answered the greeting of this connection. */
  readonly answered?: boolean;
  readonly ended?: Text | undefined;
  /** Seconds after which the server wants to be asked again. */
  readonly waitSeconds?: number | undefined;
}

const MAX_LINE = 300;
const MAX_REPLY = 200;

/**
 * Explains an error in one line, as a ReasonixError with the error as its cause. Aborts and ReasonixErrors
 * stay.
 */
export function explain(error: unknown, context: FailureContext): unknown {
  if (error instanceof ReasonixError || isAbort(error)) return error;
  const { spec, ended } = context;
  if (ended !== undefined) return new ReasonixError(ended, { cause: error });
  const chain = causes(error);
  const explained = chain.find((one) => one instanceof ReasonixError);
  if (explained) return explained;
  const [what, remedy, Failure = ReasonixError] = spec.type === "http" ? httpProblem(chain, context) : [];
  const text = what ?? oneLine(firstViolation(errorMessage(error)), MAX_LINE);
  return new Failure(text, { cause: error, ...(remedy === undefined ? {} : { remedy }) });
}

/** Shortens the SDK's message about an answer that violates the protocol to the first violation. */
function firstViolation(message: string): string {
  const [, head = "", json = ""] = /^(Invalid result for [^:]+): (\[.*)$/s.exec(message) ?? [];
  const issues = parseJson(json);
  const first = Array.isArray(issues) ? issues.find(isRecord) : undefined;
  if (!first) return message;
  const path = Array.isArray(first.path) ? first.path.join(".") : "";
  return [head, path, first.message].filter((part) => part !== "").join(": ");
}

type Problem = readonly [what?: Text, remedy?: Text, failure?: typeof SignInNeeded];

function httpProblem(chain: readonly Error[], context: FailureContext): Problem {
  const { spec } = context;
  const redirect = chain.find((one) => one instanceof RedirectError);
  if (redirect) {
    const isOwn = redirect.from === addressOf(spec);
    const { from, to, answer } = redirect;
    return [
      message`${from} leads to ${oneLine(to, MAX_LINE)} (${answer}), which is not followed`,
      isOwn ? message`correct the url of the server` : message`report it to the operator of the server`,
    ];
  }
  const refusal = chain.find(isRefusal);
  if (refusal?.status === 401 || chain.some(({ name }) => name === "UnauthorizedError")) {
    return unauthorized(spec);
  }
  const narrow = chain.find(({ name }) => name === "InsufficientScopeError");
  if (narrow) return insufficient(narrow, spec);
  if (refusal) return refused(refusal, context);
  for (const { message: text } of chain) {
    const type = /^Unexpected content type: (.*)$/.exec(text)?.[1];
    if (type === undefined) continue;
    return [
      message`${addressOf(spec)} is not an MCP server: it answers with ${oneLine(type, 60)}`,
      checkUrl(),
    ];
  }
  const network = chain.find((one) => one instanceof TypeError);
  return network ? unreachable(network, spec) : [];
}

const checkUrl = () => message`check the url of the server; many end with /mcp`;

function unauthorized(spec: McpServerSpec): Problem {
  if (spec.headers_helper !== "") {
    return [
      message`it refuses the headers that headers_helper printed (401)`,
      message`check the output of the helper`,
    ];
  }
  if (hasOwnAuthorization(spec.headers)) {
    return [
      message`it refuses the Authorization header of its configuration (401)`,
      message`correct or renew the value`,
    ];
  }
  return [signInNeeded(), `reasonix mcp login ${spec.name}`, SignInNeeded];
}

function insufficient(error: Error, spec: McpServerSpec): Problem {
  const scope = "requiredScope" in error ? oneLine(String(error.requiredScope ?? ""), 100) : "";
  const login = `reasonix mcp login ${spec.name}`;
  const isFixed = (spec.oauth?.scopes ?? []).length > 0;
  return [
    scope === ""
      ? message`it requires more permissions for this than you granted at the sign-in`
      : message`it requires the permission "${scope}" for this, which you did not grant at the sign-in`,
    isFixed ? message`add it to scopes in oauth of the server, then ${login}` : login,
  ];
}

function refused(refusal: HttpRefusal, { spec, waitSeconds, answered }: FailureContext): Problem {
  const { status } = refusal;
  const shown = `${status} ${refusal.statusText || (NAMES[status] ?? "")}`.trim();
  const reply = replyText(typeof refusal.data?.text === "string" ? refusal.data.text : "");
  const withReply = (what: LocalizedMessage) => reply === "" ? what : message`${what}: ${reply}`;
  if (status === 403) {
    return [withReply(message`it refuses access (${shown})`), message`check the account or the headers`];
  }
  if (status === 404 && answered) return [message`it has forgotten the session (${shown})`];
  if (status === 404 || status === 405) {
    return [message`there is no MCP server at ${addressOf(spec)} (${shown})`, checkUrl()];
  }
  const what = withReply(message`it answers with ${shown}`);
  return [waitSeconds === undefined ? what : clausesOf([what, message`try again in ${waitSeconds} s`])];
}

/** HTTP/2 has no status texts. */
const NAMES: Readonly<Record<number, string>> = {
  400: "Bad Request",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

function replyText(body: string): string {
  const text = /"(?:message|error_description|detail)"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(body)?.[1] ?? body;
  if (/^\s*</.test(text)) return oneLine(/<title>([^<]*)<\/title>/i.exec(text)?.[1] ?? "", MAX_REPLY);
  return oneLine(text, MAX_REPLY);
}

function unreachable(error: Error, spec: McpServerSpec): Problem {
  const { detail, unknownName, remedy } = networkFailure(error, "its url");
  const host = URL.parse(spec.url)?.host ?? spec.url;
  if (unknownName) return [message`${host} cannot be found (DNS)`, message`check its url and the network`];
  const usual = proxyHint(host) ?? message`check its url and that it is running`;
  return [message`${host} could not be reached: ${oneLine(detail, MAX_REPLY)}`, remedy ?? usual];
}

/** The address without user, query and fragment, which may be secret. */
function addressOf({ url }: McpServerSpec): string {
  const { origin = "", pathname = url } = URL.parse(url) ?? {};
  return `${origin}${pathname}`;
}
