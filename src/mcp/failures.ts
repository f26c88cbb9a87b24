import { errorMessage, isAbort, ReasonixError } from "../core/mod.ts";
import type { McpServerSpec } from "./server_spec.ts";
import { isRecord, parseJson } from "../util/json.ts";
import { networkFailure, proxyHint, RedirectError } from "../util/network/fetch.ts";
import { oneLine } from "../util/terminal_text.ts";

export class SignInNeeded extends ReasonixError {
  override readonly name = "SignInNeeded";
}

export const SIGN_IN = "it wants you to sign in";

/** The server ended before a message reached it, so the message had no effect. */
export class UndeliveredError extends ReasonixError {
  constructor() {
    super("The server has ended");
  }
}

/** The server answered the probe of the newer era only after the older greeting. */
export class AnsweredLate extends ReasonixError {}

/** An HTTP error status, as the SDK reports it. */
interface HttpRefusal extends Error {
  readonly status: number;
  readonly statusText?: string;
  readonly data?: { readonly text?: unknown };
}

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

/** The program of a server is not installed, so it is not started again. */
export class MissingProgramError extends ReasonixError {}

interface FailureContext {
  readonly spec: McpServerSpec;
  /** The server has answered the greeting of this connection. */
  readonly answered?: boolean;
  readonly ended?: string | undefined;
  /** Retry-After of the server. */
  readonly waitSeconds?: number | undefined;
}

const MAX_LINE = 300;
const MAX_SAID = 200;

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
  if (spec.type === "http") {
    const [message, remedy] = httpProblem(chain, context) ?? [];
    if (message === SIGN_IN) return new SignInNeeded(message, { remedy: remedy ?? "", cause: error });
    if (message !== undefined) {
      return new ReasonixError(message, { cause: error, ...(remedy === undefined ? {} : { remedy }) });
    }
  }
  return new ReasonixError(oneLine(plain(errorMessage(error)), MAX_LINE), { cause: error });
}

/** Shortens the SDK's message about an answer that violates the protocol to the first violation. */
function plain(message: string): string {
  const [, head = "", json = ""] = /^(Invalid result for [^:]+): (\[.*)$/s.exec(message) ?? [];
  const issues = parseJson(json);
  const first = Array.isArray(issues) ? issues.find(isRecord) : undefined;
  if (!first) return message;
  const place = Array.isArray(first.path) ? first.path.join(".") : "";
  return `${head}: ${place === "" ? "" : `${place}: `}${first.message}`;
}

type Problem = readonly [message: string, remedy?: string];

function httpProblem(chain: readonly Error[], context: FailureContext): Problem | undefined {
  const { spec } = context;
  const redirect = chain.find((one) => one instanceof RedirectError);
  if (redirect) {
    const isOwn = redirect.from === addressOf(spec);
    return [oneLine(redirect.message, MAX_LINE), isOwn ? "correct the url of the server" : REPORT_IT];
  }
  const refusal = chain.find(isRefusal);
  if (refusal?.status === 401 || chain.some(({ name }) => name === "UnauthorizedError")) {
    return unauthorized(spec);
  }
  const narrow = chain.find(({ name }) => name === "InsufficientScopeError");
  if (narrow) return insufficient(narrow, spec);
  if (refusal) return refused(refusal, context);
  const type = chain.map(({ message }) => /^Unexpected content type: (.*)$/.exec(message)?.[1]).find((one) =>
    one
  );
  if (type !== undefined) {
    return [`${addressOf(spec)} is no MCP server: it answers with ${oneLine(type, 60)}`, LOOK_AT_URL];
  }
  const network = chain.find((one) => one instanceof TypeError);
  return network && unreachable(network, spec);
}

const REPORT_IT = "report it to the operator of the server";
const LOOK_AT_URL = "look at the url of the server; many end with /mcp";

function unauthorized(spec: McpServerSpec): Problem {
  if (spec.headers_helper !== "") {
    return ["it refuses the headers that headers_helper printed (401)", "look at what the helper prints"];
  }
  if (Object.keys(spec.headers).some((name) => name.toLowerCase() === "authorization")) {
    return ["it refuses the Authorization header of its configuration (401)", "correct or renew the value"];
  }
  return [SIGN_IN, `reasonix mcp login ${spec.name}`];
}

function insufficient(error: Error, spec: McpServerSpec): Problem {
  const scope = "requiredScope" in error ? oneLine(String(error.requiredScope ?? ""), 100) : "";
  const rights = scope === "" ? "more rights" : `the right "${scope}"`;
  const login = `reasonix mcp login ${spec.name}`;
  const isFixed = (spec.oauth?.scopes ?? []).length > 0;
  return [
    `it wants ${rights} for this than you gave at the sign-in`,
    isFixed ? `add it to scopes in oauth of the server, then ${login}` : login,
  ];
}

function refused(refusal: HttpRefusal, { spec, waitSeconds, answered }: FailureContext): Problem {
  const { status } = refusal;
  const shown = `${status} ${refusal.statusText || (NAMES[status] ?? "")}`.trim();
  const said = wordsOf(typeof refusal.data?.text === "string" ? refusal.data.text : "");
  const more = said === "" ? "" : `: ${said}`;
  if (status === 403) return [`it refuses access (${shown})${more}`, "check the account or the headers"];
  if (status === 404 && answered) return [`it has forgotten the session (${shown})`];
  if (status === 404 || status === 405) {
    return [`there is no MCP server at ${addressOf(spec)} (${shown})`, LOOK_AT_URL];
  }
  const later = waitSeconds === undefined ? "" : `; it asks to come back in ${waitSeconds} s`;
  return [`it answers with ${shown}${more}${later}`];
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

function wordsOf(body: string): string {
  const said = /"(?:message|error_description|detail)"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(body)?.[1] ?? body;
  if (/^\s*</.test(said)) return oneLine(/<title>([^<]*)<\/title>/i.exec(said)?.[1] ?? "", MAX_SAID);
  return oneLine(said, MAX_SAID);
}

function unreachable(error: Error, spec: McpServerSpec): Problem {
  const { said, unknownName, remedy } = networkFailure(error, "its url");
  const host = URL.parse(spec.url)?.host ?? spec.url;
  if (unknownName) return [`${host} cannot be found (DNS)`, "check its url and the network"];
  const usual = proxyHint(host)?.text ?? "check its url and that it is running";
  return [`${host} could not be reached: ${oneLine(said, MAX_SAID)}`, remedy?.text ?? usual];
}

/** The address without user, query and fragment, which may be secret. */
function addressOf({ url }: McpServerSpec): string {
  const { origin = "", pathname = url } = URL.parse(url) ?? {};
  return `${origin}${pathname}`;
}
