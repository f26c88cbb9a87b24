import { type RemoteServer, type RemoteServers, tokenOf } from "../../remote/remote_server.ts";
import type { RequestBuffer } from "../../wire/request_buffer.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The experimental feature of the server that connects it to MCP servers. */
export const MCP_BETA = "mcp-client-2025-11-20";

/** What a request says of the MCP servers that are to be called; nothing where there is none. */
export function serverFields(servers: readonly RemoteServer[]): Fields {
  if (servers.length === 0) return {};
  return {
    mcp_servers: servers.map((server) => ({
      type: "url",
      url: server.url,
      name: server.name,
      authorization_token: tokenOf(server),
    })),
  };
}

/**
 * Their tools, as entries of the list of tools. The server asks nobody before a call, so only tools that may
 * run unasked are there.
 */
export function remoteToolsets(servers: readonly RemoteServer[]): readonly Fields[] {
  return servers.map((server) => ({ type: "mcp_toolset", mcp_server_name: server.name, ...choice(server) }));
}

function choice({ enabledTools, disabledTools, unasked }: RemoteServer): Fields {
  const wanted = unasked === "all" ? enabledTools : unasked;
  if (unasked === "all" && wanted.length === 0) {
    return disabledTools.length > 0 ? { configs: configs(disabledTools, false) } : {};
  }
  const kept = wanted.filter((tool) =>
    (enabledTools.length === 0 || enabledTools.includes(tool)) && !disabledTools.includes(tool)
  );
  return { default_config: { enabled: false }, configs: configs(kept, true) };
}

function configs(tools: readonly string[], enabled: boolean): Fields {
  return Object.fromEntries(tools.map((tool) => [tool, { enabled }]));
}

/** The request bodies of one provider, begun anew when what its MCP servers may do has changed. */
export class Bodies {
  readonly #remote: RemoteServers | undefined;
  readonly #make: (servers: readonly RemoteServer[]) => RequestBuffer;
  #servers: readonly RemoteServer[] | undefined;
  #buffer: RequestBuffer;

  constructor(remote: RemoteServers | undefined, make: (servers: readonly RemoteServer[]) => RequestBuffer) {
    this.#remote = remote;
    this.#make = make;
    this.#servers = remote?.servers();
    this.#buffer = make(callable(this.#servers));
  }

  get current(): RequestBuffer {
    const servers = this.#remote?.servers();
    if (servers !== this.#servers) {
      this.#servers = servers;
      this.#buffer = this.#make(callable(servers));
    }
    return this.#buffer;
  }
}

function callable(servers: readonly RemoteServer[] = []): readonly RemoteServer[] {
  return servers.filter(({ unasked }) => unasked === "all" || unasked.length > 0);
}
