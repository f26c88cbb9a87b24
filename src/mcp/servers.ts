import type { GetPromptResult, ReadResourceResult } from "@modelcontextprotocol/client";
import { ReasonixError } from "../core/mod.ts";
import type { Tool } from "../tool/mod.ts";
import type { CompletionQuery } from "./connection/connection.ts";
import type { ConnectionOptions } from "./connection/connection.ts";
import type { McpPromptInfo, McpResourceInfo } from "./listing/listing.ts";
import { ListingCache } from "./listing/listing_cache.ts";
import { toolName } from "./listing/names.ts";
import { McpServer, type ServerChange, type ServerStatus } from "./server.ts";
import type { McpServerSpec } from "./server_spec.ts";
import { remoteTool } from "./tools/tool.ts";
import { indexedTools } from "./tools/tool_index.ts";

export interface McpOptions extends Pick<ConnectionOptions, "spawn" | "questions"> {
  /** The Reasonix home: caches and logs. */
  readonly home: string;
  /** In the order of the configuration, which is the order of their tools. */
  readonly specs: readonly McpServerSpec[];
  /** `[tools] mcp_index_above_tokens`; 0: never an index. */
  readonly indexAboveTokens: number;
  /** What a connection of a server needs beside: headers and sign-in. */
  readonly connection: (spec: McpServerSpec) => Promise<Pick<ConnectionOptions, "headers" | "auth">>;
  readonly onChange: (change: ServerChange) => void;
}

/** The MCP servers of a run. Nothing starts before it is told to. */
export class McpServers {
  readonly servers: readonly McpServer[];
  readonly #options: McpOptions;

  constructor(options: McpOptions) {
    this.#options = options;
    const { home, specs, connection, ...shared } = options;
    const cache = new ListingCache(home);
    this.servers = specs.map((spec) =>
      new McpServer({ ...shared, spec, home, cache, connection: () => connection(spec) })
    );
  }

  get status(): readonly ServerStatus[] {
    return this.servers.map(({ status }) => status);
  }

  /** The server of a name. Throws a ReasonixError that names those there are. */
  named(name: string): McpServer {
    const found = this.servers.find(({ spec }) => spec.name === name);
    if (found) return found;
    const names = this.servers.map(({ spec }) => spec.name).join(", ") || "none";
    throw new ReasonixError(`There is no MCP server "${name}" (configured: ${names})`, { exit: "usage" });
  }

  /**
   * The tools as they are known now, in an order that does not depend on who answered first. Above the
   * threshold they are there, but offered by an index alone.
   */
  tools(): readonly Tool[] {
    const taken = new Set<string>();
    const tools = this.servers.flatMap((server) => {
      const { spec, listing } = server;
      if (!spec.enabled) return [];
      return listing.tools.filter(({ name }) => spec.offers(name)).map((info) => {
        const name = toolName(spec.name, info.name, taken);
        taken.add(name);
        return remoteTool(server, info, name);
      });
    });
    return indexedTools(tools, this.#options.indexAboveTokens);
  }

  /** Servers that are met for the first time. */
  unknown(): readonly McpServer[] {
    return this.servers.filter(({ isKnown }) => !isKnown);
  }

  /** Starts servers, all at once; resolves when the last start is over, however it went. */
  async start(servers: readonly McpServer[] = this.servers): Promise<void> {
    await Promise.all(servers.map((server) => server.start()));
  }

  prompts(): readonly { readonly server: string; readonly prompt: McpPromptInfo }[] {
    return this.#each(({ listing }) => listing.prompts).map(({ server, item }) => ({ server, prompt: item }));
  }

  resources(): readonly {
    readonly server: string;
    readonly resource: McpResourceInfo;
    readonly template: boolean;
  }[] {
    const all = (template: boolean) =>
      this.#each(({ listing }) => template ? listing.templates : listing.resources)
        .map(({ server, item }) => ({ server, resource: item, template }));
    return [...all(false), ...all(true)];
  }

  #each<T>(items: (server: McpServer) => readonly T[]): { server: string; item: T }[] {
    return this.servers.filter(({ spec }) => spec.enabled)
      .flatMap((server) => items(server).map((item) => ({ server: server.spec.name, item })));
  }

  async prompt(
    server: string,
    name: string,
    args: Record<string, string>,
    signal: AbortSignal,
  ): Promise<GetPromptResult> {
    return await this.named(server).use((connection) => connection.prompt(name, args, signal), signal);
  }

  async read(server: string, uri: string, signal: AbortSignal): Promise<ReadResourceResult> {
    return await this.named(server).use((connection) => connection.read(uri, signal), signal);
  }

  async complete(server: string, query: CompletionQuery, signal: AbortSignal): Promise<readonly string[]> {
    return await this.named(server).use((connection) => connection.complete(query, signal), signal);
  }

  /** Ends all of them; nothing they started is left. */
  async close(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.close()));
  }
}
