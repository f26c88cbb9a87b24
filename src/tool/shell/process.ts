import type { ProcessGuard } from "../services/services.ts";

type Bytes = Uint8Array<ArrayBuffer>;

export interface ProcessEnd {
  readonly code: number;
  readonly signal?: string;
}

export interface ProcessOptions {
  readonly guard?: ProcessGuard | undefined;
  /** The command is meant to go on for long. */
  readonly lasting?: boolean;
  /** The chunk is only valid during the call. */
  readonly onOutput: (chunk: Bytes) => void;
  /** Standard error, which the reporting shell line uses for the directory; absent: it counts as output. */
  readonly onSide?: (chunk: Bytes) => void;
}

/** Time that a program may take to end by itself when somebody waits for it to be gone. */
const GRACE_MS = 100;

/**
 * How long output is waited for after the shell has ended: what is left in the pipe, or comes from `>(tee
 * …)`.
 */
const DRAIN_MS = 40;

const UNANNOUNCED_MS = 50;

const PIECE = 64 * 1024;

const WINDOWS = Deno.build.os === "windows";

/**
 * A command that `spawnSession` started.
 *
 * Contract: when `ended` resolves, the output is complete and nothing of the group is left.
 */
export class ShellProcess {
  readonly ended: Promise<ProcessEnd>;
  readonly #child: Deno.ChildProcess;
  readonly #options: ProcessOptions;
  readonly #readers: ReadableStreamBYOBReader[] = [];
  #killing: Promise<void> | undefined;
  readonly #started = performance.now();
  #exited = false;
  #drained = false;

  constructor(child: Deno.ChildProcess, options: ProcessOptions) {
    this.#child = child;
    this.#options = options;
    this.ended = this.#guarded();
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Asks the group to end, and after `graceMs` ends it. Resolves when it is gone. */
  async kill(graceMs = GRACE_MS): Promise<void> {
    await (this.#killing ??= this.#kill(graceMs));
  }

  async #kill(graceMs: number): Promise<void> {
    if (WINDOWS) {
      await new Deno.Command("taskkill", {
        args: ["/T", "/F", "/PID", String(this.pid)],
        stdout: "null",
        stderr: "null",
      })
        .output().catch(() => {});
      return;
    }
    if (!this.#signal("SIGTERM")) return;
    const end = performance.now() + graceMs;
    // Where nobody reaps orphans a dead group looks alive; closed pipes tell as well that nothing is left to
    // wait for.
    while (performance.now() < end && groupAlive(this.pid) && !(this.#exited && this.#drained)) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    this.#signal("SIGKILL");
  }

  /** Signals the group, or the one process that has not become a group yet. */
  #signal(signal: Deno.Signal): boolean {
    if (signalProcess(-this.pid, signal)) return true;
    return !this.#exited && signalProcess(this.pid, signal);
  }

  /**
   * A short command need not be announced: should the program go just now, the guard finds it by its mark.
   */
  async #guarded(): Promise<ProcessEnd> {
    const { guard, lasting } = this.#options;
    if (!guard) return await this.#run();
    guard.start();
    const timer = setTimeout(() => guard.add(this.pid), lasting ? 0 : UNANNOUNCED_MS);
    const end = await this.#run();
    clearTimeout(timer);
    if (lasting || performance.now() - this.#started > UNANNOUNCED_MS) guard.remove(this.pid);
    return end;
  }

  async #run(): Promise<ProcessEnd> {
    const { onOutput, onSide = onOutput } = this.#options;
    const drained = Promise.all([
      this.#read(this.#child.stdout, onOutput),
      this.#read(this.#child.stderr, onSide),
    ])
      .then(() => this.#drained = true);
    const status = await this.#child.status;
    this.#exited = true;
    // Usually the pipes end with the shell; a child in the background that holds them is not waited for.
    if (WINDOWS || this.#killing || groupAlive(this.pid)) {
      await within(drained, DRAIN_MS);
      await this.kill();
    }
    if (!(await within(drained, DRAIN_MS))) {
      for (const reader of this.#readers) reader.cancel().catch(() => {});
      await drained;
    }
    return { code: status.code, ...(status.signal ? { signal: status.signal } : {}) };
  }

  async #read(stream: ReadableStream<Bytes>, push: (chunk: Bytes) => void): Promise<void> {
    const reader = stream.getReader({ mode: "byob" });
    this.#readers.push(reader);
    // One buffer goes back and forth: a gigabyte of output leaves no garbage behind.
    let buffer = new ArrayBuffer(PIECE);
    while (true) {
      const { done, value } = await reader.read(new Uint8Array(buffer));
      if (done || !value) return;
      push(value);
      buffer = value.buffer;
    }
  }
}

async function within(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => timer = setTimeout(() => resolve(false), milliseconds));
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Sends a signal to a process, or to a group by its negative number; false when there is no such any more.
 */
function signalProcess(target: number, signal: Deno.Signal): boolean {
  try {
    Deno.kill(target, signal);
    return true;
  } catch (error) {
    return !(error instanceof Deno.errors.NotFound);
  }
}

/** SIGCONT does nothing to a process that runs, and fails when there is none. */
function groupAlive(group: number): boolean {
  return signalProcess(-group, "SIGCONT");
}
