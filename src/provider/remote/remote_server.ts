import type { Chunk } from "../../core/mod.ts";
import { isRecord } from "../../util/json.ts";

/** An MCP server that the model's own server connects to and calls, as a request declares it. */
export interface RemoteServer {
  readonly name: string;
  readonly url: string;
  /** Headers to send, including a token. */
  readonly headers: Readonly<Record<string, string>>;
  /** The only tools that the model may have, by their raw names; empty: all but the next. */
  readonly enabledTools: readonly string[];
  readonly disabledTools: readonly string[];
  /** Tools that run without approval: all of them, or those of these raw names. */
  readonly unasked: "all" | readonly string[];
}

export interface RemoteServers {
  /** Another array whenever a server or its approved tools have changed. */
  servers(): readonly RemoteServer[];
  /** The name under which the user's rules and people know a tool. */
  toolName(server: string, tool: string): string;
}

/**
 * The treatment of remote servers by a wire.
 *
 * - "asks": their calls wait for approval, unless all tools of a server are approved.
 * - "runs": calls need no approval, so only approved tools are declared.
 */
export type RemoteMode = "asks" | "runs";

/** The result of a call that waited and may run: the model's server does the rest. */
export const APPROVED =
  "Allowed: the model's server makes this call, and its result comes with the next reply.";

/** The key among the headers, as those wires want it that take nothing else; undefined: there is none. */
export function tokenOf({ headers }: RemoteServer): string | undefined {
  const value = Object.entries(headers).find(([name]) => name.toLowerCase() === "authorization")?.[1];
  return value?.replace(/^Bearer\s+/i, "");
}

interface RemoteCall {
  readonly server: unknown;
  readonly tool: unknown;
  /** JSON text, or a value. */
  readonly arguments: unknown;
  readonly output: unknown;
  readonly failed: boolean;
}

/** A call that the model's server has made, for people. */
export function remoteCallChunk({ server, tool, arguments: args, output, failed }: RemoteCall): Chunk {
  return {
    type: "remote_call",
    server: String(server ?? ""),
    tool: String(tool ?? ""),
    arguments: typeof args === "string" ? args : JSON.stringify(args ?? {}),
    output: textOf(output),
    failed,
  };
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(textOf).filter((text) => text !== "").join("\n");
  if (!isRecord(value)) return "";
  if (typeof value.text === "string") return value.text;
  return typeof value.message === "string" ? value.message : textOf(value.content);
}
