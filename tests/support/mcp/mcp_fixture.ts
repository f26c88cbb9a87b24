/** MCP servers of a run without the run: a separate home, and calls by raw names. */
import { pluginEntry } from "../config_entries.ts";
import {
  loadHttpAccess,
  loadMcp,
  type McpQuestions,
  type McpServers,
  type PluginInfo,
  type ServerChange,
  serverSpecs,
} from "../../../src/mcp/mod.ts";
import type { ToolResult } from "../../../src/tool/mod.ts";
import { makeTempDir, makeToolContext } from "../tool_context.ts";
import type { Behaviour } from "./behaviour.ts";
import { scriptedServer } from "./scripted_mcp_server.ts";

/** An entry of `[[plugins]]`; missing fields have their defaults. */
type Entry = Readonly<Record<string, unknown>>;

export interface FixtureOptions {
  /** Plugins of the program, which are scripted servers with this behaviour. */
  readonly plugins?: { readonly list: readonly PluginInfo[]; readonly behaviour: Behaviour };
  readonly questions?: Partial<McpQuestions>;
  /** A home that other fixtures use too; default: a separate one. */
  readonly home?: string;
  readonly indexAboveTokens?: number;
  /** Values of variables with secrets. */
  readonly secret?: (name: string) => string | undefined;
  /** Receives the progress of calls. */
  readonly progress?: (text: string) => void;
}

export interface McpFixture extends AsyncDisposable {
  readonly home: string;
  readonly servers: McpServers;
  readonly cwd: string;
  /** Changes of the servers, in order. */
  readonly changes: readonly ServerChange[];
  /** Calls a tool by the name that the model uses. */
  call(tool: string, args?: Record<string, unknown>, signal?: AbortSignal): Promise<ToolResult>;
  /** The log of a server. */
  log(server: string): Promise<string>;
  /** Settles with the change once one arrives that this accepts, past ones included. */
  changed(accepts: (change: ServerChange) => boolean): Promise<ServerChange>;
}

/** An entry for a scripted server over standard input and output. */
export function scripted(name: string, behaviour: Behaviour = {}, more: Entry = {}): Entry {
  return { name, ...scriptedServer(behaviour), ...more };
}

/** An entry `far` for a server over HTTP. */
export function remote(url: string, more: Entry = {}): Entry {
  return { name: "far", type: "http", url, ...more };
}

/** The state of the first server, with its reason. */
export function stateOf({ servers }: Pick<McpFixture, "servers">): string {
  const { state, detail } = servers.status[0] ?? {};
  return `${state}${detail ? `: ${detail}` : ""}`;
}

/** Starts the servers; returns the state of the first one. */
export async function started({ servers }: Pick<McpFixture, "servers">): Promise<string> {
  await servers.start();
  return stateOf({ servers });
}

/** The servers of these entries, not started. */
export async function openMcp(entries: readonly Entry[], options: FixtureOptions = {}): Promise<McpFixture> {
  const temp = await makeTempDir();
  const home = options.home ?? `${temp.path}/home`;
  const cwd = `${temp.path}/work`;
  await Deno.mkdir(cwd);
  const changes: ServerChange[] = [];
  const waiting = new Set<(change: ServerChange) => void>();
  const { McpServers } = await loadMcp();
  const { plugins } = options;
  const spawn = {
    guard: undefined,
    environment: () => Promise.resolve(Deno.env.toObject()),
    plugin: () => Promise.resolve({ ...scriptedServer(plugins?.behaviour), env: Deno.env.toObject() }),
  };
  const { secret = () => undefined } = options;
  const servers = new McpServers({
    home,
    cacheDir: `${home}/cache`,
    specs: serverSpecs(entries.map(pluginEntry), { cwd, callSeconds: 60, plugins: plugins?.list ?? [] }),
    indexAboveTokens: options.indexAboveTokens ?? 0,
    spawn,
    questions: { roots: () => [{ uri: `file://${cwd}`, name: "work" }], ...options.questions },
    connection: async (spec) => (await loadHttpAccess()).httpAccess(spec, { home, spawn, secret }),
    onChange: (change) => {
      changes.push(change);
      for (const notify of waiting) notify(change);
    },
  });
  return {
    home,
    cwd,
    servers,
    changes,
    async call(name, args = {}, signal = new AbortController().signal) {
      const tool = servers.tools().find((one) => one.name === name);
      if (tool === undefined) throw new Error(`No tool ${name}: ${servers.tools().map((one) => one.name)}`);
      const context = { signal, progress: options.progress ?? (() => {}) };
      return await tool.execute(args, makeToolContext(cwd, context));
    },
    log: (server) => Deno.readTextFile(servers.named(server).log.path).catch(() => ""),
    changed: (accepts) => {
      const past = changes.find(accepts);
      if (past !== undefined) return Promise.resolve(past);
      return new Promise((resolve) => waiting.add((change) => accepts(change) && resolve(change)));
    },
    async [Symbol.asyncDispose]() {
      await servers.close();
      await temp[Symbol.asyncDispose]();
    },
  };
}
