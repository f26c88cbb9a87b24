/**
 * A program on a separate pseudo-terminal, without a multiplexer in between: `script` of util-linux makes
 * the terminal and passes bytes through. What it prints is kept with the time of its arrival, so that a
 * terminal can be played afterwards, when nothing is being measured.
 */

/** A chunk that a program printed, and its arrival (`performance.now()`). */
export interface Chunk {
  readonly time: number;
  readonly text: string;
}

export interface PtyOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly size?: Size;
}

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export const SIZE: Size = { columns: 100, rows: 30 };

const LIMIT_MS = 30_000;
/** The question for the attributes of a terminal, and the answer of one that knows little. */
const ATTRIBUTES = "\x1b[c";
const ANSWER = "\x1b[?62;22c";

export class Pty implements AsyncDisposable {
  readonly started = performance.now();
  readonly chunks: Chunk[] = [];
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #ended: Promise<void>;
  readonly #encoder = new TextEncoder();
  #waiting: (() => void) | undefined;
  #over = false;

  constructor({ command, args, cwd, env, size = SIZE }: PtyOptions) {
    const words = [command, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
    const line = `stty rows ${size.rows} cols ${size.columns}; exec ${words}`;
    this.#child = new Deno.Command("script", {
      args: ["-qfec", line, "/dev/null"],
      cwd,
      env: { ...env, TERM: "xterm-256color", SHELL: "/bin/sh" },
      clearEnv: true,
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.#writer = this.#child.stdin.getWriter();
    this.#ended = this.#read();
  }

  /** Types or pastes; returns the time. */
  send(text: string): number {
    const time = performance.now();
    this.#writer.write(this.#encoder.encode(text)).catch(() => {});
    return time;
  }

  /** Waits until what was printed, whole, satisfies a condition; throws with its end when it never does. */
  async until(what: string, fulfilled: (printed: string) => boolean): Promise<void> {
    const end = performance.now() + LIMIT_MS;
    const limit = setTimeout(() => this.#waiting?.(), LIMIT_MS);
    try {
      while (!fulfilled(this.printed())) {
        if (this.#over || performance.now() > end) {
          throw new Error(`The chat does not show ${what}; it printed:\n${this.printed().slice(-2000)}`);
        }
        await new Promise<void>((resolve) => this.#waiting = resolve);
      }
    } finally {
      clearTimeout(limit);
    }
  }

  /** Everything printed since a time. */
  printed(since = 0): string {
    return this.chunks.filter(({ time }) => time >= since).map(({ text }) => text).join("");
  }

  /** Changes the size of the terminal, whose program is signalled. */
  async resize({ columns, rows }: Size): Promise<void> {
    const args = ["-F", `/proc/${this.pid()}/fd/0`, "rows", `${rows}`, "cols", `${columns}`];
    const { success } = await new Deno.Command("stty", { args }).output();
    if (!success) throw new Error("The terminal keeps its size");
  }

  /** The process of the program: the only child of `script`, which its shell has become. */
  pid(): number {
    const { pid } = this.#child;
    return Number(Deno.readTextFileSync(`/proc/${pid}/task/${pid}/children`).trim());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      if (!this.#over) Deno.kill(this.pid(), "SIGKILL");
    } catch { /* it has ended */ }
    await this.#ended;
    await this.#writer.close().catch(() => {});
    await this.#child.status;
  }

  async #read(): Promise<void> {
    for await (const text of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      this.chunks.push({ time: performance.now(), text });
      if (text.includes(ATTRIBUTES)) this.send(ANSWER);
      this.#waiting?.();
    }
    this.#over = true;
    this.#waiting?.();
  }
}
