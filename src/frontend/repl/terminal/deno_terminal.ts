import { InputDecoder } from "./decoder.ts";
import type { EndSignal, Terminal, TerminalHandlers } from "./terminal.ts";
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

/** Asks how large the text area is, in characters. */
const SIZE_QUESTION = "\x1b[18t";
// deno-lint-ignore no-control-regex
const REPORT = /^\x1b\[8;(\d+);(\d+)t$/;
/** A terminal that has answered before and does not now is not waited for any longer. */
const SIZE_ANSWER_MS = 200;

interface Size {
  readonly columns: number;
  readonly rows: number;
}

/**
 * What a terminal itself says of its size. tmux changes the size of what it shows at once, and that of the
 * terminal that programs ask the system for up to 250 ms later; what it answers is true at that place of the
 * output.
 */
export class SizeReports {
  /** In which order it names rows and columns: some versions of tmux have it the wrong way round. */
  #order: "rows-first" | "columns-first" | undefined;
  readonly #waiting: ((size: Size | undefined) => void)[] = [];

  /** It has not answered in time: it is asked no more until it has, or it would answer the next program. */
  #late = false;

  /** It has answered, and is worth asking. */
  get known(): boolean {
    return this.#order !== undefined && !this.#late;
  }

  /** An answer is on its way. */
  get waiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** The answer to a question that is being written now; undefined when none comes. */
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

  /** Takes an answer, the first while the terminal has size `now`; false when the sequence is no answer. */
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

/** The size of the terminal as the system knows it; a usual one where it is gone or says nothing. */
function consoleSize(): Size {
  try {
    const { columns, rows } = Deno.consoleSize();
    if (columns > 0 && rows > 0) return { columns, rows };
  } catch { /* no terminal any more */ }
  return { columns: 80, rows: 24 };
}

/** Bracketed paste; no wrapping at the right edge, since a line of ours takes one row by itself. */
const MODES_ON = "\x1b[?2004h\x1b[?7l";
const MODES_OFF = "\x1b[?7h\x1b[?2004l\x1b[?25h";
/**
 * What another program may have left on, switched off: its screen, where the cursor goes back to where it was
 * before (the one that is saved first, where there is no such screen), a part of the rows that scrolls,
 * colours, line drawing, inserting, keys of applications, and reports of mouse and focus.
 */
const LEFT_BEHIND_OFF = "\x1b7\x1b[?1049l\x1b7\x1b[r\x1b8\x1b[m\x0f\x1b(B\x1b[4l\x1b[?1l\x1b>" +
  [1000, 1002, 1003, 1004, 1005, 1006, 1015].map((mode) => `\x1b[?${mode}l`).join("");
/** Kitty's keyboard protocol: keys are told apart (1), with their place on a Latin keyboard (4). */
const KITTY_ON = "\x1b[>5u";
const KITTY_OFF = "\x1b[<u";
/** The older way of xterm and tmux to tell modified keys apart. */
const OTHER_KEYS_ON = "\x1b[>4;1m";
const OTHER_KEYS_OFF = "\x1b[>4;0m";
/** Primary device attributes: every terminal answers this, after what was asked before it. */
const ATTRIBUTES = "\x1b[c";
const QUESTIONS = `\x1b[?u\x1b[?2026$p\x1b[>0q\x1b]11;?\x1b\\${ATTRIBUTES}`;

const RESIZE_MS = 30;
/** tmux announces the first of several changes at once, the others together 250 ms later. */
const TMUX_RESIZE_MS = 280;
/** A terminal that has not answered the first questions after so long never will. */
const SILENT_MS = 1000;

/** The settings of the environment that tell which terminal this is. */
interface TerminalEnvironment {
  readonly TERM?: string | undefined;
  readonly TERM_PROGRAM?: string | undefined;
  /** Set inside of tmux. */
  readonly TMUX?: string | undefined;
  /** Set inside of GNU screen. */
  readonly STY?: string | undefined;
}

/**
 * What a terminal can do, learnt from its answers. Nothing waits for them: until they come the terminal is
 * taken for one that can do little.
 */
export class Capabilities {
  synchronized = false;
  /** After so long, in ms, a change of the size that was announced is the last. */
  readonly resizeMs: number;
  reflow: Terminal["reflow"] = "all";
  /** What it says of its background colour (OSC 11). */
  background: Terminal["background"];
  #keyboard: "unknown" | "kitty" | "other-keys" | "plain" = "unknown";
  /** Terminals that print a part of a question that they do not know are asked nothing. */
  readonly #mayAsk: boolean;
  readonly #inTmux: boolean;
  #open = 0;
  #answers = false;
  #asked = 0;

  constructor({ TERM = "", TERM_PROGRAM, TMUX, STY }: TerminalEnvironment) {
    this.#inTmux = !!TMUX;
    this.resizeMs = TMUX ? TMUX_RESIZE_MS : RESIZE_MS;
    this.#mayAsk = !/^(?:linux|dumb|vt\d)/.test(TERM) && TERM_PROGRAM !== "Apple_Terminal";
    if (STY || /^(?:linux|st\b|vt\d)/.test(TERM)) this.reflow = "none";
    if (TERM_PROGRAM === "vscode") this.reflow = "other-lines";
  }

  /** It has answered already, or had no time for it: an answer is worth waiting for. */
  get mayAnswer(): boolean {
    return this.#answers || (this.#mayAsk && performance.now() - this.#asked < SILENT_MS);
  }

  /** Questions whose answer has not come. */
  get waiting(): boolean {
    return this.#open > 0;
  }

  /** Text that puts the terminal into our modes; with questions the first time. */
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

  /** Text that makes the terminal send something, once it has done everything before. */
  get echo(): string {
    if (!this.#mayAsk) return "";
    this.#open++;
    return ATTRIBUTES;
  }

  /** Answers that have not come are not expected any more. */
  waitNoLonger(): void {
    this.#open = 0;
  }

  /** Takes an answer; the text to send now, if any. */
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

/** Whether a colour as X11 writes it (`rgb:ffff/ffff/ffff`) is light; undefined where it is none. */
function backgroundOf(sequence: string): Terminal["background"] {
  const parts = /rgba?:([0-9a-f]{1,4})\/([0-9a-f]{1,4})\/([0-9a-f]{1,4})/i.exec(sequence)?.slice(1);
  if (!parts) return undefined;
  const [red = 0, green = 0, blue = 0] = parts.map((part) => parseInt(part, 16) / (16 ** part.length - 1));
  return 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 ? "light" : "dark";
}

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
