import type { Texts } from "../../../i18n/mod.ts";
import { fitDisplay } from "../../../util/display_width.ts";
import type { DiffMarks, Palette } from "../../../view/mod.ts";
import type { ChatTexts } from "../chat_texts.ts";
import { emphasised, occurrences } from "../overlay/expand.ts";
import { ScrollText } from "../overlay/panel.ts";
import { rowsOfLine, safeLine, withoutStyles } from "../screen/line.ts";
import type { Frame } from "../screen/view.ts";
import type { PanelView } from "./panel_view.ts";

/** The texts of the panels next to the conversation, in the current language. */
export type PanelTexts = Pick<Texts, "details" | "full" | "overlay"> & {
  readonly rows: ChatTexts["transcript"];
};

/** The parts of the view that panels use. */
export interface PanelDeps {
  readonly palette: Palette;
  readonly marks: () => DiffMarks | undefined;
  readonly texts: () => PanelTexts;
  /** Draws what changed without a key. */
  readonly changed: () => void;
}

/** An entry that is shown in full, as lines with styles. */
class OpenEntry {
  readonly scroll: ScrollText;
  lines: readonly string[];
  #query = "";
  /** The line of the current match. */
  #at = -1;
  #columns = 80;
  /** The first row of each line. */
  #starts: number[] = [];

  constructor(lines: readonly string[]) {
    this.lines = lines;
    this.scroll = new ScrollText((columns) => this.#rows(columns));
  }

  #rows(columns: number): string[] {
    this.#columns = columns;
    this.#starts = [];
    const rows: string[] = [];
    for (const line of this.lines) {
      this.#starts.push(rows.length);
      rows.push(...rowsOfLine(emphasised(line, occurrences(withoutStyles(line), this.#query)), columns));
    }
    return rows;
  }

  find(query: string, direction: 1 | -1): boolean {
    const isNew = query !== this.#query;
    this.#query = query;
    const top = this.#starts.findLastIndex((row) => row <= this.scroll.top);
    const from = isNew || this.#at < 0 ? Math.max(0, top) - (direction === 1 ? 1 : 0) : this.#at;
    const [line, start] = matchFrom(this.lines.length, from, direction, (at) => {
      return occurrences(withoutStyles(this.lines[at] ?? ""), query)[0]?.[0];
    }) ?? [];
    this.#at = line ?? -1;
    if (line === undefined) {
      this.scroll.show();
      return query === "";
    }
    const before = withoutStyles(this.lines[line] ?? "").slice(0, start);
    this.scroll.show((this.#starts[line] ?? 0) + rowsOfLine(before, this.#columns).length - 1);
    return true;
  }
}

/** The next of `count` places that has a match, around the end, and the match. */
function matchFrom<M>(
  count: number,
  from: number,
  direction: 1 | -1,
  match: (at: number) => M | undefined,
): readonly [at: number, match: M] | undefined {
  for (let step = 1; step <= count; step++) {
    const at = (((from + direction * step) % count) + count) % count;
    const found = match(at);
    if (found !== undefined) return [at, found];
  }
  return undefined;
}

/**
 * Entries in rows, with a cursor, a search, and the chosen entry in full.
 *
 * Contract: only visible entries are laid out, however many there are.
 */
export abstract class ListPanel<E> implements PanelView {
  protected readonly deps: PanelDeps;
  /** The cursor stays at the end until it is moved. */
  readonly #follows: boolean;
  #following: boolean;
  #at = 0;
  /** Identity of the current entry. */
  #key = "";
  #top = 0;
  #page = 1;
  #query = "";
  /** Entries when the panel was left by its end. */
  #seen = 0;
  #open: { readonly of: E; readonly text: OpenEntry; readonly isLoading: boolean } | undefined;

  constructor(deps: PanelDeps, follows = false) {
    this.deps = deps;
    this.#follows = this.#following = follows;
  }

  protected abstract entries(): readonly E[];
  protected abstract keyOf(entry: E): string;
  /** An entry in one safe line without styles, which is also searched. */
  protected abstract textOf(entry: E): string;
  protected abstract colored(entry: E, row: string): string;
  /** The whole entry in lines with styles; undefined while it is being loaded. */
  protected abstract linesOf(entry: E): readonly string[] | undefined;
  protected abstract readonly empty: string;
  /** The title of the panel. */
  abstract title(): string;
  abstract hints(): readonly string[];

  /** Rows that the list takes of all. */
  protected listRows(rows: number): number {
    return rows;
  }

  /** Lines below the list about the current entry. */
  protected below(_entry: E, _columns: number, _rows: number): readonly string[] {
    return [];
  }

  /** Forgets the lines of the open entry, which are others now. */
  protected reopen(): void {
    this.#open = undefined;
    this.#show(this.current);
  }

  get opened(): boolean {
    return this.#open !== undefined;
  }

  /** New entries behind the end that was left. */
  protected get unseen(): number {
    return this.#follows && !this.#following ? Math.max(0, this.entries().length - this.#seen) : 0;
  }

  protected get current(): E | undefined {
    const all = this.entries();
    return all[this.#index(all)];
  }

  #index(all: readonly E[]): number {
    if (this.#following) return this.#at = all.length - 1;
    const known = all[this.#at];
    if (!known || this.keyOf(known) !== this.#key) {
      const found = this.#key === "" ? 0 : all.findIndex((entry) => this.keyOf(entry) === this.#key);
      this.#at = found >= 0 ? found : Math.max(0, Math.min(this.#at, all.length - 1));
    }
    return this.#at;
  }

  #go(to: number): void {
    const all = this.entries();
    this.#at = Math.max(0, Math.min(to, all.length - 1));
    const entry = all[this.#at];
    this.#key = entry === undefined ? "" : this.keyOf(entry);
    this.#following = this.#follows && this.#at >= all.length - 1;
    this.#seen = Math.max(this.#following ? 0 : this.#seen, this.#at + 1);
  }

  key(key: string): boolean {
    if (this.#open) {
      if (key !== "escape" && key !== "enter") return this.#open.text.scroll.input(key, true);
      this.#open = undefined;
      this.#go(this.#at);
      return true;
    }
    const steps: Readonly<Record<string, number>> = {
      up: -1,
      down: 1,
      pageUp: -this.#page,
      pageDown: this.#page,
      home: -Infinity,
      end: Infinity,
    };
    const step = steps[key];
    if (key === "enter") this.#show(this.current);
    else if (step === undefined) return false;
    else {
      const from = this.#index(this.entries());
      if (this.#following) this.#seen = this.entries().length;
      this.#go(from + step);
    }
    return true;
  }

  #show(entry: E | undefined): void {
    if (entry === undefined) return;
    const lines = this.linesOf(entry);
    this.#open = { of: entry, text: new OpenEntry(lines ?? []), isLoading: !lines };
    // What comes meanwhile is new, and does not move the cursor.
    this.#go(this.#at);
    this.#following = false;
    this.#seen = this.entries().length;
  }

  click(row: number): void {
    if (this.#open || this.#top + row >= this.entries().length) return;
    if (row < this.#page) this.#go(this.#top + row);
  }

  find(text: string, direction: 1 | -1): boolean {
    if (this.#open) return this.#open.text.find(text, direction);
    const isNew = text !== this.#query;
    this.#query = text;
    if (text === "") return true;
    const all = this.entries();
    const from = this.#index(all) - (isNew ? direction : 0);
    const found = matchFrom(all.length, from, direction, (at) => {
      const entry = all[at];
      return entry === undefined ? undefined : occurrences(this.textOf(entry), text)[0];
    });
    if (!found) return false;
    if (this.#following) this.#seen = all.length;
    this.#go(found[0]);
    return true;
  }

  copied(): string | undefined {
    const { current } = this;
    if (this.#open) return this.#open.text.lines.map(withoutStyles).join("\n");
    return current === undefined ? undefined : this.copyOf(current);
  }

  protected copyOf(entry: E): string {
    return this.linesOf(entry)?.map(withoutStyles).join("\n") ?? this.textOf(entry);
  }

  frame(columns: number, rows: number): Frame {
    const { palette, texts } = this.deps;
    const position = (first: number, last: number, of: number) =>
      palette.dim(fitDisplay(texts().overlay.lines(first, last, of), columns));
    if (this.#open) {
      const { of, text, isLoading } = this.#open;
      const { current = of } = this;
      // A call that has ended meanwhile has a result.
      if (isLoading || (current !== of && this.keyOf(current) === this.keyOf(of))) {
        const lines = this.linesOf(current);
        text.lines = lines ?? text.lines;
        text.scroll.show();
        this.#open = { of: current, text, isLoading: !lines };
      }
      if (this.#open.isLoading && text.lines.length === 0) {
        return this.#only(texts().details.loading, columns);
      }
      return { lines: text.scroll.view(columns, rows, position) };
    }
    const all = this.entries();
    const at = this.#index(all);
    const entry = all[at];
    if (entry === undefined) return this.#only(this.empty, columns);
    const space = Math.max(1, this.listRows(rows));
    this.#page = Math.max(1, space - 1);
    this.#top = Math.max(
      0,
      Math.min(Math.max(this.#top, at - space + 1), at, Math.max(0, all.length - space)),
    );
    const lines = all.slice(this.#top, this.#top + space)
      .map((each, index) => this.#row(each, this.#top + index === at, columns));
    const below = space < rows ? this.below(entry, columns, rows - space) : [];
    return { lines: [...lines, ...below].slice(0, rows) };
  }

  #only(text: string, columns: number): Frame {
    return { lines: [this.deps.palette.dim(fitDisplay(text, columns))] };
  }

  #row(entry: E, isCurrent: boolean, columns: number): string {
    const text = fitDisplay(this.textOf(entry), Math.max(1, columns - 2));
    const row = emphasised(this.colored(entry, text), occurrences(text, this.#query));
    return safeLine(`${isCurrent ? this.deps.palette.accent("› ") : "  "}${row}`, columns);
  }
}
