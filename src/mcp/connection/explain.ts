import { errorMessage, ReasonixError } from "../../core/mod.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import { oneLine } from "../../util/terminal_text.ts";

const MAX_LINE = 300;

/** Says in one line what went wrong between the program and a server; the SDK's own error is the cause. */
export function explained(error: unknown): unknown {
  if (error instanceof ReasonixError || (error instanceof DOMException && error.name === "AbortError")) {
    return error;
  }
  const cause = error instanceof Error && error.cause instanceof ReasonixError ? error.cause : undefined;
  if (cause) return cause;
  return new ReasonixError(httpFailure(error) ?? oneLine(plain(errorMessage(error)), MAX_LINE), {
    cause: error,
  });
}

/** Status of an answer over HTTP that was none. */
function httpFailure(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("status" in error) || typeof error.status !== "number") return undefined;
  const body = "text" in error && typeof error.text === "string" ? oneLine(error.text, MAX_LINE) : "";
  const status = `the server answered with status ${error.status}`;
  return body === "" ? status : `${status}: ${body}`;
}

/** What the SDK says of an answer that is not as the protocol has it: a list of all that is wrong with it. */
function plain(message: string): string {
  const [, head = "", json = ""] = /^(Invalid result for [^:]+): (\[.*)$/s.exec(message) ?? [];
  const issues = parseJson(json);
  const first = Array.isArray(issues) ? issues.find(isRecord) : undefined;
  if (!first) return message;
  const place = Array.isArray(first.path) ? first.path.join(".") : "";
  return `${head}: ${place === "" ? "" : `${place}: `}${first.message}`;
}
