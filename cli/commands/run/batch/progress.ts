import type { Texts } from "../../../../src/i18n/mod.ts";
import { oneLine } from "../../../../src/util/terminal_text.ts";
import { fitDisplay } from "../../../../src/util/display_width.ts";
import type { CliContext } from "../../../terminal/process.ts";
import { displayOf } from "../../../terminal/display.ts";
import type { TaskResult } from "./result.ts";

export interface ProgressOptions {
  readonly all: number;
  /** Tasks that were finished before, and how many of those without success. */
  readonly before: { readonly ended: number; readonly failed: number };
  readonly quiet: boolean;
  readonly texts: Texts["batch"];
}

const BAR = 20;
const TICK_MS = 1000;

/** Where a batch is, on standard error: a bar on a terminal that is written over, and a line for each end. */
export class BatchProgress {
  readonly #context: CliContext;
  readonly #options: ProgressOptions;
  readonly #live: boolean;
  readonly #columns: () => number;
  readonly #running = new Set<string>();
  readonly #started = performance.now();
  #ended: number;
  #failed: number;
  #drawn = false;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(context: CliContext, options: ProgressOptions) {
    const { live, columns } = displayOf(context);
    this.#context = context;
    this.#options = options;
    this.#live = live && !options.quiet;
    this.#columns = columns;
    this.#ended = options.before.ended;
    this.#failed = options.before.failed;
    if (this.#live) this.#timer = setInterval(() => this.#draw(), TICK_MS);
  }

  begin(id: string): void {
    this.#running.add(id);
    this.#draw();
  }

  /** A task is not running any more, and has no result. */
  drop(id: string): void {
    this.#running.delete(id);
  }

  end({ id, ok, reason, error, duration_ms }: TaskResult): void {
    const { texts, all } = this.#options;
    this.#running.delete(id);
    this.#ended += 1;
    if (!ok) this.#failed += 1;
    const how = ok || reason === "done" ? texts.done : texts.reasons[reason];
    const why = error === undefined ? "" : ` (${error})`;
    const seconds = `${(duration_ms / 1000).toFixed(1)} s`;
    this.say(texts.ended(`[${this.#ended}/${all}]`, id, `${how}${why} · ${seconds}`));
  }

  /** Writes a line; the bar stays the last. */
  say(text: string): void {
    if (this.#options.quiet) return;
    this.#erase();
    this.#context.process.stderr.write(`· ${oneLine(text)}\n`);
    this.#draw();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#erase();
  }

  #erase(): void {
    if (!this.#drawn) return;
    this.#drawn = false;
    write("\r\x1b[2K");
  }

  #draw(): void {
    if (!this.#live) return;
    const { texts, all } = this.#options;
    const filled = Math.round(BAR * this.#ended / all);
    const seconds = Math.floor((performance.now() - this.#started) / 1000);
    const counts = texts.bar(this.#ended, all, this.#failed, this.#running.size);
    const names = [...this.#running].map((id) => oneLine(id)).join(", ");
    const line = `${"█".repeat(filled)}${"░".repeat(BAR - filled)} ${counts} · ${seconds} s · ${names}`;
    write(`\r\x1b[2K${fitDisplay(line, this.#columns() - 1)}`);
    this.#drawn = true;
  }
}

/** Writes as it is: what a command says is broken between words, which a bar is not. */
function write(text: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(text));
}
