import type { Choice } from "../../../command/mod.ts";
import { displayWidth, fitDisplay } from "../../../util/display_width.ts";
import { oneLine } from "../../../util/terminal_text.ts";
import type { Palette } from "../../../view/mod.ts";
import type { InputEvent } from "../terminal/terminal.ts";
import { wordRows } from "./exact_text.ts";

/** A choice, one whose value the user writes, or one that opens further choices. */
export type Entry<T> =
  | Choice<T>
  | (Omit<Choice<T>, "value"> & { readonly entries: readonly Entry<T>[] })
  | (Omit<Choice<T>, "value"> & {
    readonly write: (text: string) => T;
    /** What is asked for; absent: the label. */
    readonly prompt?: string;
    /** An empty text is an answer, too. */
    readonly optional?: true;
    /** What the user begins with. */
    readonly initial?: string;
    /** Says what is wrong with a text, which is then not taken. */
    readonly check?: (text: string) => string | undefined;
  });

export interface ChoiceListOptions<T> {
  readonly entries: readonly Entry<T>[];
  readonly palette: Palette;
  /** What is typed narrows the list. */
  readonly filter?: boolean | undefined;
  /** Entries are marked, and all marked ones are chosen together. */
  readonly multiple?: boolean | undefined;
}

/** More entries than this take one row each. */
const SHORT_LIST = 12;

/** Entries of which one is the current one. */
export class ChoiceList<T> {
  readonly marked = new Set<Entry<T>>();
  filter = "";
  readonly #options: ChoiceListOptions<T>;
  #entries: readonly Entry<T>[];
  #at = 0;
  #top = 0;
  #rows = 1;

  constructor(options: ChoiceListOptions<T>) {
    this.#options = options;
    this.#entries = options.entries;
  }

  /** Undefined also where nothing is selected yet. */
  get current(): Entry<T> | undefined {
    return this.#entries[this.#at];
  }

  /** Where the current entry stands among those that the filter leaves, from 1 on. */
  get position(): { readonly at: number; readonly of: number } {
    return { at: Math.min(this.#at + 1, this.#entries.length), of: this.#entries.length };
  }

  /** Takes a key; false when it means nothing to a list. */
  input(event: InputEvent): boolean {
    if (event.kind === "paste") return this.#type(oneLine(event.text));
    const { key, text } = event;
    const step = { up: -1, down: 1, "ctrl+p": -1, "ctrl+n": 1 }[key];
    const page = { pageUp: -1, pageDown: 1 }[key];
    if (step !== undefined) {
      return this.#go(this.#at < 0 ? Math.min(0, step) : this.#at + step, "around");
    }
    if (page !== undefined) return this.#go(this.#at + page * Math.max(1, this.#rows - 1), "stop");
    if (key === "home" || key === "end") return this.#go(key === "home" ? 0 : Infinity, "stop");
    if (this.#options.filter && key === "backspace") {
      return this.#narrow([...this.filter].slice(0, -1).join(""));
    }
    return text !== undefined && this.#type(text);
  }

  #go(to: number, edge: "around" | "stop"): true {
    const count = this.#entries.length;
    const within = Math.max(0, Math.min(to, count - 1));
    this.#at = edge === "stop" || count === 0 ? within : (to + count) % count;
    return true;
  }

  /** Marks an entry, or takes its mark back; false for one that cannot be marked. */
  mark(entry: Entry<T> | undefined): boolean {
    if (!entry || !("value" in entry)) return false;
    if (!this.marked.delete(entry)) this.marked.add(entry);
    return true;
  }

  /** The index of the entry with this key or number, -1 without one. */
  indexOf(text: string): number {
    const digit = /^[1-9]$/.test(text) ? Number(text) - 1 : -1;
    return this.#entries.findIndex((entry, index) => entry.key === text || index === digit);
  }

  get index(): number {
    return this.#at;
  }

  /** -1: nothing is selected. */
  set index(at: number) {
    if (at < 0) this.#at = -1;
    else this.#go(at, "stop");
  }

  #type(text: string): boolean {
    return this.#options.filter ? this.#narrow(this.filter + text) : false;
  }

  #narrow(filter: string): true {
    this.filter = filter;
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
    this.#entries = words.length === 0
      ? this.#options.entries
      : this.#options.entries.filter(({ label, detail = "" }) => {
        const text = `${label} ${detail}`.toLowerCase();
        return words.every((word) => text.includes(word));
      });
    return this.#go(0, "stop");
  }

  /** Rows that all entries take. */
  height(columns: number): number {
    return this.#short ? this.#blocks(columns).flat().length : this.#entries.length;
  }

  /** The part around the current entry. */
  view(columns: number, rows: number): string[] {
    this.#rows = rows;
    if (rows <= 0) return [];
    if (!this.#short) {
      this.#top = clamp(this.#top, this.#at - rows + 1, this.#at);
      return this.#entries.slice(this.#top, this.#top + rows)
        .map((entry, index) => this.#row(entry, this.#top + index, columns));
    }
    const blocks = this.#blocks(columns);
    const at = Math.max(0, this.#at);
    const before = blocks.slice(0, at).flat().length;
    const height = blocks[at]?.length ?? 1;
    const all = blocks.flat();
    this.#top = clamp(this.#top, Math.min(before, before + height - rows), before);
    this.#top = clamp(this.#top, 0, Math.max(0, all.length - rows));
    return all.slice(this.#top, this.#top + rows);
  }

  get #short(): boolean {
    return !this.#options.filter && this.#entries.length <= SHORT_LIST;
  }

  #lead(entry: Entry<T>, index: number): string {
    const { multiple, filter } = this.#options;
    const pointer = index === this.#at ? "›" : " ";
    const number = filter || index > 8 ? "" : `${index + 1}. `;
    const box = !multiple || !("value" in entry) ? "" : this.marked.has(entry) ? "[x] " : "[ ] ";
    return `${pointer} ${number}${box}`;
  }

  /** One row: the detail behind the label as far as it fits. */
  #row(entry: Entry<T>, index: number, columns: number): string {
    const { palette } = this.#options;
    const lead = this.#lead(entry, index);
    const label = fitDisplay(oneLine(entry.label, 1000), Math.max(1, columns - displayWidth(lead)));
    const left = columns - displayWidth(lead) - displayWidth(label) - 2;
    const detail = entry.detail === undefined || left < 6
      ? ""
      : fitDisplay(oneLine(entry.detail, 1000), left);
    return this.#coloured(index, `${lead}${label}`, detail === "" ? "" : palette.dim(`  ${detail}`));
  }

  /** Rows of each entry, wrapped: everything of a short list can be read. */
  #blocks(columns: number): string[][] {
    const { palette } = this.#options;
    const mark = palette.warning;
    return this.#entries.map((entry, index) => {
      const lead = this.#lead(entry, index);
      const indent = " ".repeat(displayWidth(lead));
      const room = columns - indent.length;
      const key = entry.key === undefined ? "" : ` (${entry.key})`;
      // A label that had lines of its own could look like further entries.
      const label = wordRows(entry.label.replaceAll("\n", "\\x0a") + key, room, mark);
      const detail = entry.detail ?? "";
      const last = label.at(-1) ?? "";
      const beside = detail !== "" && !detail.includes("\n") &&
        displayWidth(last) + 2 + displayWidth(detail) <= room;
      const below = detail === "" || beside ? [] : wordRows(detail, room, mark);
      return [
        ...label.map((text, row) =>
          this.#coloured(
            index,
            `${row === 0 ? lead : indent}${text}`,
            beside && row === label.length - 1
              ? palette.dim(`  ${wordRows(detail, room, mark).join("")}`)
              : "",
          )
        ),
        ...below.map((text) => palette.dim(`${indent}${text}`)),
      ];
    });
  }

  #coloured(index: number, text: string, rest: string): string {
    return `${index === this.#at ? this.#options.palette.accent(text) : text}${rest}`;
  }
}

function clamp(value: number, low: number, high: number): number {
  return Math.max(low, Math.min(value, high));
}
