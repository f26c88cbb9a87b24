import { InputDecoder } from "./decoder.ts";
import type { EndSignal, Terminal, TerminalHandlers } from "./terminal.ts";
import { after } from "../../../util/timer.ts";

/** Time until a write that found no space is tried again. */
const RETRY_MS = 5;

/**
 * Standard output to a terminal that may be slow: a stalled connection blocks neither the agent nor the
 * keyboard. Measured: a blocking write in its own thread costs 0.02 ms more than one that blocks the
 * program.
 */
export class TerminalOutput {
  readonly #encoder = new TextEncoder();
  #first = true;
  #writing: Promise<void> | undefined;

  get busy(): boolean {
    return this.#writing !== undefined;
  }

  /**
   * Writes after earlier texts. Undefined when it is done; the promise never rejects: output to a closed
   * terminal is dropped.
   */
  write(text: string): Promise<void> | undefined {
    let bytes = this.#encoder.encode(text);
    if (this.#first) {
      // The first frame is written without the thread, whose start takes some milliseconds.
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

  /** Writes synchronously, for the end of the program. */
  writeNow(text: string): void {
    this.#now(this.#encoder.encode(text));
  }

  async drained(): Promise<void> {
    while (this.#writing) await this.#writing;
  }

  /** Returns the number of bytes that the terminal has accepted. */
  #now(bytes: Uint8Array): number {
    let at = 0;
    try {
      while (at < bytes.length) at += Deno.stdout.writeSync(bytes.subarray(at));
    } catch { /* the terminal is gone, or has no space */ }
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
 * Another program on the same terminal may have made its writes nonblocking, and a signal may interrupt
 * them: the rest is written again.
 */
function isPassing(error: unknown): boolean {
  return error instanceof Deno.errors.WouldBlock || error instanceof Deno.errors.Interrupted;
}

/** Asks how large the text area is, in characters. */
const SIZE_QUESTION = "\x1b[18t";
// deno-lint-ignore no-control-regex
const REPORT = /^\x1b\[8;(\d+);(\d+)t$/;
/** Maximum wait for an answer from a terminal that has answered before. */
const SIZE_ANSWER_MS = 200;

interface Size {
  readonly columns: number;
  readonly rows: number;
}

/**
 * Sizes that the terminal itself reports. tmux changes the size of what it shows at once, and that of the
 * terminal that programs ask the system for up to 250 ms later; its answer is true at that point of the
 * output.
 */
export class SizeReports {
  /** The order of rows and columns: some versions of tmux swap them. */
  #order: "rows-first" | "columns-first" | undefined;
  readonly #waiting: ((size: Size | undefined) => void)[] = [];

  /** The last answer is late: no more questions until it comes, or the next program would get it. */
  #late = false;

  /** It has answered in time before. */
  get known(): boolean {
    return this.#order !== undefined && !this.#late;
  }

  get waiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** The answer to the question that is written now; undefined when none comes. */
  next(): Promise<Size | undefined> {
    const { promise, resolve } = Promise.withResolvers<Size | undefined>();
    const cancel = after(SIZE_ANSWER_MS, () => {
      this.#late = true;
      resolve(undefined);
    });
    this.#waiting.push((size) => {
      cancel();
      resolve(size);
    });
    return promise;
  }

  /** Takes an answer while the terminal has size `now`; false for other sequences. */
  take(sequence: string, now: Size): boolean {
    const match = REPORT.exec(sequence);
    if (!match) return false;
    const [first, second] = [Number(match[1]), Number(match[2])];
    // Equal numbers say nothing of their order.
    if (first !== second && first === now.rows && second === now.columns) this.#order ??= "rows-first";
    if (first !== second && first === now.columns && second === now.rows) this.#order ??= "columns-first";
    const size = this.#order === "columns-first"
      ? { columns: first, rows: second }
      : { columns: second, rows: first };
    this.#waiting.shift()?.(size);
    this.#late = this.#waiting.length > 0 && this.#late;
    return true;
  }
}

function isSame(one: Size, other: Size): boolean {
  return one.columns === other.columns && one.rows === other.rows;
}

/** The size of the terminal according to the system; 80 × 24 where it is unknown. */
function consoleSize(): Size {
  try {
    const { columns, rows } = Deno.consoleSize();
    if (columns > 0 && rows > 0) return { columns, rows };
  } catch { /* no terminal any more */ }
  return { columns: 80, rows: 24 };
}

/** Bracketed paste on; wrapping at the right edge off, since each line takes one row. */
const MODES_ON = "\x1b[?2004h\x1b[?7l";
const MODES_OFF = "\x1b[?7h\x1b[?2004l\x1b[?25h";
/**
 * Resets what another program may have left on: the alternate screen (with the cursor saved first, where
 * there is no such screen), a scroll region, colors, line drawing, insert mode, application keys, and
 * reports of mouse and focus.
 */
const LEFT_BEHIND_OFF = "\x1b7\x1b[?1049l\x1b7\x1b[r\x1b8\x1b[m\x0f\x1b(B\x1b[4l\x1b[?1l\x1b>" +
  [1000, 1002, 1003, 1004, 1005, 1006, 1015].map((mode) => `\x1b[?${mode}l`).join("");
/** tmux sets the cursor to where the last alternate screen began, even without one: one begins here first. */
const TMUX_LEFT_BEHIND_OFF = `\x1b[?1049h${LEFT_BEHIND_OFF}`;
/** Kitty's keyboard protocol: disambiguated keys (1), with their position on a Latin keyboard (4). */
const KITTY_ON = "\x1b[>5u";
const KITTY_OFF = "\x1b[<u";
/** modifyOtherKeys of xterm and tmux. */
const OTHER_KEYS_ON = "\x1b[>4;1m";
const OTHER_KEYS_OFF = "\x1b[>4;0m";
/** The alternate screen, where the wheel sends arrows; what it did before is saved. */
const ALTERNATE_ON = "\x1b[?1049h\x1b[?1007s\x1b[?1007h";
const ALTERNATE_OFF = "\x1b[?1007r\x1b[?1049l";
/** Reports of pressed buttons, with numbers of any size. */
const MOUSE_ON = "\x1b[?1000h\x1b[?1006h";
const MOUSE_OFF = "\x1b[?1006l\x1b[?1000l";
/** Primary device attributes: every terminal answers this, after earlier questions. */
const ATTRIBUTES = "\x1b[c";
const QUESTIONS = `\x1b[?u\x1b[?2026$p\x1b[>0q\x1b]11;?\x1b\\${ATTRIBUTES}`;

const RESIZE_MS = 30;
/** tmux announces the first of several changes at once, the others together 250 ms later. */
const TMUX_RESIZE_MS = 280;
/** After this time a terminal will not answer the first questions. */
const SILENT_MS = 1000;

/** Environment variables that identify the terminal. */
interface TerminalEnvironment {
  readonly TERM?: string | undefined;
  readonly TERM_PROGRAM?: string | undefined;
  readonly TMUX?: string | undefined;
  readonly STY?: string | undefined;
}

/**
 * Capabilities of a terminal, learned from its answers. Nothing waits for them: until they come the terminal
 * counts as one with few.
 */
export class Capabilities {
  synchronized = false;
  /** Time in ms after which an announced change of the size is the last. */
  readonly resizeMs: number;
  /** Resets what another program may have left on. */
  readonly leftBehindOff: string;
  reflow: Terminal["reflow"] = "all";
  /** The background color that it reports (OSC 11). */
  background: Terminal["background"];
  #keyboard: "unknown" | "kitty" | "other-keys" | "plain" = "unknown";
  /** False for terminals that print parts of unknown questions. */
  readonly #mayAsk: boolean;
  readonly #inTmux: boolean;
  #open = 0;
  #answers = false;
  #asked = 0;

  constructor({ TERM = "", TERM_PROGRAM, TMUX, STY }: TerminalEnvironment) {
    this.#inTmux = !!TMUX;
    this.leftBehindOff = TMUX ? TMUX_LEFT_BEHIND_OFF : LEFT_BEHIND_OFF;
    this.resizeMs = TMUX ? TMUX_RESIZE_MS : RESIZE_MS;
    this.#mayAsk = !/^(?:linux|dumb|vt\d)/.test(TERM) && TERM_PROGRAM !== "Apple_Terminal";
    if (STY || /^(?:linux|st\b|vt\d)/.test(TERM)) this.reflow = "none";
    if (TERM_PROGRAM === "vscode") this.reflow = "other-lines";
  }

  /** It has answered before, or its time is not over. */
  get mayAnswer(): boolean {
    return this.#answers || (this.#mayAsk && performance.now() - this.#asked < SILENT_MS);
  }

  /** Some questions have no answer yet. */
  get waiting(): boolean {
    return this.#open > 0;
  }

  /** Text that sets the modes of the terminal; with questions the first time. */
  get on(): string {
    if (this.#keyboard !== "unknown") return MODES_ON + this.#keys(KITTY_ON, OTHER_KEYS_ON);
    if (!this.#mayAsk) return MODES_ON;
    this.#open++;
    this.#asked = performance.now();
    return MODES_ON + KITTY_ON + (this.#inTmux ? SIZE_QUESTION : "") + QUESTIONS;
  }

  get off(): string {
    return this.#keys(KITTY_OFF, OTHER_KEYS_OFF) + MODES_OFF;
  }

  /** Texts that enter and leave the alternate screen; kitty has keyboard modes for each screen. */
  alternate(mouse: boolean): { readonly enter: string; readonly leave: string } {
    return {
      enter: ALTERNATE_ON + this.#keys(KITTY_ON, "") + (mouse ? MOUSE_ON : ""),
      leave: (mouse ? MOUSE_OFF : "") + this.#keys(KITTY_OFF, "") + ALTERNATE_OFF,
    };
  }

  /** Text that makes the terminal answer once it has processed everything before. */
  get echo(): string {
    if (!this.#mayAsk) return "";
    this.#open++;
    return ATTRIBUTES;
  }

  /** Stops expecting answers. */
  waitNoLonger(): void {
    this.#open = 0;
  }

  /** Takes an answer; returns the text to send now, if any. */
  reply(sequence: string): string {
    // deno-lint-ignore no-control-regex
    const version = /^\x1bP>\|([^\x1b]*)/.exec(sequence)?.[1];
    if (/\[\?\d+u$/.test(sequence)) this.#keyboard = "kitty";
    else if (/\[\?2026;[123]\$y$/.test(sequence)) this.synchronized = true;
    else if (sequence.startsWith("\x1b]11;")) this.background = backgroundOf(sequence);
    else if (version?.startsWith("XTerm(")) this.reflow = "none";
    else if (version?.startsWith("xterm.js")) this.reflow = "other-lines";
    else if (/\[\?[\d;]*c$/.test(sequence)) {
      this.#open = Math.max(0, this.#open - 1);
      this.#answers = true;
      if (this.#keyboard === "unknown") {
        this.#keyboard = "other-keys";
        return OTHER_KEYS_ON;
      }
    }
    return "";
  }

  #keys(kitty: string, otherKeys: string): string {
    if (!this.#mayAsk) return "";
    return this.#keyboard === "other-keys" ? otherKeys : kitty;
  }
}

/** The brightness of a color in X11 form (`rgb:ffff/ffff/ffff`); undefined for other text. */
function backgroundOf(sequence: string): Terminal["background"] {
  const parts = /rgba?:([0-9a-f]{1,4})\/([0-9a-f]{1,4})\/([0-9a-f]{1,4})/i.exec(sequence)?.slice(1);
  if (!parts) return undefined;
  const [red = 0, green = 0, blue = 0] = parts.map((part) => parseInt(part, 16) / (16 ** part.length - 1));
  return 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 ? "light" : "dark";
}

/** Maximum wait for a terminal that does not answer or accept output. */
const ANSWER_MS = 300;
/** Wait for pending answers when the program ends at once. */
const LAST_ANSWER_MS = 100;
/** Time until a signal has stopped the program. */
const STOP_MS = 50;
const WINDOWS = Deno.build.os === "windows";
/** A signal this soon after another program has ended was meant for that program. */
const LATE_MS = 500;
/** Text written this recently, in ms, may have reached the terminal in its new size. */
const ON_ITS_WAY_MS = 20;
/** Characters that a terminal accepts in one piece. */
const ONE_PIECE = 2000;
/** Time in ms after which a size is probably stable. */
const SETTLE_MS = 25;
/** Windows has no signal for a changed size. */
const SIZE_POLL_MS = 500;
const END_SIGNALS: readonly EndSignal[] = WINDOWS ? ["SIGINT"] : ["SIGINT", "SIGTERM", "SIGHUP"];

export class DenoTerminal implements Terminal {
  readonly #output = new TerminalOutput();
  readonly #reports = new SizeReports();
  /** The reported size, as long as the system may not know it yet. */
  #reported: Size | undefined;
  /** The reported size was just confirmed. */
  #isSure = false;
  #asking = false;
  #lastTaken: Terminal["lastTaken"] = "before";
  #written = -Infinity;
  readonly #capabilities: Capabilities;
  #handlers: TerminalHandlers | undefined;
  abandoned: Terminal["abandoned"];
  /** `releasing`: keys are read and dropped. */
  #state: "idle" | "running" | "releasing" | "suspended" = "idle";
  /** Resolves when reading resumes. */
  #pause = Promise.withResolvers<void>();
  /** Resolves when reading has stopped. */
  #released = Promise.withResolvers<void>();
  #resumed = -Infinity;
  /** Cancels the wait for the last change of the size. */
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

  /** Read each time: rows drawn for an old size would be cut. */
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

  alternate(mouse: boolean): { readonly enter: string; readonly leave: string } {
    return this.#capabilities.alternate(mouse);
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

  /** Writes, and asks for the size that the terminal had when it processed the text. */
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
      // It has not changed for some time: a frame for it can be drawn.
      this.#isSure = true;
      this.#handlers?.resize();
      this.#isSure = false;
    });
  }

  /** The terminal has reported another size; while a window is dragged, more follow. */
  #changed(size: Size): void {
    this.#reported = size;
    this.#awaitChanges();
    this.#asking = true;
    after(SETTLE_MS, () => {
      this.#asking = false;
      if (this.#state === "running") this.askSize();
    });
  }

  /** Further changes may follow. */
  #awaitChanges(): void {
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
    const { resolve: resumeReading } = this.#pause;
    this.#take(this.#capabilities.leftBehindOff);
    resumeReading();
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
   * Restores the terminal. A pending read would take the first keys for the next program, and late answers
   * would reach the shell, so the terminal is asked a question: its answer ends the read.
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
    // A terminal that accepts no output would block the program here forever.
    if (!this.#output.busy) setRaw(false);
    this.#state = "suspended";
  }

  /** Restores the terminal at once: the program ends without `stop`. */
  #abandon(): void {
    if (this.#state === "idle" || this.#state === "suspended") return;
    this.#state = "suspended";
    this.#output.writeNow(`${this.abandoned?.() ?? "\r\n\x1b[J"}${this.#capabilities.off}`);
    // The shell would take a late answer for keys; the pending read takes it now.
    if (this.#reports.waiting) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LAST_ANSWER_MS);
    setRaw(false);
  }

  async #read(): Promise<void> {
    const decoder = new InputDecoder({
      input: (event) => this.#state === "running" && this.#handlers?.input(event),
      clicked: (row, column) => this.#state === "running" && this.#handlers?.clicked?.(row, column),
      reply: (sequence) => {
        if (this.#reports.take(sequence, consoleSize())) return;
        const { background } = this.#capabilities;
        const text = this.#capabilities.reply(sequence);
        if (this.#capabilities.background !== background) this.#handlers?.learned?.();
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
        // Ctrl-C in another program reaches the whole job but is meant for that one; it may arrive late.
        const isForOther = this.#state === "suspended" || performance.now() - this.#resumed < LATE_MS;
        if (signal === "SIGINT" && isForOther) return;
        handlers.ended(signal);
      });
    }
    const resized = () => this.#state === "running" && handlers.resize();
    if (WINDOWS) {
      let size = consoleSize();
      const timer = setInterval(() => {
        const before = size;
        size = consoleSize();
        if (!isSame(before, size)) resized();
      }, SIZE_POLL_MS);
      this.#undo.push(() => clearInterval(timer));
    } else {
      // A window that is being dragged sends many of these.
      this.#onSignal("SIGWINCH", () => {
        if (!this.#reports.known && performance.now() - this.#written < ON_ITS_WAY_MS) {
          this.#lastTaken = "unknown";
        }
        this.#awaitChanges();
        this.askSize();
      });
      this.#undo.push(() => this.#resizing?.());
      // Stopped from outside and continued: the shell has used the terminal.
      this.#onSignal("SIGCONT", () => {
        if (this.#state !== "running") return;
        setRaw(false);
        setRaw(true);
        this.#output.write(this.#capabilities.off + this.#capabilities.leftBehindOff + this.#capabilities.on);
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
