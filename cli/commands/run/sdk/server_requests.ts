import type { Assembly } from "../../../../src/assembly/mod.ts";
import { ReasonixError } from "../../../../src/core/mod.ts";
import { SDK_SERVER_STATES } from "../../../../src/frontend/mod.ts";
import type { McpServer } from "../../../../src/mcp/mod.ts";
import type { Fields, RequestHandlers } from "./control_channel.ts";

interface Conversation {
  /** The parts of the conversation, once the first message has come. */
  readonly assembly: Assembly | undefined;
}

/** What an SDK can ask of MCP servers: their states, a new start, off and on. */
export function serverRequests(conversation: Conversation): RequestHandlers {
  return {
    mcp_status: () => ({ mcpServers: (conversation.assembly?.servers?.servers ?? []).map(stateOf) }),
    async mcp_reconnect({ serverName }) {
      await serverOf(conversation, serverName).restart();
      return {};
    },
    async mcp_toggle({ serverName, enabled }) {
      await serverOf(conversation, serverName).setEnabled(enabled === true);
      return {};
    },
  };
}

function stateOf({ status, listing, spec }: McpServer): Fields {
  const tools = listing.tools.filter(({ name }) => spec.offers(name));
  return {
    name: status.name,
    status: SDK_SERVER_STATES[status.state],
    ...(status.about ? { serverInfo: { name: status.about.name, version: status.about.version } } : {}),
    ...(status.detail === undefined ? {} : { error: status.detail }),
    tools: tools.map(({ name, description, claimsToRead: readOnly }) => ({
      name,
      description,
      annotations: { readOnly },
    })),
  };
}

function serverOf({ assembly }: Conversation, name: unknown): McpServer {
  if (!assembly) {
    throw new ReasonixError("Cannot tell before the first message: the conversation has not begun");
  }
  if (typeof name !== "string") {
    throw new ReasonixError("Cannot tell which MCP server is meant: no serverName");
  }
  if (assembly.servers) return assembly.servers.named(name);
  throw new ReasonixError(`Cannot find the MCP server "${name}": none is configured`);
}
