import { asLine, readLines } from "./json_lines.ts";
import type { SelfCommand } from "./self_command.ts";

export interface LineHandlers<Out> {
  readonly onMessage: (message: Out) => void;
  /**
   * The process ended without having been told to; `remarks` is the end of what it wrote on standard error.
   */
  readonly onEnd: (remarks: string) => void;
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
  #remarks = "";

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
    const remarks = this.#collectRemarks();
    for await (const message of readLines<Out>(this.#child.stdout)) {
      if (!this.#killed) handlers.onMessage(message);
    }
    await remarks;
    await this.#child.status;
    await this.#writer.close().catch(() => {});
    if (!this.#killed) handlers.onEnd(this.#remarks.trim());
  }

  async #collectRemarks(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of this.#child.stderr) {
      this.#remarks = (this.#remarks + decoder.decode(chunk, { stream: true })).slice(-2000);
    }
  }
}
