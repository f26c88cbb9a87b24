import { after } from "../../../util/timer.ts";
import { Capabilities, LEFT_BEHIND_OFF } from "./capabilities.ts";
import { InputDecoder } from "./decoder.ts";
import { TerminalOutput } from "./output.ts";
import { consoleSize, isSame, type Size, SIZE_QUESTION, SizeReports } from "./size_reports.ts";
import type { EndSignal, Terminal, TerminalHandlers } from "./terminal.ts";

/** A terminal that does not answer, or takes nothing, is waited for no longer. */
const ANSWER_MS = 300;
/** Time in which a terminal answers a last question, when the program ends at once. */
const LAST_ANSWER_MS = 100;
/** How long a signal may take until it stops the program. */
const STOP_MS = 50;
const WINDOWS = Deno.build.os === "windows";
/** A signal that comes so soon after another program has ended was sent while that had the terminal. */
const LATE_MS = 500;
/** A text that was written so long before, in ms, may have met the terminal in its new size. */
const ON_ITS_WAY_MS = 20;
/** Characters that a terminal takes in one piece. */
const ONE_PIECE = 2000;
/** A size that a terminal has for so long, in ms, it has probably for longer. */
const SETTLE_MS = 25;
/** Windows tells nobody that a window has another size. */
const SIZE_POLL_MS = 500;
const END_SIGNALS: readonly EndSignal[] = WINDOWS ? ["SIGINT"] : ["SIGINT", "SIGTERM", "SIGHUP"];

/** The terminal that the program was started from. */
export class DenoTerminal implements Terminal {
  readonly #output = new TerminalOutput();
  readonly #reports = new SizeReports();
  /** What it has said of its size, as long as the system may not know that yet. */
  #reported: Size | undefined;
  /** The size that it has just said counts. */
  #isSure = false;
  #asking = false;
  #lastTaken: Terminal["lastTaken"] = "before";
  #written = -Infinity;
  readonly #capabilities: Capabilities;
  #handlers: TerminalHandlers | undefined;
  /** `releasing`: keys are read, but nobody gets them any more. */
  #state: "idle" | "running" | "releasing" | "suspended" = "idle";
  /** Resolves when reading goes on. */
  #pause = Promise.withResolvers<void>();
  /** Resolves when nothing reads any more. */
  #released = Promise.withResolvers<void>();
  #resumed = -Infinity;
  /** Waits for the last of the changes of the size. */
  #resizing: (() => void) | undefined;
  #undo: (() => void)[] = [];

  constructor() {
    const env = (name: string) => Deno.env.get(name);
    this.#capabilities = new Capabilities({
      TERM: env("TERM"),
      TERM_PROGRAM: env("TERM_PROGRAM"),
      TMUX: env("TMUX"),
      STY: env("STY"),
    });
  }

  /** Asked anew each time: what is drawn for a size that the terminal has no more would be cut by it. */
  get columns(): number {
    return this.#size.columns;
  }

  get rows(): number {
    return this.#size.rows;
  }

  get #size(): Size {
    return this.#reported ?? consoleSize();
  }

  get resizing(): boolean {
    return this.#resizing !== undefined && !this.#isSure;
  }

  get settled(): boolean {
    return this.#resizing === undefined;
  }

  get lastTaken(): Terminal["lastTaken"] {
    return this.#lastTaken;
  }

  get synchronized(): boolean {
    return this.#capabilities.synchronized;
  }

  get reflow(): Terminal["reflow"] {
    return this.#capabilities.reflow;
  }

  get background(): Terminal["background"] {
    return this.#capabilities.background;
  }

  start(handlers: TerminalHandlers): void {
    this.#handlers = handlers;
    this.#listen(handlers);
    this.#take();
    void this.#read();
  }

  write(text: string): Promise<void> | undefined {
    this.#written = performance.now();
    if (!this.#reports.known || this.#state !== "running") {
      this.#lastTaken = "before";
      return this.#output.write(text);
    }
    return this.#writeAsking(text, this.#size);
  }

  /** Writes, and asks what size the terminal had when it took that. */
  async #writeAsking(text: string, drawn: Size): Promise<void> {
    this.#lastTaken = "unknown";
    const answer = this.#reports.next();
    await this.#output.write(text + SIZE_QUESTION);
    const size = await answer;
    if (!size) return;
    const same = isSame(size, drawn);
    // Of a long text it may have taken a part before, and the rest afterwards.
    this.#lastTaken = same ? "before" : text.length < ONE_PIECE ? "after" : "unknown";
    if (!same) this.#changed(size);
  }

  askSize(): void {
    if (this.#asking || !this.#reports.known) return;
    this.#asking = true;
    const answer = this.#reports.next();
    this.#output.write(SIZE_QUESTION);
    void answer.then((size) => {
      this.#asking = false;
      if (size === undefined || this.#state !== "running") return;
      if (this.#reported === undefined || !isSame(size, this.#reported)) return this.#changed(size);
      // It is what it was some time ago: a frame for it can be drawn.
      this.#isSure = true;
      this.#handlers?.resize();
      this.#isSure = false;
    });
  }

  /** The terminal has said another size; while a window is being dragged the next one follows at once. */
  #changed(size: Size): void {
    this.#reported = size;
    this.#expectMore();
    this.#asking = true;
    after(SETTLE_MS, () => {
      this.#asking = false;
      if (this.#state === "running") this.askSize();
    });
  }

  /** Other changes may follow, of which nobody has heard yet. */
  #expectMore(): void {
    this.#resizing?.();
    this.#resizing = after(this.#capabilities.resizeMs, () => {
      this.#resizing = this.#reported = undefined;
      if (this.#state === "running") this.#handlers?.resize();
    });
  }

  async suspend(): Promise<void> {
    if (this.#state !== "running") return;
    await this.#release();
  }

  resume(): void {
    if (this.#state !== "suspended") return;
    this.#resumed = performance.now();
    const { resolve: goOn } = this.#pause;
    this.#take(LEFT_BEHIND_OFF);
    goOn();
  }

  async stopJob(): Promise<void> {
    if (WINDOWS) return;
    // The whole job stops, as the shell expects; where no shell could continue it nothing happens.
    Deno.kill(0, "SIGTSTP");
    await new Promise<void>((resolve) => after(STOP_MS, resolve));
  }

  async stop(): Promise<void> {
    if (this.#state === "running") await this.#release();
    this.#state = "idle";
    for (const undo of this.#undo.splice(0)) undo();
  }

  #take(before = ""): void {
    this.#state = "running";
    this.#pause = Promise.withResolvers();
    this.#released = Promise.withResolvers();
    setRaw(true);
    this.#output.writeNow(before + this.#capabilities.on);
  }

  /**
   * Gives the terminal back. A read that is under way would take the first keys of whoever comes next, and
   * what was typed last would reach the shell, so the terminal is asked something: its answer ends the read.
   */
  async #release(): Promise<void> {
    this.#state = "releasing";
    const limit = Promise.withResolvers<void>();
    const cancel = after(ANSWER_MS, limit.resolve);
    this.#output.write(this.#capabilities.off + this.#capabilities.echo);
    await Promise.race([this.#output.drained(), limit.promise]);
    if (this.#capabilities.mayAnswer) await Promise.race([this.#released.promise, limit.promise]);
    this.#capabilities.waitNoLonger();
    cancel();
    // A terminal that takes nothing would hold the program here for ever.
    if (!this.#output.busy) setRaw(false);
    this.#state = "suspended";
  }

  /** The terminal as it was, at once: the program ends without having stopped. */
  #abandon(): void {
    if (this.#state === "idle" || this.#state === "suspended") return;
    this.#state = "suspended";
    this.#output.writeNow(`${this.#capabilities.off}\r\n\x1b[J`);
    // The shell would take an answer that is on its way for keys; the read that is under way takes it now.
    if (this.#reports.waiting) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LAST_ANSWER_MS);
    setRaw(false);
  }

  async #read(): Promise<void> {
    const decoder = new InputDecoder({
      input: (event) => this.#state === "running" && this.#handlers?.input(event),
      reply: (sequence) => {
        if (this.#reports.take(sequence, consoleSize())) return;
        const { background } = this.#capabilities;
        const text = this.#capabilities.reply(sequence);
        if (this.#capabilities.background !== background) this.#handlers?.learnt?.();
        if (text !== "" && this.#state === "running") this.#output.write(text);
      },
    });
    const buffer = new Uint8Array(64 * 1024);
    while (this.#state !== "idle") {
      const count = await Deno.stdin.read(buffer).catch(() => null);
      if (count === null) return this.#state === "running" ? this.#handlers?.ended() : undefined;
      decoder.push(buffer.subarray(0, count));
      if (this.#state === "running" || (this.#state === "releasing" && this.#capabilities.waiting)) continue;
      this.#released.resolve();
      await this.#pause.promise;
    }
  }

  #listen(handlers: TerminalHandlers): void {
    for (const signal of END_SIGNALS) {
      this.#onSignal(signal, () => {
        // Ctrl-C in another program reaches the whole job and means that one; we may hear of it late.
        const isForOther = this.#state === "suspended" || performance.now() - this.#resumed < LATE_MS;
        if (signal === "SIGINT" && isForOther) return;
        handlers.ended(signal);
      });
    }
    const resized = () => this.#state === "running" && handlers.resize();
    if (WINDOWS) {
      let size = consoleSize();
      const timer = setInterval(() => {
        const { columns, rows } = size;
        size = consoleSize();
        if (columns !== size.columns || rows !== size.rows) resized();
      }, SIZE_POLL_MS);
      this.#undo.push(() => clearInterval(timer));
    } else {
      // A window that is being dragged sends many of these.
      this.#onSignal("SIGWINCH", () => {
        if (!this.#reports.known && performance.now() - this.#written < ON_ITS_WAY_MS) {
          this.#lastTaken = "unknown";
        }
        this.#expectMore();
        this.askSize();
      });
      this.#undo.push(() => this.#resizing?.());
      // Stopped from outside and continued: the shell has had the terminal in between.
      this.#onSignal("SIGCONT", () => {
        if (this.#state !== "running") return;
        setRaw(false);
        setRaw(true);
        this.#output.write(this.#capabilities.off + LEFT_BEHIND_OFF + this.#capabilities.on);
        handlers.continued();
      });
    }
    const abandon = () => this.#abandon();
    for (const event of ["error", "unhandledrejection", "unload"]) {
      globalThis.addEventListener(event, abandon);
      this.#undo.push(() => globalThis.removeEventListener(event, abandon));
    }
  }

  #onSignal(signal: Deno.Signal, handler: () => void): void {
    Deno.addSignalListener(signal, handler);
    this.#undo.push(() => Deno.removeSignalListener(signal, handler));
  }
}

function setRaw(raw: boolean): void {
  try {
    Deno.stdin.setRaw(raw);
  } catch { /* no terminal any more */ }
}
