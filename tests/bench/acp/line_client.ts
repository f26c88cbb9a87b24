/** An editor with as little work per line as possible, so that it does not show in the figures. */
import { isRecord } from "../../../src/util/json.ts";

export interface Line {
  /** When it was read, in milliseconds of `performance.now`. */
  readonly time: number;
  readonly text: string;
}

export interface LineOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** No answer takes this long. */
const ANSWER_LIMIT_MS = 60_000;

const encoder = new TextEncoder();

/** A program on whose streams each line is a message. Permission is given, other requests are refused. */
export class LineClient implements AsyncDisposable {
  readonly started = performance.now();
  readonly pid: number;
  readonly lines: Line[] = [];
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #ended: Promise<unknown>;
  readonly #waiting = new Map<number, (line: Line) => void>();
  #watch: ((text: string) => void) | undefined;
  #id = 0;
  #errors = "";

  constructor({ command, args, cwd, env }: LineOptions) {
    const pipes = { stdin: "piped", stdout: "piped", stderr: "piped" } as const;
    this.#child = new Deno.Command(command, { args: [...args], cwd, env, clearEnv: true, ...pipes }).spawn();
    this.pid = this.#child.pid;
    this.#input = this.#child.stdin.getWriter();
    this.#ended = Promise.all([this.#read(), this.#readErrors(), this.#child.status]);
  }

  /** Sends a request and returns when it was sent and the line of its answer. Throws if that is an error. */
  async request(method: string, params: unknown): Promise<{ readonly sent: number; readonly answer: Line }> {
    const id = ++this.#id;
    const answered = new Promise<Line>((resolve) => this.#waiting.set(id, resolve));
    const sent = performance.now();
    await this.#send({ jsonrpc: "2.0", id, method, params });
    const limit = Promise.withResolvers<void>();
    const timer = setTimeout(limit.resolve, ANSWER_LIMIT_MS);
    const answer = await Promise.race([answered, limit.promise, this.#ended.then(() => undefined)]);
    clearTimeout(timer);
    if (!answer || answer.text.includes('"error"') && JSON.parse(answer.text).error) {
      throw new Error(`${method} failed: ${answer?.text ?? "no answer"}\n${this.#errors.slice(-2000)}`);
    }
    return { sent, answer };
  }

  /** Calls a function when a line passes, and returns its value. Lines that have passed do not count. */
  async line<T>(passes: (text: string) => boolean, read: () => T): Promise<T> {
    const found = Promise.withResolvers<T>();
    this.#watch = (text) => {
      if (!passes(text)) return;
      this.#watch = undefined;
      found.resolve(read());
    };
    const ended = this.#ended.then(() => {
      throw new Error(`A line did not come; the program has ended: ${this.#errors.slice(-2000)}`);
    });
    return await Promise.race([found.promise, ended]);
  }

  /** Sends no more. */
  async end(): Promise<void> {
    await this.#input.close().catch(() => {});
  }

  async #send(message: unknown): Promise<void> {
    await this.#input.write(encoder.encode(`${JSON.stringify(message)}\n`));
  }

  async #read(): Promise<void> {
    let rest = "";
    for await (const text of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      const time = performance.now();
      const parts = (rest + text).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) this.#take({ time, text: part });
    }
  }

  #take(line: Line): void {
    this.lines.push(line);
    this.#watch?.(line.text);
    // Notifications, which are most lines, are not parsed.
    if (line.text.startsWith('{"jsonrpc":"2.0","method":"session/update"')) return;
    const { id, method } = JSON.parse(line.text);
    if (typeof id !== "number") return;
    if (method === undefined) return this.#waiting.get(id)?.(line);
    void this.#send({ jsonrpc: "2.0", id, error: { code: -32601, message: "There is no such method" } });
  }

  async #readErrors(): Promise<void> {
    for await (const text of this.#child.stderr.pipeThrough(new TextDecoderStream())) this.#errors += text;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
    await this.#ended;
  }
}

/** The result of an answer. */
export function resultOf({ text }: Line): Record<string, unknown> {
  const { result } = JSON.parse(text);
  return isRecord(result) ? result : {};
}
