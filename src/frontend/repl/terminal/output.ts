import { after } from "../../../util/timer.ts";

/** Until a write that found no room is tried again. */
const RETRY_MS = 5;

/**
 * Standard output as a terminal that may be slow: a connection that is stuck keeps neither the agent nor the
 * keyboard waiting. Measured: a write that blocks in a thread of its own costs 0.02 ms more than one that
 * blocks the program.
 */
export class TerminalOutput {
  readonly #encoder = new TextEncoder();
  #first = true;
  #writing: Promise<void> | undefined;

  /** A write is under way. */
  get busy(): boolean {
    return this.#writing !== undefined;
  }

  /**
   * Writes after what was written before. Undefined when it is done; the promise never rejects: a terminal
   * that is gone shows nothing any more.
   */
  write(text: string): Promise<void> | undefined {
    let bytes = this.#encoder.encode(text);
    if (this.#first) {
      // The first frame is not worth the thread, whose start takes some milliseconds.
      this.#first = false;
      bytes = bytes.subarray(this.#now(bytes));
      if (bytes.length === 0) return undefined;
    }
    const writing = (this.#writing ?? Promise.resolve()).then(() => writeAll(bytes)).catch(() => {});
    const done = writing.then(() => {
      if (this.#writing === done) this.#writing = undefined;
    });
    return this.#writing = done;
  }

  /** Writes before it returns; for the end of the program. */
  writeNow(text: string): void {
    this.#now(this.#encoder.encode(text));
  }

  async drained(): Promise<void> {
    while (this.#writing) await this.#writing;
  }

  /** The number of bytes that the terminal has taken. */
  #now(bytes: Uint8Array): number {
    let at = 0;
    try {
      while (at < bytes.length) at += Deno.stdout.writeSync(bytes.subarray(at));
    } catch { /* the terminal is gone, or has no room */ }
    return at;
  }
}

async function writeAll(bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    try {
      at += await Deno.stdout.write(bytes.subarray(at));
    } catch (error) {
      if (!isPassing(error)) throw error;
      await new Promise<void>((resolve) => after(RETRY_MS, resolve));
    }
  }
}

/**
 * A program that has the same terminal may have made its writes return at once when there is no room, and a
 * signal may have come in between: what was not taken is written again.
 */
function isPassing(error: unknown): boolean {
  return error instanceof Deno.errors.WouldBlock || error instanceof Deno.errors.Interrupted;
}
