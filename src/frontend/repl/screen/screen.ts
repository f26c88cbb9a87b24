import { pathTo, rowCount, rowsOfLine, safeLine } from "./line.ts";
import {
  horizontal,
  type LastFrame,
  type PrintedLine,
  type RegionState,
  rowsToPrintAgain,
  rowsToTop,
  updateRegion,
  vertical,
} from "./region.ts";
import type { Frame, View } from "./view.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { after } from "../../../util/timer.ts";

/** Minimum time between frames, unless a key is pressed. */
const FRAME_MS = 33;
/** Maximum lines printed with one frame, so that keys are handled in between. */
const PRINT_LINES = 1000;
/** A longer text is written as a synchronized update. */
const SMALL_TEXT = 64;
/**
 * Without `--quiet` the runtime clears rows below the cursor after it has loaded a large file for the first
 * time. It happens early in the first turn, so the rows are written again at these times (ms).
 */
const REPAINT_MS = [700, 3000];
const NO_FRAME: LastFrame = { before: { live: [], row: 0 }, printed: [], rows: 0 };
/** A row with unknown content. */
const UNKNOWN = "\0";
/** Maximum wait at the end for a terminal that accepts no output. */
const CLOSE_MS = 1000;

/**
 * Draws frames of a view at a pace, and gives the terminal away and takes it again.
 *
 * Contract: a row takes one line of the screen and is cut where it is wider. Control characters are removed;
 * only colors and links remain. While the terminal processes a frame no other is drawn, and the next one
 * shows the newest state.
 */
export abstract class PacedScreen {
  protected readonly terminal: Terminal;
  protected readonly view: View;
  /** Everything is drawn, since it is the last frame. */
  protected closing = false;
  #cancel: (() => void) | undefined;
  #last = 0;
  #repaints: readonly (() => void)[] | undefined;
  #open = false;
  #lent = false;
  #writing: Promise<void> | undefined;
  /** Something has changed since the frame that is being written. */
  #stale = false;

  constructor(terminal: Terminal, view: View) {
    this.terminal = terminal;
    this.view = view;
  }

  /** Text that updates the screen to the newest state. */
  protected abstract update(): string;
  /** Text that removes what is drawn. */
  protected abstract erased(): string;
  /** Forgets the content of the screen: another program has used it. */
  protected abstract forget(): void;
  /** The size may have changed: everything is drawn again. */
  protected abstract forgetSize(): void;
  /** Rows that the runtime clears are written again with the next frame. */
  protected abstract repaint(): void;
  /** More could be written at once. */
  protected get more(): boolean {
    return false;
  }

  open(): void {
    this.#open = true;
    this.draw();
  }

  /** Draws soon; several calls make one frame. */
  refresh(): void {
    if (this.#cancel || !this.#open) return;
    const wait = Math.max(0, FRAME_MS - (performance.now() - this.#last));
    this.#cancel = after(Math.ceil(wait), () => this.draw());
  }

  /** Draws now, so that the effect of a key is visible at once. */
  draw(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    if (!this.#open) return;
    this.#stale = this.#writing !== undefined;
    if (this.#stale) return;
    // At the end everything is drawn.
    if (this.closing || !this.terminal.resizing) this.#drawNow();
    else this.terminal.askSize();
  }

  /** Schedules writing rows again that the runtime clears; once. */
  guard(): void {
    this.#repaints ??= REPAINT_MS.map((ms) =>
      after(ms, () => {
        this.repaint();
        this.draw();
      })
    );
  }

  #drawNow(): void {
    this.#last = performance.now();
    this.#write(this.update());
  }

  /** Draws everything again, as for a new size of the terminal. */
  resized(): void {
    this.forgetSize();
    this.draw();
  }

  /**
   * Writes what is pending and removes what is drawn, for another program or at the end; then prints rows.
   * The wait for a terminal that accepts no output is limited.
   */
  async close(rows: readonly string[] = []): Promise<void> {
    this.#lent = false;
    if (!this.#open) return;
    const limit = Promise.withResolvers<void>();
    const cancel = after(CLOSE_MS, limit.resolve);
    this.closing = true;
    this.draw();
    await this.#settled(limit.promise);
    this.#open = this.closing = false;
    if (!this.#writing) {
      this.#write(this.erased() + printedRows(rows, this.terminal.columns));
      this.forget();
      await this.#settled(limit.promise);
    }
    cancel();
    for (const cancel of this.#repaints ?? []) cancel();
  }

  /** Lends the terminal to another program, then draws again, unless closed meanwhile. */
  async lend<T>(run: () => Promise<T>, rows?: readonly string[]): Promise<T> {
    await this.close(rows);
    await this.terminal.suspend();
    this.#lent = true;
    try {
      return await run();
    } finally {
      if (this.#lent) {
        this.#lent = false;
        this.terminal.resume();
        this.open();
      }
    }
  }

  /** Stops the program until its shell continues it. */
  stopJob(rows?: readonly string[]): Promise<void> {
    return this.lend(() => this.terminal.stopJob(), rows);
  }

  /** Draws at the cursor after another program has written on the screen. */
  continued(): void {
    this.forget();
    this.draw();
  }

  /**
   * The text as one update, followed by the movement to the caret: `had` and `has` tell if there was one
   * before, and if there is one now.
   */
  protected asUpdate(text: string, way: string, had: boolean, has: boolean): string {
    const long = text.length > SMALL_TEXT;
    const together = long && this.terminal.synchronized;
    const hide = had && ((long && !together) || !has);
    const show = has && (hide || !had);
    return `${together ? "\x1b[?2026h" : ""}${hide ? "\x1b[?25l" : ""}${text}${way}${
      show ? "\x1b[?25h" : ""
    }${together ? "\x1b[?2026l" : ""}`;
  }

  async #settled(limit: Promise<void>): Promise<void> {
    const passed = limit.then(() => false);
    while (this.#writing && await Promise.race([this.#writing.then(() => true), passed]));
  }

  #write(text: string): void {
    const writing = text === "" ? undefined : this.terminal.write(text);
    this.#writing = writing?.then(() => {
      this.#writing = undefined;
      if (this.#stale || this.more) this.draw();
    });
    if (!writing && this.#open && this.more) this.draw();
  }
}

/**
 * The main screen of a terminal: lines that are printed once and then belong to its history, and below them
 * the live region, which is updated. Printed lines wait while no frame is drawn, and none is lost; they are
 * not cut where the screen has become narrower.
 */
export class Screen extends PacedScreen {
  /** Rows of the live region as written, for a screen of this size. */
  #live: readonly string[] = [];
  #size = { columns: 0, rows: 0 };
  /** The cursor relative to the live region; hidden without a column. */
  #cursor: { readonly row: number; readonly column?: number } = { row: 0, column: 0 };
  #before: LastFrame = NO_FRAME;
  #safe = new Map<string, string>();
  #printed: PrintedLine[] = [];

  /** Prints lines above the live region; they are never written again. */
  print(lines: readonly string[]): void {
    const { columns } = this.terminal;
    for (const line of lines) this.#printed.push({ line, columns });
    this.refresh();
  }

  protected repaint(): void {
    this.#live = this.#live.map(() => UNKNOWN);
  }

  protected forgetSize(): void {
    // It may be the old size again, after another one.
    this.#size = { columns: this.#size.columns, rows: 0 };
  }

  protected forget(): void {
    this.#live = [];
    this.#before = NO_FRAME;
    this.#size = { columns: 0, rows: 0 };
    this.#cursor = { row: 0, column: 0 };
  }

  protected update(): string {
    const { columns, rows } = this.terminal;
    let text = "";
    let start: Pick<LastFrame, "before" | "erased"> | undefined;
    if (columns !== this.#size.columns || rows !== this.#size.rows) {
      [text, start] = this.#erasedForSize(columns, rows);
      this.#live = [];
      this.#cursor = this.#cursor.column === undefined ? { row: 0 } : { row: 0, column: 0 };
      this.#size = { columns, rows };
      this.#safe.clear();
    }
    const frame = within(this.view.frame(columns, rows), rows);
    const live = this.#safeLines(frame.lines);
    const lines = this.more ? this.#printed.splice(0, PRINT_LINES) : [];
    // Lines that were laid out for another width are not cut.
    const printed = lines.flatMap((made) => rowsOfLine(safeLine(made.line, made.columns), columns));
    this.#before = {
      before: { live: this.#live, ...this.#cursor },
      ...start,
      printed: lines,
      rows: printed.length,
    };
    const update = updateRegion({
      old: this.#live,
      lines: [...printed, ...live],
      row: this.#cursor.row,
      rows,
    });
    text += update.text;
    this.#live = live;
    return this.#held(text, update.row - printed.length, frame.caret);
  }

  /** The text as one update, followed by the movement to the caret. */
  #held(text: string, row: number, caret: Frame["caret"]): string {
    const { columns } = this.#size;
    const old = this.#cursor;
    // A hidden cursor stays at the top, where no change of the width moves it.
    this.#cursor = caret
      ? { row: Math.min(caret.row, this.#live.length - 1), column: Math.min(caret.column, columns - 1) }
      : { row: 0 };
    const { column } = this.#cursor;
    // Where rows of the live region were printed as they are, it begins further below.
    const moved = this.#cursor.row !== row || column !== old.column;
    if (text === "" && !moved) return "";
    const path = column === undefined ? undefined : pathTo(this.#live[this.#cursor.row] ?? "", column);
    const way = vertical(this.#cursor.row - row) +
      (path === undefined ? horizontal(column ?? 0) : `\r${path}`);
    return this.asUpdate(text, way, old.column !== undefined, column !== undefined);
  }

  #safeLines(lines: readonly string[]): string[] {
    const old = this.#safe;
    this.#safe = new Map();
    return lines.map((line) => {
      const safe = old.get(line) ?? safeLine(line, this.#size.columns);
      this.#safe.set(line, safe);
      return safe;
    });
  }

  /**
   * Erases the live region for a new size, and lines that were printed for another width, which are printed
   * again. Also returns the position of the region, if it is known for certain.
   */
  #erasedForSize(columns: number, rows: number): [string, Pick<LastFrame, "before" | "erased"> | undefined] {
    const { reflow, lastTaken } = this.terminal;
    const now: RegionState = { live: this.#live, ...this.#cursor };
    const again = rowsToPrintAgain(now, this.#before, lastTaken, { columns, rows, reflow });
    const { printed } = this.#before;
    if (again !== undefined) this.#printed.unshift(...printed);
    else if (lastTaken === "after" && columns < this.#size.columns) {
      // They have left the screen, cut: the full lines follow.
      this.#printed.unshift(...printed.filter(({ line }) => rowCount(line, columns) > 1));
    }
    const above = again ?? rowsToTop(now, this.#before, lastTaken, { columns, reflow });
    const start = lastTaken === "before" ? { before: now, erased: above } : undefined;
    return [erasing(above), start];
  }

  protected erased(): string {
    const { reflow, lastTaken } = this.terminal;
    const now: RegionState = { live: this.#live, ...this.#cursor };
    const above = rowsToTop(now, this.#before, lastTaken, { columns: this.#size.columns, reflow });
    return `${erasing(above)}${this.#cursor.column === undefined ? "\x1b[?25h" : ""}`;
  }

  /** Lines can be printed. Not while the size changes: a line cut then stays cut. */
  protected override get more(): boolean {
    return this.#printed.length > 0 && (this.closing || this.terminal.settled);
  }
}

/** Rows on the main screen, each with the end of its line. */
export function printedRows(rows: readonly string[], columns: number): string {
  const shown = rows.flatMap((row) => rowsOfLine(safeLine(row, Infinity), columns));
  return shown.map((row) => `${row}\r\n`).join("");
}

/**
 * Erases from `rows` above the cursor. The first row is erased separately: tmux saves a screen in its history
 * that is erased from its first cell on.
 */
function erasing(rows: number): string {
  return `${vertical(-rows)}\r\x1b[C\x1b[J\r\x1b[K`;
}

/** The last lines that fit the screen, at least one; the caret within them. */
function within({ lines, caret }: Frame, rows: number): Frame {
  const skipped = Math.max(0, lines.length - rows);
  const shown = lines.length === 0 ? [""] : lines.slice(skipped);
  return caret && caret.row >= skipped
    ? { lines: shown, caret: { row: caret.row - skipped, column: caret.column } }
    : { lines: shown };
}
