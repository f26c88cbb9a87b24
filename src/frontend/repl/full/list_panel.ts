import type { Texts } from "../../../i18n/mod.ts";
import type { Assembly } from "../../../run/mod.ts";
import { fitDisplay } from "../../../util/display_width.ts";
import type { DiffMarks, Palette } from "../../../view/mod.ts";
import type { ChatTexts } from "../chat_texts.ts";
import { ScrollText } from "../overlay/panel.ts";
import { emphasised, occurrences } from "../overlay/search.ts";
import type { StyledLines } from "../overlay/styled_lines.ts";
import { safeLine } from "../screen/line.ts";
import type { Frame } from "../screen/view.ts";
import type { SessionLog } from "../../session/session_log.ts";
import type { PanelView } from "./panel_view.ts";

/** The texts of the panels next to the conversation, in the current language. */
export type PanelTexts = Pick<Texts, "details" | "full" | "overlay"> & {
  readonly rows: ChatTexts["transcript"];
  readonly status: ChatTexts["status"];
};

/** The session that panels show, and the parts of the view that they use. */
export interface PanelDeps {
  readonly log: SessionLog;
  readonly assembly: () => Assembly | undefined;
  readonly palette: Palette;
  readonly marks: () => DiffMarks | undefined;
  readonly texts: () => PanelTexts;
  /** An error for the user. */
  readonly problem: (error: unknown) => string;
  /** Draws what changed without a key. */
  readonly changed: () => void;
}

/**
 * Entries in rows, with a cursor, a search, and the current entry in full.
 *
 * Contract: only visible entries are laid out, however many there are.
 */
export abstract class ListPanel<E> implements PanelView {
  protected readonly deps: PanelDeps;
  #at = 0;
  /** Identity of the current entry; undefined: it is the newest one, whichever that is. */
  #key: string | undefined;
  #top = 0;
  #rows = 1;
  #query = "";
  /** The current entry in full, and its lines, once they are read. */
  #open: ScrollText | undefined;
  #lines: StyledLines | undefined;

  constructor(deps: PanelDeps) {
    this.deps = deps;
  }

  /** The newest entry is the last one, else the first. */
  protected abstract readonly newestIsLast: boolean;
  protected abstract entries(): readonly E[];
  protected abstract keyOf(entry: E): string;
  /** An entry in one safe line without styles, which is also searched. */
  protected abstract textOf(entry: E): string;
  protected abstract colored(entry: E, row: string): string;
  /** The whole entry, the same lines until they change; undefined: not read yet. */
  protected abstract linesOf(entry: E): StyledLines | undefined;
  protected abstract copyOf(entry: E): string;
  /** Hints for the keys of the panel that others have not. */
  protected abstract readonly ownHints: readonly string[];
  abstract title(): string;

  /** The current entry is the newest one, whichever that is. */
  protected get follows(): boolean {
    return this.#key === undefined;
  }

  /** The entries are those of another session. */
  restart(): void {
    [this.#key, this.#open, this.#lines] = [undefined, undefined, undefined];
  }

  /** The current entry is shown in full. */
  protected get isOpen(): boolean {
    return this.#open !== undefined;
  }

  protected get current(): E | undefined {
    const all = this.entries();
    return all[this.#index(all)];
  }

  #index(all: readonly E[]): number {
    const newest = this.newestIsLast ? all.length - 1 : 0;
    const isCurrent = (entry: E | undefined) => entry !== undefined && this.keyOf(entry) === this.#key;
    if (this.#key === undefined) this.#at = newest;
    else if (!isCurrent(all[this.#at])) {
      const found = all.findIndex(isCurrent);
      this.#at = found >= 0 ? found : Math.max(0, Math.min(this.#at, all.length - 1));
    }
    return this.#at;
  }

  #go(to: number): void {
    const all = this.entries();
    const at = Math.max(0, Math.min(to, all.length - 1));
    const entry = all[at];
    const isNewest = at === (this.newestIsLast ? all.length - 1 : 0) && !this.#open;
    [this.#at, this.#key] = [at, entry === undefined || isNewest ? undefined : this.keyOf(entry)];
  }

  key(key: string): boolean {
    const at = this.#index(this.entries());
    const page = Math.max(1, this.#rows - 1);
    const steps = { up: -1, down: 1, pageUp: -page, pageDown: page, home: -Infinity, end: Infinity };
    const step = (steps as Readonly<Record<string, number>>)[key];
    if (key === "enter" || (key === "escape" && this.#open)) {
      const rows = (columns: number) => this.#lines?.rows(columns) ?? [];
      this.#open = this.#open || !this.current ? undefined : new ScrollText(rows);
      this.#lines = undefined;
      this.#go(at);
    } else if (this.#open) return this.#open.input(key, true);
    else if (step === undefined) return false;
    else this.#go(at + step);
    return true;
  }

  click(row: number): void {
    if (!this.#open && row < this.#rows && this.#top + row < this.entries().length) this.#go(this.#top + row);
  }

  find(text: string, direction: 1 | -1): boolean {
    const isNext = text === this.#query;
    this.#query = text;
    if (this.#open) return this.#open.find(text, direction);
    const all = this.entries();
    const from = this.#index(all) - (isNext ? 0 : direction);
    for (let step = 1; step <= all.length; step++) {
      const at = (from + direction * step + 2 * all.length) % all.length;
      const entry = all[at];
      if (entry === undefined || occurrences(this.textOf(entry), text).length === 0) continue;
      this.#go(at);
      return true;
    }
    return false;
  }

  copied(): string | undefined {
    const { current } = this;
    return current === undefined ? undefined : this.copyOf(current);
  }

  hints(): readonly string[] {
    const { entryKeys: keys } = this.deps.texts().full;
    return [...this.#open ? [keys.scroll, keys.close] : [keys.move, keys.open], ...this.ownHints, keys.copy];
  }

  frame(columns: number, rows: number): Frame {
    const { current } = this;
    const { details, full } = this.deps.texts();
    if (current === undefined) {
      return this.#only(this.deps.log.loading ? details.loading : full.nothing, columns);
    }
    return this.#open ? this.#whole(this.#open, current, columns, rows) : this.#list(columns, rows);
  }

  #whole(open: ScrollText, entry: E, columns: number, rows: number): Frame {
    const { palette, texts } = this.deps;
    const lines = this.linesOf(entry) ?? this.#lines;
    if (lines !== this.#lines) open.renew();
    this.#lines = lines;
    if (!lines) return this.#only(texts().details.loading, columns);
    const position = (first: number, last: number, of: number) =>
      palette.dim(fitDisplay(texts().overlay.lines(first, last, of), columns));
    return { lines: open.view(columns, rows, position) };
  }

  #list(columns: number, rows: number): Frame {
    const all = this.entries();
    const at = this.#index(all);
    this.#rows = rows;
    const last = Math.max(0, all.length - rows);
    this.#top = Math.max(0, Math.min(Math.max(this.#top, at - rows + 1), at, last));
    const shown = all.slice(this.#top, this.#top + rows);
    return { lines: shown.map((entry, index) => this.#row(entry, this.#top + index === at, columns)) };
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
