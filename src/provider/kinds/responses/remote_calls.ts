import type { Chunk, ToolMessage } from "../../../core/mod.ts";
import {
  APPROVED,
  remoteCallChunk,
  type RemoteServer,
  type RemoteServers,
} from "../../remote/remote_server.ts";
import type { Fields } from "../../wire/message_parts.ts";

/** The type of an item that asks whether an MCP server may be called. */
export const ASKS = "mcp_approval_request";

/**
 * A server in the list of tools. Its calls wait for an answer unless all of its tools may run unasked: what
 * may not is only known here.
 */
export function remoteTool(
  { name, url, headers, enabledTools, disabledTools, unasked }: RemoteServer,
): Fields {
  // What is switched off cannot be said on this wire: a call of it is refused when it asks.
  const asksNothing = unasked === "all" && disabledTools.length === 0;
  return {
    type: "mcp",
    server_label: name,
    server_url: url,
    ...(Object.keys(headers).length > 0 ? { headers } : {}),
    ...(enabledTools.length > 0 ? { allowed_tools: enabledTools } : {}),
    require_approval: asksNothing ? "never" : "always",
  };
}

/** The tool that an item asks for, under the name that rules know; empty where it names none. */
export function askedName({ server_label: server, name }: Fields, remote: RemoteServers | undefined): string {
  if (typeof name !== "string" || name === "") return "";
  const label = String(server ?? "");
  // A server that the request does not have is never allowed: no tool of that name is there.
  return remote ? remote.toolName(label, name) : `${label}.${name}`;
}

/** The answer to an item that asks. */
export function answerItem({ callId, content }: ToolMessage): Fields {
  const approve = content === APPROVED;
  return {
    type: "mcp_approval_response",
    approval_request_id: callId,
    approve,
    ...(approve ? {} : { reason: content }),
  };
}

/** The notice about an item that the server has handled; undefined without one. */
export function remoteCallOf(item: Fields): Chunk | undefined {
  const { type, server_label: server, name, output, error } = item;
  const failed = error !== undefined && error !== null && error !== "";
  if (type !== "mcp_call" && !(type === "mcp_list_tools" && failed)) return undefined;
  const tool = type === "mcp_call" ? name : "";
  return remoteCallChunk({
    server,
    tool,
    arguments: item.arguments,
    output: failed ? error : output,
    failed,
  });
}
