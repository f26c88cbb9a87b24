/** A plugin of the program in its real process, with its permissions, behind the bare client of the SDK. */
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { loadPluginProcess } from "../../src/mcp/mod.ts";
import { PLUGINS } from "../../plugins/plugins.ts";
import { fileURLToPath } from "node:url";

export interface PluginStage {
  /** The file that the process starts from; default: the sources. */
  readonly file?: string | undefined;
  readonly workspace: string;
  /** Its state directory is below. */
  readonly home: string;
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Granted entries of `[[providers]]`, with their `host:port`. */
  readonly providers?: readonly Readonly<Record<string, unknown>>[];
  readonly providerHosts?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A command of the plugin. */
  readonly words?: readonly string[];
}

/** Returns the command line of a plugin's process. */
export async function pluginCommandLine(name: string, stage: PluginStage) {
  const info = PLUGINS.find((each) => each.name === name);
  if (!info) throw new Error(`There is no plugin ${name}`);
  const { workspace, home, settings = {}, providers = [], providerHosts = [], env = {} } = stage;
  const { pluginProcess } = await loadPluginProcess();
  const none = { hidden: [], forbidden: [], locations: {}, variable: () => undefined };
  const state = `${home}/plugins/${name}`;
  const facts = { ...none, workspace, home, state, settings, providers, providerHosts, env };
  const started = await pluginProcess(info, facts, stage.words);
  if (stage.file === undefined) return started;
  const sources = fileURLToPath(new URL("../../", import.meta.url)).replace(/\/$/, "");
  const directory = stage.file.replace(/\/[^/]*$/, "");
  const args = started.args.flatMap((word) =>
    word.endsWith("/plugins/main.ts")
      ? ["--no-config", "--no-npm", stage.file ?? ""]
      : word.startsWith("--allow-read=")
      ? [word.replaceAll(sources, directory)]
      : [word]
  );
  return { ...started, args };
}

/** Starts a plugin and connects to it. */
export async function openPlugin(name: string, stage: PluginStage) {
  const { command, args, env } = await pluginCommandLine(name, stage);
  const transport = new StdioClientTransport({ command, args: [...args], env, stderr: "pipe" });
  const client = new Client({ name: "bare", version: "1" }, { versionNegotiation: { mode: "auto" } });
  let log = "";
  transport.stderr?.on("data", (bytes: Uint8Array) => log += new TextDecoder().decode(bytes));
  const closed = new Promise<void>((resolve) => client.onclose = resolve);
  await client.connect(transport).catch((error) => {
    throw new Error(`The plugin ${name} did not start: ${log}`, { cause: error });
  });
  return {
    client,
    pid: transport.pid ?? 0,
    closed,
    /** The text on standard error so far. */
    log: () => log,
    [Symbol.asyncDispose]: () => client.close(),
  };
}
