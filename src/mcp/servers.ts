import { message, ReasonixError, usageError } from "../core/mod.ts";
import type { CompletionQuery, Connection, ConnectionOptions } from "./connection.ts";
import { type AttachedContent, type ContentIntake, promptContent, resourceContent } from "./content.ts";
import {
  instructionsText,
  ListingCache,
  type McpPromptInfo,
  type McpResourceInfo,
  type McpToolInfo,
} from "./listing.ts";
import { McpServer, type ServerChange, type ServerStatus, statusElsewhere } from "./server.ts";
import type { HttpAccess } from "./oauth/http_access.ts";
import { type McpServerSpec, namePrefix, toolName } from "./server_spec.ts";
import { indexTools, needsIndex, remoteTool, resourceTool } from "./tools.ts";
import type { Tool } from "../tool/mod.ts";
import { safeText } from "../util/json.ts";
import { oneLine } from "../util/terminal_text.ts";

export { buildOfPlugins } from "./listing.ts";

export interface McpOptions extends Pick<ConnectionOptions, "spawn" | "questions"> {
  readonly home: string;
  readonly cacheDir: string;
  /** In the order of the configuration. */
  readonly specs: readonly McpServerSpec[];
  /** `[tools] mcp_index_above_tokens`; 0: never an index. */
  readonly indexAboveTokens: number;
  readonly connection: (spec: McpServerSpec) => Promise<HttpAccess>;
  readonly onChange: (change: ServerChange) => void;
  /**
   * Returns the rule of the user that forbids everything of a server, or this resource of it. Absent: there
   * are no rules.
   */
  readonly denial?: (server: string, uri?: string) => string | undefined;
}

export interface PromptEntry {
  /** `mcp__server__prompt` */
  readonly name: string;
  readonly server: string;
  readonly prompt: McpPromptInfo;
}

export interface ResourceEntry {
  readonly server: string;
  readonly resource: McpResourceInfo;
  /** A template of many: its address has parts in braces. */
  readonly template: boolean;
}

export interface OfferedTool {
  readonly server: string;
  readonly info: McpToolInfo;
  readonly name: string;
  readonly alias: string | undefined;
}

/** The MCP servers of a run. None starts before `start`. */
export class McpServers {
  /**
   * Those with a direct connection, sorted by name: the order of their tools does not depend on the files.
   */
  readonly servers: readonly McpServer[];
  /** Names of tools that the user trusts to be read-only in this session. */
  readonly trusted = new Set<string>();
  /** Trust in tools that the user set in this session; overrides the configuration. */
  readonly #vouched = new Map<string, boolean>();
  readonly #options: McpOptions;
  readonly #watchers = new Set<(change: ServerChange) => void>();

  constructor(options: McpOptions) {
    this.#options = options;
    const { cacheDir, specs, connection } = options;
    const onChange = (change: ServerChange) => {
      options.onChange(change);
      for (const watcher of this.#watchers) watcher(change);
    };
    const cache = new ListingCache(cacheDir);
    this.servers = specs.filter(({ transport }) => transport === "direct")
      .sort((a, b) => a.name < b.name ? -1 : 1)
      .map((spec) =>
        new McpServer({ ...options, onChange, spec, cache, connection: () => connection(spec) })
      );
  }

  /** All configured servers, also those that the model's provider connects to. */
  get status(): readonly ServerStatus[] {
    const statuses = new Map(this.servers.map((server) => [server.spec, server.status]));
    return this.#options.specs.map((spec) => statuses.get(spec) ?? statusElsewhere(spec));
  }

  /** Notifies front ends of each change as it happens, also before a session can record it. */
  watch(watcher: (change: ServerChange) => void): void {
    this.#watchers.add(watcher);
  }

  has(name: string): boolean {
    return this.servers.some(({ spec, enabled }) => spec.name === name && enabled);
  }

  /** The server of a name. Throws a ReasonixError that names those there are. */
  named(name: string): McpServer {
    const found = this.servers.find(({ spec }) => spec.name === name);
    if (found) return found;
    if (this.#options.specs.some((spec) => spec.name === name)) {
      throw usageError(
        message`The model's provider speaks to the MCP server "${name}": nothing of it runs here`,
        message`take transport = "provider" out of its entry to have it here`,
      );
    }
    const names = this.servers.map(({ spec }) => spec.name);
    throw usageError(
      message`There is no MCP server "${name}" (configured: ${names.length === 0 ? message`none` : names})`,
    );
  }

  /** The currently known tools in a stable order. Above the threshold only an index of them is offered. */
  tools(): readonly Tool[] {
    const [trusted, vouched] = [this.trusted, this.#vouched];
    const offers = this.offers();
    const byName = new Map(this.servers.map((server) => [server.spec.name, server]));
    const indexed = needsIndex(offers.map(({ info }) => info.size), this.#options.indexAboveTokens);
    const tools = offers.flatMap(({ server: name, info, name: called, alias }) => {
      const server = byName.get(name);
      if (!server) return [];
      return [remoteTool(server, info, { name: called, alias, offered: !indexed, trusted, vouched })];
    });
    const resources = resourceTool(this.servers);
    return [...indexed ? indexTools(tools) : [], ...resources ? [resources] : [], ...tools];
  }

  /** Sets for this session whether the user trusts tools of a server, by raw names, to be read-only. */
  vouch(server: string, tools: readonly string[], on: boolean): void {
    for (const { name, info } of this.offers().filter((offer) => offer.server === server)) {
      if (!tools.includes(info.name)) continue;
      this.#vouched.set(name, on);
      if (!on) this.trusted.delete(name);
    }
  }

  offers(): readonly OfferedTool[] {
    const taken = new Set<string>();
    return this.servers.filter(({ enabled }) => enabled).flatMap(({ spec, listing }) =>
      listing.tools.filter(({ name }) => spec.offers(name)).map((info): OfferedTool => {
        const name = toolName(spec.name, info.name, taken);
        taken.add(name);
        return { server: spec.name, info, name, alias: spec.shortNames.get(info.name) };
      })
    );
  }

  instructions(): string | undefined {
    return instructionsText(this.servers.filter(({ enabled }) => enabled));
  }

  unknown(): readonly McpServer[] {
    return this.servers.filter(({ isKnown }) => !isKnown);
  }

  /** Starts servers in parallel; resolves after the last start, also when it failed. */
  async start(servers: readonly McpServer[] = this.servers): Promise<void> {
    await Promise.all(servers.map((server) => server.start()));
  }

  prompts(): readonly PromptEntry[] {
    const taken = new Set<string>();
    return this.#each(({ listing }) => listing.prompts).map(({ server, item }) => {
      const name = toolName(server, item.name, taken);
      taken.add(name);
      return { name, server, prompt: item };
    });
  }

  /** Waits for the first answer of the server that a name (`mcp__server__…`) belongs to. */
  async meet(name: string): Promise<void> {
    await this.start(this.unknown().filter(({ spec }) => name.startsWith(namePrefix(spec.name))));
  }

  resources(): readonly ResourceEntry[] {
    const all = (template: boolean) =>
      this.#each(({ listing }) => template ? listing.templates : listing.resources)
        .map(({ server, item }) => ({ server, resource: item, template }));
    return [...all(false), ...all(true)];
  }

  #each<T>(items: (server: McpServer) => readonly T[]): { server: string; item: T }[] {
    return this.servers.filter(({ enabled }) => enabled)
      .flatMap((server) => items(server).map((item) => ({ server: server.spec.name, item })));
  }

  /** Returns the server of a name. Throws a ReasonixError where a rule denies it. */
  #allowed(name: string, uri?: string): McpServer {
    const rule = this.#options.denial?.(name, uri);
    if (rule === undefined) return this.named(name);
    throw new ReasonixError(
      message`Permission rule ${rule} forbids what is asked of the MCP server "${name}"`,
      { exit: "blocked" },
    );
  }

  async prompt(
    { server, name, args }: { server: string; name: string; args: Record<string, string> },
    intake: ContentIntake,
  ): Promise<AttachedContent> {
    const { signal } = intake;
    const result = await this.#allowed(server).use(
      (connection) => connection.prompt(name, args, signal),
      signal,
    );
    return await promptContent(result, server, intake);
  }

  async read(server: string, uri: string, intake: ContentIntake): Promise<AttachedContent> {
    const { signal } = intake;
    const result = await this.#allowed(server, uri).use((connection) => connection.read(uri, signal), signal);
    return await resourceContent(result, server, intake);
  }

  /**
   * Reads lines of a document with the plugin for documents; undefined where no server is that plugin.
   * Rejects with a ReasonixError with the reason.
   */
  document(
    path: string,
    range: { offset?: number; limit: number },
    signal: AbortSignal,
  ): Promise<string> | undefined {
    const server = this.servers.find(({ enabled, spec }) => enabled && spec.plugin?.name === "documents");
    return server && this.#document(server.spec.name, { path, ...range }, signal);
  }

  async #document(server: string, args: Record<string, unknown>, signal: AbortSignal): Promise<string> {
    const call = (connection: Connection) =>
      connection.call("read_document", args, { signal, progress: () => {} });
    const { content, isError } = await this.#allowed(server).use(call, signal);
    const text = safeText(content.flatMap((block) => block.type === "text" ? [block.text] : []).join("\n"));
    if (isError) throw new ReasonixError(oneLine(text));
    return text;
  }

  async complete(server: string, query: CompletionQuery, signal: AbortSignal): Promise<readonly string[]> {
    return await this.#allowed(server).use((connection) => connection.complete(query, signal), signal);
  }

  async close(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.close()));
  }
}
