import { createRedactor } from "../util/redact.ts";
import { terminalSafe } from "../util/terminal_text.ts";

/** Bytes of a log; then a new one begins, and the one before is kept. */
const MAX_BYTES = 1024 * 1024;
const LAST_LINES = 20;
const MAX_LINE = 2_000;

/** Servers print what they were given; tokens of sign-ins and what has their form stays out. */
const redact = createRedactor([]);

/**
 * The log of a server, with its output outside of the protocol: `<home>/logs/mcp/<server>.log`, at most twice
 * 1 MB. The last lines are kept for messages.
 */
export class ServerLog {
  readonly path: string;
  #last: string[] = [];
  #size: number | undefined;
  #closed = false;

  constructor(home: string, server: string) {
    this.path = `${home}/logs/mcp/${server.replace(/[^A-Za-z0-9._-]/g, "_").slice(0, 100)}.log`;
  }

  get last(): readonly string[] {
    return this.#last;
  }

  /** Adds output lines in one write: a server may print without end. */
  output(lines: readonly string[]): void {
    const safe = lines.map((line) => terminalSafe(line.slice(0, MAX_LINE)).trimEnd());
    const shown = redact(safe.filter((line) => line !== "").join("\n"));
    if (shown === "") return;
    this.#last = [...this.#last, ...shown.split("\n")].slice(-LAST_LINES);
    this.#append(shown);
  }

  note(text: string): void {
    this.#append(`[${new Date().toISOString()}] ${redact(terminalSafe(text))}`);
  }

  /** Stops writing: streams that end late must not write into a removed home. */
  close(): void {
    this.#closed = true;
  }

  #append(line: string): void {
    if (this.#closed) return;
    try {
      const bytes = new TextEncoder().encode(`${line}\n`);
      if (this.#size === undefined) {
        Deno.mkdirSync(this.path.slice(0, this.path.lastIndexOf("/")), { recursive: true, mode: 0o700 });
        Deno.openSync(this.path, { append: true, create: true, mode: 0o600 }).close();
        this.#size = Deno.statSync(this.path).size;
      }
      if (this.#size + bytes.length > MAX_BYTES) {
        Deno.renameSync(this.path, `${this.path}.1`);
        this.#size = 0;
      }
      Deno.writeFileSync(this.path, bytes, { append: true, mode: 0o600 });
      this.#size += bytes.length;
    } catch {
      // A log that cannot be written must not end a call.
    }
  }
}
