import { type Config, type LoadedConfig, type PluginEntry, sourceOf } from "../../config/mod.ts";
import { argumentsLine, message, type PreparedCall, textFields } from "../../core/mod.ts";
import { namePrefix, toolName } from "../../mcp/mod.ts";
import type { Gate, PermissionGate } from "../../permission/mod.ts";
import { APPROVED, type Provider, type RemoteServer, type RemoteServers } from "../../provider/mod.ts";
import type { Tool, ToolRegistry } from "../../tool/mod.ts";
import { oneLine } from "../../util/terminal_text.ts";
import type { RemotePlugins as RemotePluginsPort, Warning } from "../../run/mod.ts";

type RunGate = Gate & Partial<PermissionGate>;

/** No server has a tool of this name: what is true of it is true of all tools that no rule names. */
const ANY_TOOL = "any-tool-that-is-not-named-7f3c";

/**
 * The MCP servers that the model's provider speaks to. Nothing of them runs here; what may be called without
 * asking is judged by the gate, before each request, since rules and modes change.
 */
export class RemotePlugins implements RemoteServers, RemotePluginsPort {
  readonly toolName = toolName;
  readonly #entries: readonly PluginEntry[];
  readonly #config: Config;
  readonly #loaded: LoadedConfig;
  #servers: readonly RemoteServer[];
  #gate: RunGate | undefined;
  #registry: ToolRegistry | undefined;

  constructor(loaded: LoadedConfig) {
    const { config } = loaded;
    this.#loaded = loaded;
    this.#config = config;
    this.#entries = config.plugins.filter(isRemotePlugin);
    this.#servers = this.#entries.map((entry) => remoteServer(entry, config));
  }

  servers(): readonly RemoteServer[] {
    return this.#servers;
  }

  /** The servers for one provider, which gets their tokens; those of the user not at a project's address. */
  servedBy(provider: string): RemoteServers {
    if (!this.#withholds(provider)) return this;
    let all = this.#servers;
    let servers = all.filter(({ name }) => this.#isOfProject(name));
    return {
      toolName,
      servers: () => {
        if (all === this.#servers) return servers;
        all = this.#servers;
        return servers = all.filter(({ name }) => this.#isOfProject(name));
      },
    };
  }

  /** Reports whether only the project names the address of a provider. */
  #withholds(provider: string): boolean {
    return this.#loaded.projectProviders.some(({ name, userEntry }) =>
      name === provider && userEntry === undefined
    );
  }

  #isOfProject(server: string): boolean {
    return sourceOf(this.#loaded, `plugins.${JSON.stringify(server)}`).source === "project";
  }

  /** Raw names of the tools of a server that only read, as the user says. */
  #trusted({ name, trusted_read_only_tools: tools }: PluginEntry): readonly string[] {
    const prefix = namePrefix(name);
    const named = this.#config.agent.plan_mode_allowed_tools.filter((tool) => tool.startsWith(prefix));
    return [...tools, ...named.map((tool) => tool.slice(prefix.length))];
  }

  /** Lets calls that wait find a tool to be judged as, and takes the gate that judges them. */
  async connect(gate: RunGate, registry: ToolRegistry): Promise<void> {
    this.#gate = gate;
    this.#registry = registry;
    registry.strangers = (name) => this.#tool(name);
    await this.judge();
  }

  /** Finds out what may be called unasked as things stand. */
  async judge(): Promise<void> {
    const judged = await Promise.all(this.#servers.map(async (server, at): Promise<RemoteServer> => {
      const entry = this.#entries[at];
      return { ...server, unasked: entry ? await this.#unasked(entry, server) : [] };
    }));
    if (JSON.stringify(judged) !== JSON.stringify(this.#servers)) this.#servers = judged;
  }

  /** Warnings about servers that this model cannot or may not use. */
  warnings({ model, remoteMode }: Provider): readonly Warning[] {
    const id = `${model.provider}/${model.id}`;
    const mode = (model.toolMode ?? "official") === "official" ? remoteMode : undefined;
    return this.#servers.flatMap((server) => {
      if (mode === undefined) return [unavailable(server, id)];
      if (this.#withholds(model.provider) && !this.#isOfProject(server.name)) {
        return [withheld(server, model.provider)];
      }
      if (mode === "asks") return [];
      return [...server.unasked.length === 0 ? [unasked(server, id)] : [], ...unsentHeaders(server)];
    });
  }

  async #unasked(entry: PluginEntry, server: RemoteServer): Promise<RemoteServer["unasked"]> {
    const isOpen = await this.#allows(entry.name, ANY_TOOL) && !this.#isNarrowed(entry.name);
    if (isOpen) return "all";
    const named = [...new Set([...this.#allowedNames(entry.name), ...this.#trusted(entry)])].filter((tool) =>
      offers(server, tool)
    );
    const allowed = await Promise.all(named.map((tool) => this.#allows(entry.name, tool)));
    return named.filter((_, at) => allowed[at]);
  }

  /** Reports whether a rule of the user, not just a mode, lets a tool run. */
  async #allows(server: string, tool: string): Promise<boolean> {
    const call = { id: "", name: toolName(server, tool), arguments: "{}" };
    const prepared: PreparedCall | undefined = this.#registry?.describe(call);
    if (!prepared || !this.#gate?.explain) return false;
    const { decision, source } = await this.#gate.explain(prepared);
    return decision === "allow" && (source === "rule" || prepared.readOnly);
  }

  /** Reports whether a rule that restricts may concern single tools of a server. */
  #isNarrowed(server: string): boolean {
    const { ask, deny } = this.#config.permissions;
    const prefix = namePrefix(server);
    return [...ask, ...deny].some((text) => {
      const name = text.trim().replace(/^mcp\((.*)\)$/is, "mcp__$1");
      const head = name.split(/[*?[({=]/, 1)[0] ?? "";
      return head.startsWith(prefix) || (head !== name && prefix.startsWith(head));
    });
  }

  /** Raw names of the tools of a server that rules allow one by one. */
  #allowedNames(server: string): readonly string[] {
    const prefix = namePrefix(server);
    return [...this.#config.permissions.allow, ...this.#gate?.sessionRules ?? []].flatMap((text) => {
      const name = text.trim().replace(/^mcp\((.*)\)$/is, "mcp__$1");
      return name.startsWith(prefix) && /^[\w-]+$/.test(name) ? [name.slice(prefix.length)] : [];
    });
  }

  /** The tool that a waiting call is judged as. It does nothing: its result is the answer that it may run. */
  #tool(name: string): Tool | undefined {
    const at = this.#entries.findIndex((entry) => name.startsWith(namePrefix(entry.name)));
    const [entry, server] = [this.#entries[at], this.#servers[at]];
    if (!entry || !server) return undefined;
    const tool = name.slice(namePrefix(entry.name).length);
    if (tool === "" || !offers(server, tool)) return undefined;
    return {
      name,
      description: "",
      schema: { type: "object" },
      readOnly: false,
      trusted: this.#trusted(entry).includes(tool),
      family: "Mcp",
      offered: false,
      title: (args) => oneLine(`${entry.name}: ${tool} ${argumentsLine(JSON.stringify(args))}`).trimEnd(),
      execute: () => Promise.resolve({ content: APPROVED, summary: "allowed" }),
    };
  }
}

/** Reports whether the model's provider is to speak to a server. */
function isRemotePlugin({ enabled, transport }: PluginEntry): boolean {
  return enabled && transport === "provider";
}

function remoteServer(entry: PluginEntry, { tools }: Config): RemoteServer {
  const prefix = namePrefix(entry.name);
  const off = tools.disabled.flatMap((name) => name.startsWith(prefix) ? [name.slice(prefix.length)] : []);
  return {
    name: entry.name,
    url: entry.url ?? "",
    headers: entry.headers ?? {},
    enabledTools: entry.enabled_tools,
    disabledTools: [...entry.disabled_tools, ...off],
    unasked: [],
  };
}

function offers({ enabledTools, disabledTools }: RemoteServer, tool: string): boolean {
  const isProbe = tool === ANY_TOOL;
  return isProbe ||
    ((enabledTools.length === 0 || enabledTools.includes(tool)) && !disabledTools.includes(tool));
}

function unavailable({ name }: RemoteServer, model: string): Warning {
  return {
    ...textFields(
      message`The MCP server ${name} is not available: the model's provider is to speak to it, which ${model} cannot; use a model of kind anthropic or responses, or take transport = "provider" out`,
    ),
  };
}

function withheld({ name }: RemoteServer, provider: string): Warning {
  return {
    text: `The MCP server ${name} is not offered to the provider ${provider}: it is yours, and the address ` +
      "of that provider is the project's; name the provider in your own file if it may have the token",
  };
}

function unasked({ name }: RemoteServer, model: string): Warning {
  const rule = `${namePrefix(name)}*`;
  return {
    ...textFields(
      message`The MCP server ${name} is not offered to ${model}, which asks nobody before it calls a tool, and no rule allows these tools: [permissions] allow = ["${rule}"], or name single ones`,
    ),
  };
}

function unsentHeaders({ name, headers }: RemoteServer): readonly Warning[] {
  const others = Object.keys(headers).filter((header) => header.toLowerCase() !== "authorization");
  if (others.length === 0) return [];
  const list = others.join(", ");
  return [{
    ...textFields(
      message`${list} of the MCP server ${name} is not sent: the provider passes on authorization alone`,
    ),
  }];
}
