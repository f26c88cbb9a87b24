import { InputDecoder } from "./decoder.ts";
import type { Terminal, TerminalHandlers } from "./terminal.ts";

/** Bracketed paste, and the keyboard protocol that tells more keys apart (1: disambiguate). */
const MODES_ON = "\x1b[?2004h\x1b[>1u";
const MODES_OFF = "\x1b[<u\x1b[?2004l\x1b[?25h";

/** The terminal that the program was started from. */
export class DenoTerminal implements Terminal {
  readonly synchronized = false;
  readonly reflow = "all";
  readonly #encoder = new TextEncoder();
  #size = Deno.consoleSize();
  #stop: (() => void) | undefined;

  get columns(): number {
    return this.#size.columns;
  }

  get rows(): number {
    return this.#size.rows;
  }

  start({ input, resize, ended }: TerminalHandlers): void {
    const decoder = new InputDecoder(input);
    const resized = () => {
      this.#size = Deno.consoleSize();
      resize();
    };
    Deno.stdin.setRaw(true);
    this.write(MODES_ON);
    Deno.addSignalListener("SIGWINCH", resized);
    let open = true;
    this.#stop = () => {
      open = false;
      Deno.removeSignalListener("SIGWINCH", resized);
      this.write(MODES_OFF);
      Deno.stdin.setRaw(false);
    };
    void (async () => {
      const buffer = new Uint8Array(64 * 1024);
      while (open) {
        const count = await Deno.stdin.read(buffer).catch(() => null);
        if (count === null) return open ? ended() : undefined;
        if (open) decoder.push(buffer.subarray(0, count));
      }
    })();
  }

  write(text: string): undefined {
    const bytes = this.#encoder.encode(text);
    for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
  }

  suspend(): Promise<void> {
    this.write(MODES_OFF);
    Deno.stdin.setRaw(false);
    return Promise.resolve();
  }

  resume(): void {
    Deno.stdin.setRaw(true);
    this.write(MODES_ON);
  }

  stop(): Promise<void> {
    this.#stop?.();
    this.#stop = undefined;
    return Promise.resolve();
  }
}
