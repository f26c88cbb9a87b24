import type { SelfCommand } from "./self_command.ts";
import { parseJson } from "../../util/json.ts";
import { linesOf } from "../../util/lines.ts";

interface LineHandlers<Out> {
  readonly onMessage: (message: Out) => void;
  /**
   * The process ended although it was not killed; `errorOutput` is the end of its standard error.
   */
  readonly onEnd: (errorOutput: string) => void;
}

/**
 * A child process spoken to in lines of JSON.
 *
 * A process and not a worker thread: the runtime's `Worker.terminate()` returns at once, but a thread in a
 * loop goes on for ever and keeps a core busy. A process ends when it is killed, whatever it does.
 */
export class LineProcess<In, Out> {
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #done: Promise<void>;
  #killed = false;
  #errorOutput = "";

  constructor(command: SelfCommand, handlers: LineHandlers<Out>) {
    this.#child = new Deno.Command(command.command, {
      args: [...command.args],
      clearEnv: true,
      env: { ...command.env },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#writer = this.#child.stdin.getWriter();
    this.#done = this.#run(handlers);
  }

  get pid(): number {
    return this.#child.pid;
  }

  send(message: In): void {
    // A process that is gone says so by its end.
    this.#writer.write(asLine(message)).catch(() => {});
  }

  /** Ends the process at once; resolves when it is gone. */
  async kill(): Promise<void> {
    this.#killed = true;
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It has ended by itself.
    }
    await this.#done;
  }

  async #run(handlers: LineHandlers<Out>): Promise<void> {
    const errorOutput = this.#collectErrorOutput();
    for await (const message of readLines<Out>(this.#child.stdout)) {
      if (!this.#killed) handlers.onMessage(message);
    }
    await errorOutput;
    await this.#child.status;
    await this.#writer.close().catch(() => {});
    if (!this.#killed) handlers.onEnd(this.#errorOutput.trim());
  }

  async #collectErrorOutput(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of this.#child.stderr) {
      this.#errorOutput = (this.#errorOutput + decoder.decode(chunk, { stream: true })).slice(-2000);
    }
  }
}

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * The values of a stream of lines. A line that is not JSON is left out: something printed where it should
 * not.
 */
export async function* readLines<T>(stream: AsyncIterable<Bytes>): AsyncGenerator<T> {
  for await (const line of linesOf(stream)) {
    const value = parseJson(line) as T | undefined;
    if (value !== undefined) yield value;
  }
}

const ENCODER = new TextEncoder();

function asLine(message: unknown): Bytes {
  return ENCODER.encode(`${JSON.stringify(message)}\n`);
}

/**
 * The place where a process of ours hears and answers. Its entry module fills it in: libraries own no
 * standard streams.
 */
export interface LinePort {
  /** A piece is read before the next one is asked for, so that all may be the same memory. */
  readonly input: AsyncIterable<Bytes>;
  /** Writes at once, as much as fits; returns the number of bytes written. */
  readonly write: (bytes: Bytes) => number;
}

/** Sends one message whole before anything else happens. */
export function sendMessage(port: LinePort, message: unknown): void {
  const bytes = asLine(message);
  for (let at = 0; at < bytes.length;) at += port.write(bytes.subarray(at));
}
