/** The process of a plugin: reads its context, checks its settings, then serves or runs one command. */
import {
  deserializeMessage,
  type JSONRPCMessage,
  McpServer,
  serializeMessage,
  STDIO_DEFAULT_MAX_BUFFER_SIZE,
  type Transport,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";
import { endConversions, stuckConversion } from "./bounded.ts";
import type { Plugin, PluginContext } from "./plugin.ts";
import { PluginError } from "./plugin.ts";

/** Environment variable with `[plugins.settings]` as JSON. */
const SETTINGS_VARIABLE = "REASONIX_PLUGIN_SETTINGS";
/** Environment variable with the rest of the context as JSON: see {@linkcode HostContext}. */
const CONTEXT_VARIABLE = "REASONIX_PLUGIN_CONTEXT";

/** What the host says about the session. Each field may be missing: a plugin also starts alone. */
interface HostContext {
  readonly workspace?: string;
  readonly state?: string;
  readonly home?: string;
  readonly hidden?: readonly string[];
  readonly providers?: PluginContext["providers"];
  /** `file:line:column` of settings, by dotted key; of the whole table by the empty key. */
  readonly locations?: Readonly<Record<string, string>>;
}

/** Exit code for unusable settings, as for those of the program. */
const BAD_SETTINGS = 6;
const FAILED = 1;

/**
 * Serves the plugin until the client is gone, or runs the command that the arguments name; resolves to an
 * exit code. `entry` is the module that this process started with.
 */
export async function startPlugin(
  name: string,
  version: string,
  plugin: Plugin,
  [command, ...args]: readonly string[],
  entry: string,
): Promise<number> {
  try {
    const context = contextOf(name, plugin, entry);
    if (command === undefined) return await serve(name, version, plugin, context);
    const run = plugin.commands?.[command];
    if (!run) {
      const names = Object.keys(plugin.commands ?? {}).join(", ");
      throw new PluginError(
        `The plugin ${name} has no command ${command}`,
        names === "" ? "it has none: without one it serves a client" : `it has ${names}`,
      );
    }
    return await run(args, context);
  } catch (error) {
    if (!(error instanceof PluginError)) throw error;
    log(error.text);
    return error instanceof SettingsError ? BAD_SETTINGS : FAILED;
  } finally {
    endConversions();
  }
}

class SettingsError extends PluginError {}

function contextOf(name: string, plugin: Plugin, entry: string): PluginContext {
  const host = (jsonOf(CONTEXT_VARIABLE) ?? {}) as HostContext;
  const home = host.home ?? Deno.env.get("REASONIX_HOME") ?? "";
  return {
    settings: checked(name, plugin.settings, jsonOf(SETTINGS_VARIABLE) ?? {}, host.locations ?? {}),
    workspace: host.workspace ?? Deno.cwd(),
    state: host.state ?? "",
    home,
    hidden: host.hidden ?? [],
    providers: host.providers ?? [],
    entry,
    log,
  };
}

function jsonOf(variable: string): unknown {
  const text = Deno.env.get(variable);
  if (text === undefined || text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new SettingsError(`Cannot read ${variable}: it is not JSON`);
  }
}

/** Names the key, the value and where it is written. */
function checked(
  name: string,
  schema: z.ZodType,
  given: unknown,
  locations: Readonly<Record<string, string>>,
): unknown {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const lines = result.error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => ({ path: [...issue.path, key], message: "there is no such setting" }))
      : issue
  ).map(({ path, message }) => {
    const key = path.join(".");
    const value = path.reduce<unknown>((at, part) => (at as Record<PropertyKey, unknown>)?.[part], given);
    const shown = value === undefined ? "" : ` = ${JSON.stringify(value).slice(0, 80)}`;
    const where = nearestLocation(path.map(String), locations);
    return `${where}Cannot use ${
      key === "" ? "the settings" : key
    }${shown} for the plugin ${name}: ${message}`;
  });
  throw new SettingsError(lines.join("\n"));
}

function nearestLocation(path: readonly string[], locations: Readonly<Record<string, string>>): string {
  for (let length = path.length; length >= 0; length--) {
    const found = locations[path.slice(0, length).join(".")];
    if (found !== undefined) return `${found}: `;
  }
  return "";
}

async function serve(
  name: string,
  version: string,
  plugin: Plugin,
  context: PluginContext,
): Promise<number> {
  if (Deno.stdin.isTerminal()) log("Waits for an MCP client on standard input; give it to one as a command");
  const transport = new StandardStreams();
  const connection = serveStdio(() => {
    const server = new McpServer({ name, version });
    plugin.register(server, context);
    return server;
  }, { transport });
  const stuck = await Promise.race([
    transport.ended.then(() => false),
    stuckConversion.then(() => true),
  ]);
  await connection.close();
  if (stuck) log(`The plugin ${name} ends: a conversion cannot be interrupted`);
  return stuck ? FAILED : 0;
}

/** Messages over standard input and output. The SDK's class loads `node:process`, which takes 5 MB. */
/** Time for the answers to requests of a client that has closed its end. */
const LAST_ANSWERS_MS = 2000;

class StandardStreams implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Resolves when the client is gone. */
  readonly ended: Promise<void>;
  readonly #end: () => void;
  /** Requests without an answer. */
  readonly #open = new Set<unknown>();
  #answered = Promise.withResolvers<void>();
  #written: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    [this.ended, this.#end] = [promise, resolve];
  }

  start(): Promise<void> {
    void this.#read();
    return Promise.resolve();
  }

  async #read(): Promise<void> {
    try {
      let rest = "";
      for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
        const lines = text.split("\n");
        lines[0] = rest + lines[0];
        rest = lines.pop() ?? "";
        if (rest.length > STDIO_DEFAULT_MAX_BUFFER_SIZE) throw new Error("A message is too long");
        for (const line of lines) this.#deliver(line);
      }
    } catch (error) {
      this.#report(error);
    }
    await this.#finish();
    await this.close();
  }

  /** Lets the answers out: a script writes its requests, closes its end, and reads. */
  async #finish(): Promise<void> {
    if (this.#open.size > 0) {
      this.#answered = Promise.withResolvers();
      const timer = setTimeout(this.#answered.resolve, LAST_ANSWERS_MS);
      await this.#answered.promise;
      clearTimeout(timer);
    }
    await this.#written;
  }

  /** Reports a line that is no message, and continues behind it. */
  #deliver(line: string): void {
    try {
      if (line.trim() === "") return;
      const message = deserializeMessage(line);
      if ("method" in message && "id" in message) this.#open.add(message.id);
      else if ("method" in message && message.method === "notifications/cancelled") {
        this.#open.delete(message.params?.requestId);
      }
      this.onmessage?.(message);
    } catch (error) {
      this.#report(error);
    }
  }

  send(message: JSONRPCMessage): Promise<void> {
    const bytes = new TextEncoder().encode(serializeMessage(message));
    this.#written = this.#written.then(async () => {
      for (let at = 0; at < bytes.length;) at += await Deno.stdout.write(bytes.subarray(at));
    }).catch((error) => {
      // The reader is gone.
      this.#report(error);
      return this.close();
    });
    if (!("method" in message) && this.#open.delete(message.id) && this.#open.size === 0) {
      this.#answered.resolve();
    }
    return this.#written;
  }

  close(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.onclose?.();
      this.#end();
    }
    return Promise.resolve();
  }

  #report(error: unknown): void {
    this.onerror?.(error instanceof Error ? error : new Error(String(error)));
  }
}

/** Standard output belongs to the protocol. */
function log(line: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`));
}
