import { type LoadedConfig, type PluginEntry, sourceOf } from "../../config/mod.ts";
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
  readonly #loaded: LoadedConfig;
  readonly #entries: readonly PluginEntry[];
  #servers: readonly RemoteServer[];
  #gate: RunGate | undefined;
  #registry: ToolRegistry | undefined;

  constructor(loaded: LoadedConfig) {
    this.#loaded = loaded;
    this.#entries = loaded.config.plugins.filter(({ enabled, transport }) =>
      enabled && transport === "provider"
    );
    this.#servers = this.#entries.map((entry) => remoteServer(entry, loaded.config.tools.disabled));
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

  /** Raw names of the tools of a server that the user trusts to be read-only. */
  #trusted({ name, trusted_read_only_tools: tools }: PluginEntry): readonly string[] {
    return [...tools, ...rawNames(name, this.#loaded.config.agent.plan_mode_allowed_tools)];
  }

  async connect(gate: RunGate, registry: ToolRegistry): Promise<void> {
    this.#gate = gate;
    this.#registry = registry;
    registry.strangers = (name) => this.#tool(name);
    await this.judge();
  }

  /** Updates the tools that need no approval. */
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
      const { name } = server;
      if (mode === undefined) {
        return textFields(
          message`The MCP server ${name} is not available: the model's provider is to speak to it, which ${id} cannot; use a model of kind anthropic or responses, or take transport = "provider" out`,
        );
      }
      if (this.#withholds(model.provider) && !this.#isOfProject(name)) {
        return {
          text:
            `The MCP server ${name} is not offered to the provider ${model.provider}: it is yours, and the address ` +
            "of that provider is the project's; name the provider in your own file if it may have the token",
        };
      }
      if (mode === "asks") return [];
      const rule = `${namePrefix(name)}*`;
      const list = Object.keys(server.headers).filter((header) => header.toLowerCase() !== "authorization")
        .join(", ");
      return [
        ...server.unasked.length > 0 ? [] : [textFields(
          message`The MCP server ${name} is not offered to ${id}, which calls tools without a prompt, and no rule allows these tools: [permissions] allow = ["${rule}"], or name single ones`,
        )],
        ...list === "" ? [] : [textFields(
          message`${list} of the MCP server ${name} is not sent: the provider passes on authorization alone`,
        )],
      ];
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
    const { ask, deny } = this.#loaded.config.permissions;
    const prefix = namePrefix(server);
    return [...ask, ...deny].some((text) => {
      const name = toolPattern(text);
      const start = name.split(/[*?[({=]/, 1)[0] ?? "";
      return start.startsWith(prefix) || (start !== name && prefix.startsWith(start));
    });
  }

  /** Raw names of the tools of a server that rules allow one by one. */
  #allowedNames(server: string): readonly string[] {
    const rules = [...this.#loaded.config.permissions.allow, ...this.#gate?.sessionRules ?? []];
    return rawNames(server, rules.map(toolPattern).filter((name) => /^[\w-]+$/.test(name)));
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

/** The pattern of tool names in a rule, of which `mcp(…)` is a short form. */
function toolPattern(rule: string): string {
  return rule.trim().replace(/^mcp\((.*)\)$/is, "mcp__$1");
}

/** The raw names of the tools of a server among full names. */
function rawNames(server: string, names: readonly string[]): readonly string[] {
  const prefix = namePrefix(server);
  return names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
}

function remoteServer(entry: PluginEntry, disabled: readonly string[]): RemoteServer {
  return {
    name: entry.name,
    url: entry.url ?? "",
    headers: entry.headers ?? {},
    enabledTools: entry.enabled_tools,
    disabledTools: [...entry.disabled_tools, ...rawNames(entry.name, disabled)],
    unasked: [],
  };
}

function offers({ enabledTools, disabledTools }: RemoteServer, tool: string): boolean {
  const isProbe = tool === ANY_TOOL;
  return isProbe ||
    ((enabledTools.length === 0 || enabledTools.includes(tool)) && !disabledTools.includes(tool));
}
