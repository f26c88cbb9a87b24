import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { errorMessage, message, ReasonixError } from "../../core/mod.ts";
import { MissingProgramError, UndeliveredError } from "../failures.ts";
import type { ServerLog } from "../server_log.ts";
import {
  loadPluginList,
  type McpServerSpec,
  type PluginInfo,
  pluginNameOf,
  SETTINGS_VARIABLE,
} from "../server_spec.ts";
import { isFile } from "../../path/probe.ts";
import { loadProcesses, type ProcessGuard, type SelfCommand, type ServerProcess } from "../../tool/mod.ts";
import { joinBytes } from "../../util/bytes.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import { suggestNames } from "../../util/suggest.ts";
import { after } from "../../util/timer.ts";

type Bytes = Uint8Array<ArrayBuffer>;

export const MEGABYTE = 1024 * 1024;
/** Maximum bytes of one message; results are cut to far less. */
export const MAX_MESSAGE_BYTES = 16 * MEGABYTE;
/** Bytes kept of either end of a too large message, for its id. */
const KEPT = 4096;
const NEWLINE = 10;

/** Splits a stream into lines, in bounded memory. */
export class MessageLines {
  readonly #line: (text: string) => void;
  readonly #tooLarge: (bytes: number, ends: string) => void;
  readonly #decoder = new TextDecoder();
  #parts: Bytes[] = [];
  #size = 0;
  #tail: Bytes | undefined;

  /** Only the beginning and the end of a too large line are kept. */
  constructor(line: (text: string) => void, tooLarge: (bytes: number, ends: string) => void) {
    this.#line = line;
    this.#tooLarge = tooLarge;
  }

  push(chunk: Bytes): void {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      this.#take(chunk.subarray(from, at));
      this.#finish();
      from = at + 1;
    }
    this.#take(chunk.subarray(from));
  }

  #take(piece: Bytes): void {
    if (piece.length === 0) return;
    this.#size += piece.length;
    if (this.#size <= MAX_MESSAGE_BYTES) {
      this.#parts.push(piece.slice());
      return;
    }
    this.#parts = [joinBytes(this.#parts).slice(0, KEPT)];
    this.#tail = joinBytes([this.#tail ?? new Uint8Array(), piece.slice(-KEPT)]).slice(-KEPT);
  }

  #finish(): void {
    const [size, tail] = [this.#size, this.#tail];
    const text = this.#decoder.decode(joinBytes([...this.#parts, ...tail ? [tail] : []]));
    this.#parts = [];
    this.#size = 0;
    this.#tail = undefined;
    if (tail) this.#tooLarge(size, text);
    else if (text.trim() !== "") this.#line(text);
  }
}

interface StdioTransportOptions {
  readonly spawn: () => ServerProcess;
  readonly log: ServerLog;
  /** Filters a message before the SDK sees it. */
  readonly accept: (message: JSONRPCMessage) => JSONRPCMessage;
}

/**
 * One JSON message a line over the standard streams of a process. What is no message is noise: it goes to the
 * log, and the connection stays.
 *
 * The SDK takes a transport with `stderr` and `pid` for a process: silence at a probe means an older one. It
 * does not listen for the answer any more then, so the transport does.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport["onmessage"];
  readonly stderr = null;
  ended: Deno.CommandStatus | undefined;
  /** The probe was answered with a result after the greeting in the older way was sent. */
  answeredLate = false;
  readonly #options: StdioTransportOptions;
  #process: ServerProcess | undefined;
  #writer: WritableStreamDefaultWriter<Uint8Array> | undefined;
  #closing: Promise<void> | undefined;
  /** Pending requests, which get an error when their answer cannot be read. */
  readonly #pending = new Set<string | number>();
  /** The request that asks for the server's era. */
  #probe: string | number | undefined;
  /** The SDK no longer waits for the answer to the probe. */
  #probeIsOver = false;
  readonly #arrived: JSONRPCMessage[] = [];
  #noise = 0;
  #heard = false;

  constructor(options: StdioTransportOptions) {
    this.#options = options;
  }

  get pid(): number | null {
    return this.#process?.child.pid ?? null;
  }

  start(): Promise<void> {
    try {
      this.#process = this.#options.spawn();
    } catch (error) {
      return Promise.reject(error);
    }
    const { child } = this.#process;
    this.#writer = child.stdin.getWriter();
    // The streams report its end; a write that comes too late fails automatically.
    this.#writer.closed.catch(() => {});
    void this.#read(this.#process);
    void this.#readLog(child);
    return Promise.resolve();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.#writer || this.ended) throw new UndeliveredError();
    if ("id" in message && "method" in message) {
      this.#pending.add(message.id);
      if (message.method === "server/discover") this.#probe = message.id;
      this.#probeIsOver ||= message.method === "initialize";
    }
    try {
      await this.#writer.write(new TextEncoder().encode(`${JSON.stringify(message)}\n`));
    } catch {
      throw new UndeliveredError();
    }
  }

  /** Closes the input, and ends the process group when the server does not exit. */
  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    if (!this.#process) return;
    // A server that does not read would keep the stream from being closed.
    void this.#writer?.close().catch(() => {});
    // One that has not said anything yet has nothing to put in order.
    await this.#process.end(this.#heard ? undefined : 0);
    this.#closed();
  }

  async #read(process: ServerProcess): Promise<void> {
    const lines = new MessageLines(
      (text) => this.#line(text),
      (bytes, ends) => this.#tooLarge(bytes, ends),
    );
    this.ended = await process.output(async (chunk) => {
      lines.push(chunk);
      await this.#handOn();
    });
    // Its input would stay open for as long as a child holds the stream.
    void this.#writer?.abort().catch(() => {});
    const { code, signal } = this.ended;
    this.#options.log.note(signal ? `ended by ${signal}` : `ended with exit code ${code}`);
    await process.end();
    this.#closed();
  }

  async #readLog(child: Deno.ChildProcess): Promise<void> {
    const { log } = this.#options;
    const taken: string[] = [];
    const lines = new MessageLines(
      (text) => taken.push(text),
      (bytes) => log.note(`a line of ${bytes} bytes on standard error was left out`),
    );
    const take = (chunk: Bytes) => {
      lines.push(chunk);
      log.output(taken.splice(0));
    };
    try {
      for await (const chunk of child.stderr) take(chunk);
    } catch {
      // Nothing more to log.
    }
    take(new Uint8Array([NEWLINE]));
  }

  #line(text: string): void {
    const parsed = parseJson(text);
    if (!isRecord(parsed) || parsed.jsonrpc !== "2.0") {
      if (this.#noise++ < 100) this.#options.log.note(`no message on standard output: ${text.slice(0, 500)}`);
      return;
    }
    this.#heard = true;
    if (!("method" in parsed)) {
      const isExpected = this.#pending.delete(parsed.id as string | number);
      if (isExpected && this.#probeIsOver && parsed.id === this.#probe) {
        this.answeredLate = "result" in parsed;
        return;
      }
    }
    this.#arrived.push(this.#options.accept(parsed as JSONRPCMessage));
  }

  /**
   * Delays an answer after notifications: the SDK handles those asynchronously, and would drop progress of an
   * answered call.
   */
  async #handOn(): Promise<void> {
    let wasNotified = false;
    for (const message of this.#arrived.splice(0)) {
      if (wasNotified && !("method" in message)) await new Promise<void>((resolve) => void after(0, resolve));
      wasNotified = "method" in message;
      this.onmessage?.(message);
    }
  }

  /** Answers for the server, so that the call fails at once with the reason. */
  #tooLarge(bytes: number, ends: string): void {
    const limit = MAX_MESSAGE_BYTES / MEGABYTE;
    const message = `too large: the answer has ${Math.ceil(bytes / MEGABYTE)} MB, the limit is ${limit} MB`;
    this.#options.log.note(message);
    const ids = [...ends.matchAll(/"id"\s*:\s*(\d+|"[^"]*")/g)].map(([, id]) => parseJson(id ?? ""));
    const id = ids.find((one) => this.#pending.has(one as string | number)) ?? [...this.#pending][0];
    if (typeof id !== "string" && typeof id !== "number") return;
    this.#pending.delete(id);
    this.#arrived.push({ jsonrpc: "2.0", id, error: { code: -32001, message } });
  }

  #closed(): void {
    const { onclose } = this;
    delete this.onclose;
    onclose?.();
  }
}

export interface SpawnContext {
  /** Makes the command line of a plugin that comes with the program. */
  readonly plugin?: (info: PluginInfo, server: string) => Promise<SelfCommand>;
  readonly environment: () => Promise<Readonly<Record<string, string>>>;
  readonly guard: ProcessGuard | undefined;
}

const WINDOWS = Deno.build.os === "windows";

/** Returns a function that starts a server, and throws a ReasonixError when there is no such program. */
export async function serverSpawner(
  spec: McpServerSpec,
  context: SpawnContext,
): Promise<() => ServerProcess> {
  const { ServerProcess } = await loadProcesses();
  const plugin = spec.plugin && await context.plugin?.(spec.plugin, spec.name);
  const base = plugin?.env ?? await context.environment();
  if (spec.type === "stdio" && !plugin) await refuseUnknownPlugin(spec);
  const settings: Record<string, string> = Object.keys(spec.settings).length > 0
    ? { [SETTINGS_VARIABLE]: JSON.stringify(spec.settings) }
    : {};
  return () => {
    // What a plugin gets of its entry is in it already: variables of the entry replace no settings.
    const env = plugin ? base : { ...base, ...settings, ...spec.env };
    const plan = plugin ?? { command: programOf(spec, env.PATH ?? ""), args: spec.args, env };
    try {
      return new ServerProcess(plan, { cwd: spec.cwd, guard: context.guard });
    } catch (error) {
      throw new ReasonixError(message`Cannot start ${spec.command}: ${errorMessage(error)}`, {
        remedy: message`check command, args and cwd of the server`,
      });
    }
  };
}

/** Throws a ReasonixError for the words of a plugin that this program does not have. */
async function refuseUnknownPlugin(spec: McpServerSpec): Promise<void> {
  const name = pluginNameOf(spec);
  if (name === undefined || spec.plugin) return;
  const names = (await loadPluginList()).PLUGINS.map((each) => each.name);
  const [near] = suggestNames(name, names, 1);
  throw new MissingProgramError(message`This program has no plugin ${JSON.stringify(name)}`, {
    remedy: near === undefined ? message`use one of ${names}` : message`did you mean "${near}"?`,
  });
}

/** Finds the program of a server here: a launcher would report a missing one as its own failure. */
function programOf({ command, cwd }: McpServerSpec, searchPath: string): string {
  if (WINDOWS) return command;
  if (command.includes("/")) {
    const path = command.startsWith("/") ? command : `${cwd}/${command}`;
    if (isFile(path)) return path;
    throw new MissingProgramError(message`There is no program ${path}`, {
      remedy: message`correct the command of the server`,
    });
  }
  const directories = searchPath.split(":").filter((directory) => directory.startsWith("/"));
  const found = directories.map((directory) => `${directory}/${command}`).find(isFile);
  if (found !== undefined) return found;
  throw new MissingProgramError(message`There is no program "${command}" on PATH`, {
    remedy: message`install ${command}, or give its full path as the command of the server`,
  });
}
