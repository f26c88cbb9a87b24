import { errorMessage, isAbort, ReasonixError } from "../core/mod.ts";
import { isRecord, parseJson } from "../util/json.ts";
import { networkFailure, proxyHint, RedirectError } from "../util/network/fetch.ts";
import { oneLine } from "../util/terminal_text.ts";
import type { McpServerSpec } from "./server_spec.ts";

/** The server requires a sign-in, which only the user can make. */
export class SignInNeeded extends ReasonixError {
  override readonly name = "SignInNeeded";
}

export const SIGN_IN = "it wants you to sign in";

/** The server was gone before a message reached it, so the message had no effect. */
export class UndeliveredError extends ReasonixError {
  constructor() {
    super("The server has ended");
  }
}

/** The server speaks the newer era, as it said only after it had been greeted in the older way. */
export class AnsweredLate extends ReasonixError {}

/** An answer over HTTP that is no success, as the SDK reports it. */
interface HttpRefusal extends Error {
  readonly status: number;
  readonly statusText?: string;
  readonly data?: { readonly text?: unknown };
}

/** The status of the answer that an explained error is about. */
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

/** The program of a server is not installed: only the user can change that, so it is not started again. */
export class MissingProgramError extends ReasonixError {}

/** Facts of a transport in addition to the error itself. */
interface FailureContext {
  readonly spec: McpServerSpec;
  /** The server has answered the greeting of this connection. */
  readonly answered?: boolean;
  /** The end of a process. */
  readonly ended?: string | undefined;
  /** Seconds after which the server wants to be asked again. */
  readonly waitSeconds?: number | undefined;
}

const MAX_LINE = 300;
const MAX_SAID = 200;

/**
 * Says in one line what went wrong with a server: a ReasonixError whose cause is what was thrown. Aborts and
 * what is explained already stay as they are.
 */
export function explain(error: unknown, circumstances: FailureContext): unknown {
  if (error instanceof ReasonixError || isAbort(error)) return error;
  const { spec, ended } = circumstances;
  if (ended !== undefined) return new ReasonixError(ended, { cause: error });
  const chain = causes(error);
  const explained = chain.find((one) => one instanceof ReasonixError);
  if (explained) return explained;
  if (spec.type === "http") {
    const [message, remedy] = httpProblem(chain, circumstances) ?? [];
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

function httpProblem(chain: readonly Error[], circumstances: FailureContext): Problem | undefined {
  const { spec } = circumstances;
  const redirect = chain.find((one) => one instanceof RedirectError);
  if (redirect) {
    const isOwn = redirect.from === placeOf(spec);
    return [oneLine(redirect.message, MAX_LINE), isOwn ? "correct the url of the server" : TELL_OWNERS];
  }
  const refusal = chain.find(isRefusal);
  if (refusal?.status === 401 || chain.some(({ name }) => name === "UnauthorizedError")) {
    return unauthorized(spec);
  }
  const narrow = chain.find(({ name }) => name === "InsufficientScopeError");
  if (narrow) return insufficient(narrow, spec);
  if (refusal) return refused(refusal, circumstances);
  const type = chain.map(({ message }) => /^Unexpected content type: (.*)$/.exec(message)?.[1]).find((one) =>
    one
  );
  if (type !== undefined) {
    return [`${placeOf(spec)} is no MCP server: it answers with ${oneLine(type, 60)}`, LOOK_AT_URL];
  }
  const network = chain.find((one) => one instanceof TypeError);
  return network && unreachable(network, spec);
}

const TELL_OWNERS = "tell those who run the server";
const LOOK_AT_URL = "look at the url of the server; many end with /mcp";

function unauthorized(spec: McpServerSpec): Problem {
  if (spec.headersHelper !== "") {
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
    return [`there is no MCP server at ${placeOf(spec)} (${shown})`, LOOK_AT_URL];
  }
  const later = waitSeconds === undefined ? "" : `; it asks to come back in ${waitSeconds} s`;
  return [`it answers with ${shown}${more}${later}`];
}

/** Servers of HTTP/2 send no names. */
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

/** The text of a page or a message, without its markup. */
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

/** The address without what may be secret in it. */
function placeOf({ url }: McpServerSpec): string {
  const { origin = "", pathname = url } = URL.parse(url) ?? {};
  return `${origin}${pathname}`;
}
