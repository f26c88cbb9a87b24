import type { ProviderPart, ToolCall } from "./message.ts";
import type { LocalizedMessage } from "./texts.ts";
import type { Usage } from "./usage.ts";

export type FinishReason = "stop" | "tool_calls" | "length" | "content_filter" | "unknown";

export type ProviderErrorKind =
  | "auth"
  | "bad_request"
  | "not_found"
  | "rate_limit"
  | "server"
  | "connection"
  | "timeout"
  | "context_length"
  | "content_filter"
  | "protocol"
  | "mismatch"
  | "aborted";

/** The reason a model request failed. `message` is ready for the user and carries no secret. */
export interface ProviderError {
  readonly kind: ProviderErrorKind;
  readonly message: string;
  /** The message for other languages. */
  readonly localized?: LocalizedMessage;
  /** HTTP status, when there was one. */
  readonly status?: number;
  /** Wait that the server asked for, in milliseconds. */
  readonly retryAfterMs?: number;
}

/**
 * One piece of a model's reply.
 *
 * Adjacent text (or reasoning) deltas that arrive in one network read are joined into one chunk. Tool calls
 * arrive complete; `call_progress` announces one whose arguments are still arriving. `retry` announces a wait
 * before the request is sent again; when `discarded` is true, what was streamed before it does not count.
 * `notice` is something for the user. A stream ends with exactly one `done` or `error`.
 */
export type Chunk =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "tool_call"; readonly call: ToolCall }
  | {
    readonly type: "call_progress";
    /** The id that the complete call will have, unless the server names it later. */
    readonly id: string;
    readonly name: string;
    /** The beginning of the arguments, as far as they are known. */
    readonly arguments?: string;
  }
  | { readonly type: "part"; readonly part: ProviderPart }
  | {
    /** A tool of an MCP server was called by the model's server, not by us. */
    readonly type: "remote_call";
    readonly server: string;
    /** Its raw name; empty where the server could not list its tools. */
    readonly tool: string;
    /** JSON text. */
    readonly arguments: string;
    /** The texts of the result, or of the error. */
    readonly output: string;
    readonly failed: boolean;
  }
  | { readonly type: "usage"; readonly usage: Usage }
  | {
    readonly type: "retry";
    readonly attempt: number;
    readonly maxAttempts: number;
    readonly waitMs: number;
    readonly reason: string;
    readonly localized?: LocalizedMessage;
    readonly discarded: boolean;
  }
  | {
    readonly type: "notice";
    readonly level: "info" | "warning";
    readonly code: string;
    readonly text: string;
    readonly localized?: LocalizedMessage;
  }
  | { readonly type: "done"; readonly reason: FinishReason }
  | { readonly type: "error"; readonly error: ProviderError };
