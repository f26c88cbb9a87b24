/**
 * The behavior of a scripted MCP server, as JSON: a stdio server gets it as its only argument. Without any
 * setting it is a well-behaved server of both eras.
 */
export interface Behaviour {
  /** The protocol it speaks; default: both. One of the old era answers the probe with an error. */
  readonly era?: "old" | "new" | "both";
  /** Methods that are never answered, such as `server/discover`, `initialize`, `tools/list`, `tools/call`. */
  readonly silentOn?: readonly string[];
  /** The process ends when this method arrives, or at once for `start`; exit code 3. */
  readonly diesOn?: string;
  /** Seconds before the first message is read; default 0. */
  readonly startSeconds?: number;
  /** A file: a process that does not find it creates it and answers nothing before a second message. */
  readonly sleepyAt?: string;
  /** Each call of a tool sends a message for the log. */
  readonly logs?: boolean;
  /** Prints lines that are no messages before the first message and before each answer. */
  readonly noise?: boolean;
  /** Bytes written to standard error at the start. */
  readonly stderrBytes?: number;
  /** Continues after the end of its input and ignores SIGINT, SIGHUP and SIGTERM. */
  readonly stubborn?: boolean;
  /** Starts a child in its process group that holds its standard output and outlives it. */
  readonly child?: boolean;
  /** The tools it offers; a number = that many with long descriptions. */
  readonly tools?:
    | "plain"
    | "duplicates"
    | "bad schemas"
    | "strange names"
    | "claims"
    | "subjects"
    | "none"
    | number;
  /** Entries per page of a list; default: all on one page. */
  readonly pageSize?: number;
  /** Each listing has another order. */
  readonly shuffled?: boolean;
  /** A listing that never ends: each page names a next one. */
  readonly endlessPages?: boolean;
  /** A file that gets one line of JSON for each `Noted` thing. */
  readonly record?: string;
}

/** A line of a record. */
export interface Noted {
  readonly what: "start" | "message" | "end of input" | "signal" | "child";
  readonly pid: number;
  /** For messages. */
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** A JSON-RPC message on the wire. */
export interface Message {
  readonly jsonrpc?: "2.0";
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export const OLD_VERSION = "2025-11-25";
export const NEW_VERSION = "2026-07-28";
