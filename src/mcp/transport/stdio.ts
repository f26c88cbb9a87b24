import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { message, ReasonixError } from "../../core/mod.ts";
import { isFile } from "../../path/probe.ts";
import { loadProcesses, type ProcessGuard, type ServerProcess } from "../../tool/mod.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import { after } from "../../util/timer.ts";
import { MAX_MESSAGE_BYTES, MessageLines } from "./message_lines.ts";
import { MissingProgramError, UndeliveredError } from "../failures.ts";
import type { ServerLog } from "../server_log.ts";
import type { McpServerSpec } from "../server_spec.ts";

interface StdioTransportOptions {
  /** Starts the server. Throws a ReasonixError that says why it cannot be started. */
  readonly spawn: () => ServerProcess;
  readonly log: ServerLog;
  /** Keeps from the SDK what it would refuse. */
  readonly accept: (message: JSONRPCMessage) => JSONRPCMessage;
}

const MEGABYTE = 1024 * 1024;
const NEWLINE = 10;
/** Time for the last output of a server that has ended to be taken in; its children may hold the stream. */
const DRAIN_MS = 200;

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
  /** The status of the process. */
  ended: Deno.CommandStatus | undefined;
  /** The probe was answered with a result after the greeting in the older way was sent. */
  answeredLate = false;
  readonly #options: StdioTransportOptions;
  #process: ServerProcess | undefined;
  #writer: WritableStreamDefaultWriter<Uint8Array> | undefined;
  #closing: Promise<void> | undefined;
  /** Requests that are waiting, to answer those whose answer cannot be read. */
  readonly #pending = new Set<string | number>();
  /** The request that asks for the server's era. */
  #probe: string | number | undefined;
  /** Nobody waits for the answer to the probe any more. */
  #probeIsOver = false;
  /** Messages that were read and not handed on yet. */
  readonly #arrived: JSONRPCMessage[] = [];
  #noise = 0;
  /** A message has come. */
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
    void this.#read(child);
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

  /** Closes the input, and ends the process group when the server does not end itself. */
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

  async #read(child: Deno.ChildProcess): Promise<void> {
    const lines = new MessageLines({
      line: (text) => this.#line(text),
      tooLarge: (bytes, ends) => this.#tooLarge(bytes, ends),
    });
    const reader = child.stdout.getReader();
    const drained = child.status.then(() => after(DRAIN_MS, () => void reader.cancel().catch(() => {})));
    try {
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        lines.push(read.value as Uint8Array<ArrayBuffer>);
        await this.#handOn();
      }
    } catch {
      // The status has the reason.
    }
    this.ended = await child.status;
    (await drained)();
    // Its input would stay open for as long as a child holds the stream.
    void this.#writer?.abort().catch(() => {});
    const { code, signal } = this.ended;
    this.#options.log.note(signal ? `ended by ${signal}` : `ended with exit code ${code}`);
    await this.#process?.end();
    this.#closed();
  }

  async #readLog(child: Deno.ChildProcess): Promise<void> {
    const { log } = this.#options;
    const taken: string[] = [];
    const lines = new MessageLines({
      line: (text) => taken.push(text),
      tooLarge: (bytes) => log.note(`a line of ${bytes} bytes on standard error was left out`),
    });
    const take = (chunk: Uint8Array<ArrayBuffer>) => {
      lines.push(chunk);
      log.output(taken.splice(0));
    };
    try {
      for await (const chunk of child.stderr) take(chunk as Uint8Array<ArrayBuffer>);
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
   * The SDK takes in an answer at once and what it was told before only after a moment, when nobody waits for
   * the progress of that call any more: an answer gives the messages before it that moment.
   */
  async #handOn(): Promise<void> {
    let told = false;
    for (const message of this.#arrived.splice(0)) {
      if (told && !("method" in message)) await new Promise<void>((resolve) => void after(0, resolve));
      told = "method" in message;
      this.onmessage?.(message);
    }
  }

  /** Answers in place of the server, so that the call ends at once and says why. */
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
  /** The environment that every server begins with. */
  readonly environment: () => Promise<Readonly<Record<string, string>>>;
  readonly guard: ProcessGuard | undefined;
}

const WINDOWS = Deno.build.os === "windows";

/** Returns what starts a server. Starting throws a ReasonixError where there is no such program. */
export async function serverSpawner(
  spec: McpServerSpec,
  context: SpawnContext,
): Promise<() => ServerProcess> {
  const { ServerProcess } = await loadProcesses();
  const base = await context.environment();
  return () => {
    const env = { ...base, ...spec.env };
    const plan = { command: programOf(spec, env.PATH ?? ""), args: spec.args, env };
    try {
      return new ServerProcess(plan, { cwd: spec.cwd, guard: context.guard });
    } catch (error) {
      throw new ReasonixError(
        message`Cannot start ${spec.command}: ${error instanceof Error ? error.message : String(error)}`,
        {
          remedy: message`check command, args and cwd of the server`,
        },
      );
    }
  };
}

/** The program of a server, looked for here: a starter in between would report it as its own failure. */
function programOf({ command, cwd }: McpServerSpec, searchPath: string): string {
  if (command.includes("/") || WINDOWS) {
    const path = command.startsWith("/") || WINDOWS ? command : `${cwd}/${command}`;
    if (WINDOWS || isFile(path)) return path;
    throw new MissingProgramError(message`There is no program ${path}`, {
      remedy: message`correct the command of the server`,
    });
  }
  const found = searchPath.split(":").filter((folder) => folder.startsWith("/"))
    .map((folder) => `${folder}/${command}`).find(isFile);
  if (found !== undefined) return found;
  throw new MissingProgramError(message`There is no program "${command}" on PATH`, {
    remedy: message`install ${command}, or give its full path as the command of the server`,
  });
}
