import type { TranscriptTexts } from "../chat_texts.ts";
import { dealRows, type Frame, hintRows, type Overlay, stack } from "../screen/view.ts";
import type { InputEvent } from "../terminal/terminal.ts";
import type { CollapsedItem } from "../transcript/printed.ts";
import { rowsOfLine, withoutStyles } from "../screen/line.ts";
import { emphasised, occurrences, typed } from "./search.ts";
import { itemText, StyledLines, type TextStyle } from "./styled_lines.ts";
import { displayWidth, fitDisplay } from "../../../util/display_width.ts";
import { oneLine } from "../../../util/terminal_text.ts";

interface ExpandOptions extends TextStyle {
  readonly texts: TranscriptTexts;
  readonly collapsed: readonly CollapsedItem[];
}

/** A line of the view: the title of an entry (-1), or one of its text. */
interface Position {
  readonly entry: number;
  readonly line: number;
}

/** Shows collapsed items in full: entries can be opened, closed and searched. */
export class ExpandPanel implements Overlay<never> {
  readonly answer: Promise<undefined>;
  readonly #options: ExpandOptions;
  readonly #open = new Set<number>();
  readonly #lines = new Map<number, StyledLines>();
  #at: Position;
  /** Index of the line in the first row. */
  #top = 0;
  #page = 1;
  #query = "";
  /** The query while it is typed. */
  #writing: string | undefined;
  #resolve: (value: undefined) => void = () => {};

  constructor(options: ExpandOptions) {
    this.#options = options;
    this.#at = { entry: options.collapsed.length - 1, line: -1 };
    this.answer = new Promise((resolve) => this.#resolve = resolve);
  }

  wants(): boolean {
    return true;
  }

  cancel(): void {
    this.#resolve(undefined);
  }

  input(event: InputEvent): void {
    if (this.#writing !== undefined) return this.#write(event, this.#writing);
    if (event.kind !== "key") return;
    const { key, text } = event;
    if (text === "N") return this.#search(-1);
    const steps: Readonly<Record<string, number>> = {
      up: -1,
      k: -1,
      down: 1,
      j: 1,
      pageUp: -this.#page,
      b: -this.#page,
      pageDown: this.#page,
      space: this.#page,
      home: -Infinity,
      end: Infinity,
    };
    const step = steps[key];
    if (step !== undefined) this.#move(step);
    else if (key === "enter" || key === "tab") this.#toggle();
    else if (text === "e") this.#toggleAll();
    else if (text === "/") this.#writing = "";
    else if (text === "n") this.#search(1);
    else if (["escape", "ctrl+c", "ctrl+o", "q"].includes(key)) this.cancel();
  }

  #write(event: InputEvent, written: string): void {
    const key = event.kind === "key" ? event.key : "";
    if (key === "escape" || key === "ctrl+c") this.#writing = undefined;
    else if (key === "enter") {
      [this.#query, this.#writing] = [written, undefined];
      if (!this.#isMatch(this.#at)) this.#search(1);
    } else this.#writing = typed(written, event) ?? written;
  }

  #toggle(): void {
    const { entry } = this.#at;
    if (!this.#open.delete(entry)) this.#open.add(entry);
    else this.#at = { entry, line: -1 };
  }

  #toggleAll(): void {
    const { collapsed } = this.#options;
    if (this.#open.size < collapsed.length) collapsed.forEach((_, entry) => this.#open.add(entry));
    else {
      this.#open.clear();
      this.#at = { entry: this.#at.entry, line: -1 };
    }
  }

  #move(by: number): void {
    const positions = this.#positions();
    const at = this.#index(positions) + by;
    this.#at = positions[Math.max(0, Math.min(positions.length - 1, at))] ?? this.#at;
  }

  #isCurrent({ entry, line }: Position): boolean {
    return entry === this.#at.entry && line === this.#at.line;
  }

  #index(positions: readonly Position[]): number {
    return positions.findIndex((position) => this.#isCurrent(position));
  }

  /** Moves to the next match, around the end, and opens its entry. */
  #search(direction: 1 | -1): void {
    const positions = this.#positions(true).filter((position) => this.#isMatch(position));
    const isAfter = ({ entry, line }: Position) =>
      entry > this.#at.entry || (entry === this.#at.entry && line > this.#at.line);
    const found = direction === 1
      ? positions.find(isAfter) ?? positions[0]
      : positions.findLast((position) => !isAfter(position) && !this.#isCurrent(position)) ??
        positions.at(-1);
    if (!found) return;
    this.#at = found;
    if (found.line >= 0) this.#open.add(found.entry);
  }

  #isMatch(position: Position): boolean {
    const { entry, line } = position;
    const text = line >= 0 ? this.#linesOf(entry).plain(line) : this.#text(position);
    return occurrences(text, this.#query).length > 0;
  }

  /** All lines; without `all` those of closed entries are left out. */
  #positions(all = false): Position[] {
    return this.#options.collapsed.flatMap((_, entry) => [
      { entry, line: -1 },
      ...Array.from(
        { length: all || this.#open.has(entry) ? this.#linesOf(entry).length : 0 },
        (_, line) => ({ entry, line }),
      ),
    ]);
  }

  #text({ entry, line }: Position): string {
    if (line >= 0) return this.#linesOf(entry).line(line);
    const collapsed = this.#options.collapsed[entry];
    return collapsed ? oneLine(collapsed.title, 1000) : "";
  }

  #linesOf(entry: number): StyledLines {
    const known = this.#lines.get(entry);
    if (known) return known;
    const collapsed = this.#options.collapsed[entry];
    const lines = new StyledLines(collapsed ? [itemText(collapsed, this.#options)] : []);
    this.#lines.set(entry, lines);
    return lines;
  }

  frame(columns: number, rows: number): Frame {
    const { palette, texts: { expand }, collapsed } = this.#options;
    const hints = collapsed.length === 0 ? [expand.leave] : expand.hints;
    const hint = hintRows([this.#matches(), ...hints].filter((text) => text !== ""), columns);
    const given = dealRows(rows, [
      ["body", 1],
      ["input", this.#writing === undefined ? 0 : 1],
      ["title", 1],
      ["body", 4],
      ["hint", hint.length],
      ["rule", 1],
      ["body", rows],
    ]);
    const input = `/${this.#writing ?? ""}`;
    return stack([
      { lines: given.rule > 0 ? ["─".repeat(columns)] : [] },
      { lines: given.title > 0 ? [palette.bold(fitDisplay(expand.title, columns))] : [] },
      {
        lines: collapsed.length === 0 ? [fitDisplay(expand.empty, columns)] : this.#body(columns, given.body),
      },
      given.input > 0
        ? {
          lines: [fitDisplay(input, columns)],
          caret: { row: 0, column: Math.min(columns - 1, displayWidth(input)) },
        }
        : { lines: [] },
      { lines: hint.slice(0, given.hint).map(palette.dim) },
    ]);
  }

  /** The number of the current match. */
  #matches(): string {
    if (this.#query === "") return "";
    const { texts: { expand } } = this.#options;
    const found = this.#positions(true).filter((position) => this.#isMatch(position));
    const at = this.#index(found);
    return found.length === 0 ? expand.notFound(this.#query) : expand.match(at + 1, found.length);
  }

  /** The rows around the current line; only visible ones are laid out. */
  #body(columns: number, space: number): string[] {
    this.#page = Math.max(1, space - 1);
    const positions = this.#positions();
    const at = Math.max(0, this.#index(positions));
    this.#top = Math.max(0, Math.min(this.#top, at, positions.length - 1));
    const rowsFrom = (top: number) => {
      const rows: string[] = [];
      for (const position of positions.slice(top, top + space)) {
        if (rows.length >= space) break;
        rows.push(...this.#rows(position, columns));
      }
      return rows;
    };
    const reaches = (top: number) => {
      let used = 0;
      for (const position of positions.slice(top, at)) used += this.#rows(position, columns).length;
      return used < space;
    };
    // Far away the view jumps, near it moves by as much as it must.
    if (at - this.#top > space) this.#top = Math.max(0, at - space + 1);
    while (this.#top < at && !reaches(this.#top)) this.#top++;
    return rowsFrom(this.#top).slice(0, space);
  }

  #rows(position: Position, columns: number): string[] {
    const { palette, texts: { expand }, collapsed } = this.#options;
    const { entry, line } = position;
    const pointer = this.#isCurrent(position) ? palette.accent("› ") : "  ";
    const text = this.#text(position);
    const marked = emphasised(text, occurrences(withoutStyles(text), this.#query));
    if (line >= 0) return rowsOfLine(marked, columns - 4).map((row) => `${pointer}  ${row}`);
    const { kind = "output" } = collapsed[entry] ?? {};
    const sign = this.#open.has(entry) ? "▾" : "▸";
    const about = `${expand[kind]} · ${expand.lines(this.#linesOf(entry).length)}`;
    const wide = displayWidth(text) + displayWidth(about) + 6 <= columns;
    const head = rowsOfLine(marked, columns - 4).map((row, index) =>
      `${pointer}${index === 0 ? sign : " "} ${palette.bold(row)}`
    );
    return wide
      ? [`${head[0] ?? ""}  ${palette.dim(about)}`]
      : [...head, `    ${palette.dim(fitDisplay(about, columns - 4))}`];
  }
}
