import type { Terminal } from "../terminal/terminal.ts";
import type { Frame, View } from "./view.ts";

/** Frames while nobody types come at most this often. */
const FRAME_MS = 33;

/**
 * The main screen of a terminal: lines that are printed once and belong to its history from then on, and
 * below them the live region, which alone is written over.
 */
export class Screen {
  readonly #terminal: Terminal;
  readonly #view: View;
  #live: readonly string[] = [];
  /** Row of the live region that the cursor is in. */
  #row = 0;
  #printed: string[] = [];
  #scheduled = false;
  #last = 0;
  #open = false;

  constructor(terminal: Terminal, view: View) {
    this.#terminal = terminal;
    this.#view = view;
  }

  open(): void {
    this.#open = true;
    this.draw();
  }

  /** Lines for the history, above the live region; they are never written again. */
  print(lines: readonly string[]): void {
    this.#printed.push(...lines);
    this.refresh();
  }

  /** Draws soon; calls in between make one frame. */
  refresh(): void {
    if (this.#scheduled || !this.#open) return;
    this.#scheduled = true;
    const wait = Math.max(0, FRAME_MS - (performance.now() - this.#last));
    setTimeout(() => this.draw(), wait);
  }

  /** Draws now: what a key did is seen at once. */
  draw(): void {
    this.#scheduled = false;
    if (!this.#open) return;
    this.#last = performance.now();
    const { columns, rows } = this.#terminal;
    const frame = this.#view.frame(columns, rows);
    const printed = this.#printed;
    this.#printed = [];
    const text = printed.length > 0 ? this.#above(printed, frame) : this.#difference(frame);
    if (text !== "") {
      this.#terminal.write(`\x1b[?2026h\x1b[?25l${text}${this.#caret(frame)}\x1b[?25h\x1b[?2026l`);
    } else this.#terminal.write(this.#caret(frame));
  }

  /** The terminal has another size: what it did with the live region is made good. */
  resized(): void {
    const { columns } = this.#terminal;
    const above = this.#live.slice(0, this.#row);
    this.#row = above.reduce((sum, line) => sum + Math.max(1, Math.ceil(visibleLength(line) / columns)), 0);
    this.#terminal.write(`${up(this.#row)}\r\x1b[J`);
    this.#live = [];
    this.#row = 0;
    this.draw();
  }

  /** Takes the live region away, for another program or for good. */
  close(): void {
    if (!this.#open) return;
    this.draw();
    this.#open = false;
    this.#terminal.write(`${up(this.#row)}\r\x1b[J`);
    this.#live = [];
    this.#row = 0;
  }

  #above(printed: readonly string[], frame: Frame): string {
    const text = `${up(this.#row)}\r\x1b[J${[...printed, ...frame.lines].join("\r\n")}`;
    this.#live = frame.lines;
    this.#row = Math.max(0, frame.lines.length - 1);
    return text;
  }

  /** From the first line that changed to the end. */
  #difference({ lines }: Frame): string {
    const old = this.#live;
    let first = 0;
    while (first < lines.length && old[first] === lines[first]) first++;
    if (first === lines.length && first === old.length) return "";
    const start = Math.min(first, Math.max(0, old.length - 1));
    const changed = lines.slice(start).map((line) => `${line}\x1b[K`).join("\r\n");
    const text = `${vertical(start - this.#row)}\r${changed}${old.length > lines.length ? "\x1b[J" : ""}`;
    this.#live = lines;
    this.#row = Math.max(start, lines.length - 1);
    return text;
  }

  #caret({ caret, lines }: Frame): string {
    const row = caret?.row ?? Math.max(0, lines.length - 1);
    const column = caret?.column ?? 0;
    const text = `${vertical(row - this.#row)}\r${column > 0 ? `\x1b[${column}C` : ""}`;
    this.#row = row;
    return text;
  }
}

const up = (rows: number) => rows > 0 ? `\x1b[${rows}A` : "";
const down = (rows: number) => rows > 0 ? `\x1b[${rows}B` : "";
const vertical = (rows: number) => rows < 0 ? up(-rows) : down(rows);

// deno-lint-ignore no-control-regex
const visibleLength = (line: string) => line.replace(/\x1b(?:\[[\d;]*m|\][^\x07]*\x07)/g, "").length;
