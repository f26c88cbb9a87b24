/** A headless xterm, for tests of terminal output. */
import graphemes from "@xterm/addon-unicode-graphemes";
import xterm from "@xterm/headless";
import { InputDecoder } from "../../src/frontend/repl/terminal/decoder.ts";
import { Capabilities } from "../../src/frontend/repl/terminal/deno_terminal.ts";
import type { EndSignal, Terminal, TerminalHandlers } from "../../src/frontend/repl/terminal/terminal.ts";

export interface VirtualTerminalOptions {
  readonly columns?: number;
  readonly rows?: number;
  /** Lines that have left the screen and are kept. */
  readonly scrollback?: number;
  /** Lines are wrapped again when the width changes (xterm, tmux) or are cut (the console of old Windows). */
  readonly reflow?: boolean;
  /** Emoji and marks joined into one cell (modern terminals), or each character separately. */
  readonly graphemes?: boolean;
  /** Reports support of synchronized output (mode 2026). */
  readonly synchronized?: boolean;
}

/** Sequences that a program must never send, since they destroy the user's scrollback. */
// deno-lint-ignore no-control-regex
const DESTRUCTIVE = /\x1b\[[123]J|\x1bc|\x1b\[\?(?:47|1047|1049)h/;

export class VirtualTerminal implements Terminal {
  readonly resizing = false;
  settled = true;
  lastTaken: Terminal["lastTaken"] = "before";
  readonly synchronized: boolean;
  readonly reflow: Terminal["reflow"];
  abandoned: Terminal["abandoned"];
  /** Everything written so far, a string per write. */
  readonly writes: string[] = [];
  /** `running` between start and stop, `suspended` while another program has the terminal. */
  state: "idle" | "running" | "suspended" = "idle";
  /** Number of times that the program was stopped by Ctrl-Z. */
  stops = 0;
  /** Writes that cleared the whole screen, from its first cell on. */
  readonly #clears: string[] = [];
  readonly #xterm: InstanceType<typeof xterm.Terminal>;
  readonly #encoder = new TextEncoder();
  #handlers: TerminalHandlers | undefined;
  #decoder: InputDecoder | undefined;
  #held: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  constructor(options: VirtualTerminalOptions = {}) {
    const { columns = 80, rows = 24, scrollback = 100_000, reflow = true } = options;
    this.reflow = reflow ? "other-lines" : "none";
    this.synchronized = options.synchronized ?? false;
    this.#xterm = new xterm.Terminal({
      cols: columns,
      rows,
      scrollback,
      allowProposedApi: true,
      logLevel: "off",
      ...(reflow ? {} : { windowsPty: { backend: "winpty", buildNumber: 1 } }),
    });
    // tmux saves the screen in its history then.
    this.#xterm.parser.registerCsiHandler({ final: "J" }, () => {
      const { row, column } = this.caret;
      if (row === 0 && column === 0) this.#clears.push(this.writes.at(-1) ?? "");
      return false;
    });
    if (options.graphemes ?? true) this.#xterm.loadAddon(new graphemes.UnicodeGraphemesAddon());
  }

  get columns(): number {
    return this.#xterm.cols;
  }

  get rows(): number {
    return this.#xterm.rows;
  }

  start(handlers: TerminalHandlers): void {
    this.#handlers = handlers;
    this.#decoder = new InputDecoder(handlers);
    this.state = "running";
  }

  /** Shows the text at once; the promise comes only between `hold` and `release`. */
  write(text: string): Promise<void> | undefined {
    this.writes.push(text);
    // The public `write` parses later; tests look at the screen right after a write.
    (this.#xterm as unknown as { _core: { writeSync(text: string): void } })._core.writeSync(text);
    return this.#held?.promise;
  }

  askSize(): void {}

  alternate(mouse: boolean): { readonly enter: string; readonly leave: string } {
    return new Capabilities({}).alternate(mouse);
  }

  suspend(): Promise<void> {
    this.state = "suspended";
    return Promise.resolve();
  }

  resume(): void {
    this.state = "running";
  }

  stopJob(): Promise<void> {
    this.stops++;
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.state = "idle";
    return Promise.resolve();
  }

  /** Presses keys by their names: `ctrl+c`, `shift+enter`, `up`, `a`. */
  press(...keys: string[]): void {
    for (const key of keys) {
      const text = key === "space" ? " " : [...key].length === 1 ? key : undefined;
      this.#handlers?.input({ kind: "key", key, ...(text === undefined ? {} : { text }) });
    }
  }

  /** Types a text, character by character, as a keyboard sends it. */
  type(text: string): void {
    this.feed(text);
  }

  paste(text: string): void {
    this.#handlers?.input({ kind: "paste", text });
  }

  /** Bytes as the terminal sends them: escape sequences, pastes with their marks. */
  feed(bytes: string): void {
    this.#decoder?.push(this.#encoder.encode(bytes));
  }

  /** The terminal is closed, or a signal asks the program to end. */
  hangUp(signal?: EndSignal): void {
    this.#handlers?.ended(signal);
  }

  resize(columns: number, rows: number): void {
    this.#xterm.resize(columns, rows);
    this.#handlers?.resize();
  }

  /** The terminal accepts no text from now on: writes stay pending until `release`. */
  hold(): void {
    this.#held ??= Promise.withResolvers<void>();
  }

  async release(): Promise<void> {
    const held = this.#held;
    this.#held = undefined;
    held?.resolve();
    await held?.promise;
    await Promise.resolve();
  }

  /** The rows of the screen, without blanks at their ends. */
  screen(): string[] {
    const { baseY } = this.#xterm.buffer.active;
    return this.#lines(baseY, baseY + this.rows);
  }

  /** The rows of the screen with the looks of each character; equal rows look the same. */
  looks(): string[] {
    return this.#cells().map((row) =>
      row.map(({ text, look }) => `${text}${look === "" ? "" : `<${look}>`}`).join("")
    );
  }

  /** The characters of each row by cells; the second cell of a wide one is empty. */
  cells(): string[][] {
    const { active } = this.#xterm.buffer;
    return Array.from({ length: this.rows }, (_, row) => {
      const line = active.getLine(active.baseY + row);
      return Array.from({ length: this.columns }, (_, column) => textOf(line?.getCell(column)));
    });
  }

  /** The rows of the screen, each change of the look as `{…}`: what it is, foreground, background. */
  styled(): string[] {
    return this.#cells().map((row) => {
      let now = "";
      const line = row.map(({ text, look }) => {
        const change = look === now ? "" : `{${look}}`;
        now = look;
        return change + text;
      }).join("");
      return now === "" ? line.trimEnd() : `${line}{}`;
    });
  }

  #cells(): { readonly text: string; readonly look: string }[][] {
    const { active } = this.#xterm.buffer;
    return Array.from({ length: this.rows }, (_, row) => {
      const line = active.getLine(active.baseY + row);
      return Array.from({ length: this.columns }, (_, column) => {
        const cell = line?.getCell(column);
        if (!cell) return { text: "?", look: "" };
        const names = ["bold", "dim", "inverse", "underline", "italic"];
        const flags = [cell.isBold(), cell.isDim(), cell.isInverse(), cell.isUnderline(), cell.isItalic()];
        const look = [
          ...names.filter((_, at) => flags[at]),
          ...cell.isFgDefault() ? [] : [String(cell.getFgColor())],
          ...cell.isBgDefault() ? [] : [`on ${cell.getBgColor()}`],
        ];
        return { text: textOf(cell), look: look.join(" ") };
      });
    });
  }

  /** The alternate screen is shown. */
  get alternateShown(): boolean {
    return this.#xterm.buffer.active.type === "alternate";
  }

  /** Modes that a program may have left on. */
  modes(): Readonly<Record<string, unknown>> {
    return this.#xterm.modes as unknown as Record<string, unknown>;
  }

  /** Rows that have left the screen at its top, oldest first. */
  scrollback(): string[] {
    return this.#lines(0, this.#xterm.buffer.active.baseY);
  }

  /** Scrollback and screen; rows that the terminal wrapped are joined, empty ones at the end left out. */
  text(): string[] {
    const { active } = this.#xterm.buffer;
    const lines: string[] = [];
    for (let y = 0; y < active.length; y++) {
      const line = active.getLine(y);
      const text = line?.translateToString(true, 0, this.columns) ?? "";
      if (line?.isWrapped && lines.length > 0) lines[lines.length - 1] += text;
      else lines.push(text);
    }
    while (lines.at(-1)?.trimEnd() === "") lines.pop();
    return lines.map((line) => line.trimEnd());
  }

  /** The cell of the caret; the row counts from the top of the screen. */
  get caret(): { readonly row: number; readonly column: number } {
    const { cursorX, cursorY } = this.#xterm.buffer.active;
    return { row: cursorY, column: cursorX };
  }

  /** Bytes written since the start. */
  get bytes(): number {
    return this.writes.reduce((sum, text) => sum + this.#encoder.encode(text).length, 0);
  }

  /** Number of times that a text was written. */
  count(text: string): number {
    return this.writes.join("").split(text).length - 1;
  }

  /** Writes that cleared the screen, its history, or left for the other screen; a good program has none. */
  destructive(): string[] {
    return [...this.writes.filter((text) => DESTRUCTIVE.test(text)), ...this.#clears];
  }

  #lines(from: number, to: number): string[] {
    const { active } = this.#xterm.buffer;
    return Array.from(
      { length: to - from },
      (_, row) => active.getLine(from + row)?.translateToString(true, 0, this.columns).trimEnd() ?? "",
    );
  }
}

function textOf(cell: { getChars(): string; getWidth(): number } | undefined): string {
  return cell?.getChars() || (cell?.getWidth() === 0 ? "" : " ");
}
