import { Composer } from "../composer/composer.ts";
import { wordRows } from "./exact_text.ts";
import { emphasised, matches, typed } from "./search.ts";
import type { TextRows } from "./styled_lines.ts";
import type { AnswerEntry } from "../../session/questions.ts";
import { dealRows, type Frame, hintRows, type Overlay, stack } from "../screen/view.ts";
import type { InputEvent } from "../terminal/terminal.ts";
import type { Texts } from "../../../i18n/mod.ts";
import { displayWidth, fitDisplay } from "../../../util/display_width.ts";
import { oneLine } from "../../../util/terminal_text.ts";
import type { Palette } from "../../../view/mod.ts";

/** A text of any length, of which a part is in view. */
export class ScrollText {
  readonly #render: (columns: number) => readonly string[] | TextRows;
  #cached: { readonly columns: number; readonly rows: readonly string[] | TextRows } | undefined;
  #top = 0;
  #shown = 0;
  #seen = false;
  #query = "";
  /** The row of the current match, and all matches of the rows. */
  #match = 0;
  #marks: { readonly rows: unknown; readonly of: ReturnType<typeof matches> } | undefined;

  /** `render` breaks the text into rows of a width; it is called again only for another width. */
  constructor(render: (columns: number) => readonly string[] | TextRows) {
    this.#render = render;
  }

  rows(columns: number): readonly string[] | TextRows {
    if (this.#cached?.columns !== columns) this.#cached = { columns, rows: this.#render(columns) };
    return this.#cached.rows;
  }

  /** The part in view; where something is left out, the last row is the one that `position` returns. */
  view(
    columns: number,
    space: number,
    position: (first: number, last: number, all: number) => string,
  ): string[] {
    const rows = this.rows(columns);
    const cut = rows.length > space;
    this.#shown = cut && space > 1 ? space - 1 : space;
    this.#top = Math.max(0, Math.min(this.#top, rows.length - this.#shown));
    const shown = rows.slice(this.#top, this.#top + this.#shown)
      .map((row, at) => emphasised(row, this.#marked().get(this.#top + at) ?? []));
    this.#seen ||= this.#top + this.#shown >= rows.length;
    return cut && space > 1
      ? [...shown, position(this.#top + 1, this.#top + shown.length, rows.length)]
      : shown;
  }

  /** Lays the text out again. */
  renew(): void {
    this.#cached = undefined;
  }

  /**
   * Emphasises a text, and moves to the next row with it, around the end; false without one. An empty text is
   * nowhere.
   */
  find(query: string, direction: 1 | -1): boolean {
    const from = query === this.#query ? this.#match : this.#top - direction;
    this.#query = query;
    this.#marks = undefined;
    const rows = [...this.#marked().keys()].sort((a, b) => direction * (a - b));
    const row = rows.find((row) => direction * (row - from) > 0) ?? rows[0];
    if (row === undefined) return false;
    this.#match = row;
    if (row < this.#top || row >= this.#top + this.#shown) this.#top = row;
    return true;
  }

  /** The parts of rows that match. */
  #marked(): ReturnType<typeof matches> {
    const { rows = [] } = this.#cached ?? {};
    if (this.#marks?.rows !== rows) {
      const plain = () => "plain" in rows ? rows.plain() : rows;
      this.#marks = { rows, of: this.#query === "" ? new Map() : matches(plain(), this.#query) };
    }
    return this.#marks.of;
  }

  get seen(): boolean {
    return this.#seen;
  }

  get cut(): boolean {
    return this.#hiddenRows > 0;
  }

  get #hiddenRows(): number {
    return Math.max(0, (this.#cached?.rows.length ?? 0) - this.#shown);
  }

  /** Takes a key that scrolls, with `alone` those of a list as well; false for every other key. */
  input(key: string, alone: boolean): boolean {
    const page = Math.max(1, this.#shown - 1);
    const steps: Readonly<Record<string, number>> = {
      pageUp: -page,
      "ctrl+b": -page,
      pageDown: page,
      "ctrl+f": page,
      "shift+up": -1,
      "shift+down": 1,
      ...(alone ? { up: -1, down: 1, b: -page, space: page, home: -Infinity, end: Infinity } : {}),
    };
    const step = steps[key];
    if (step === undefined || !this.cut) return false;
    this.#top = Math.max(0, Math.min(this.#top + step, this.#hiddenRows));
    return true;
  }
}

interface ChoiceListOptions<T> {
  readonly entries: readonly AnswerEntry<T>[];
  readonly palette: Palette;
  readonly filter?: boolean | undefined;
  /** Finds the entries for a filter; default: those that have all its words. */
  readonly search?: ((filter: string) => readonly AnswerEntry<T>[]) | undefined;
  /** Several entries can be marked and chosen together. */
  readonly multiple?: boolean | undefined;
}

const SHORT_LIST = 12;

class ChoiceList<T> {
  readonly marked = new Set<AnswerEntry<T>>();
  filter = "";
  readonly #options: ChoiceListOptions<T>;
  #entries: readonly AnswerEntry<T>[];
  #at = 0;
  #top = 0;
  #rows = 1;

  constructor(options: ChoiceListOptions<T>) {
    this.#options = options;
    this.#entries = options.search?.("") ?? options.entries;
  }

  /** Undefined where nothing is selected. */
  get current(): AnswerEntry<T> | undefined {
    return this.#entries[this.#at];
  }

  /** Position of the current entry among the filtered ones, from 1. */
  get position(): { readonly at: number; readonly of: number } {
    return { at: Math.min(this.#at + 1, this.#entries.length), of: this.#entries.length };
  }

  /** Handles a key; false for keys without a meaning in a list. */
  input(event: InputEvent): boolean {
    const filter = this.#options.filter ? typed(this.filter, event) : undefined;
    if (event.kind === "paste") return filter !== undefined && this.#narrow(filter);
    const { key } = event;
    const step = { up: -1, down: 1, "ctrl+p": -1, "ctrl+n": 1 }[key];
    const page = { pageUp: -1, pageDown: 1 }[key];
    if (step !== undefined) {
      return this.#go(this.#at < 0 ? Math.min(0, step) : this.#at + step, "around");
    }
    if (page !== undefined) return this.#go(this.#at + page * Math.max(1, this.#rows - 1), "stop");
    if (key === "home" || key === "end") return this.#go(key === "home" ? 0 : Infinity, "stop");
    return filter !== undefined && this.#narrow(filter);
  }

  #go(to: number, edge: "around" | "stop"): true {
    const count = this.#entries.length;
    const within = Math.max(0, Math.min(to, count - 1));
    this.#at = edge === "stop" || count === 0 ? within : (to + count) % count;
    return true;
  }

  /** Toggles the mark of an entry; false for one that cannot be marked. */
  mark(entry: AnswerEntry<T> | undefined): boolean {
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

  #narrow(filter: string): true {
    this.filter = filter;
    this.#entries = this.#options.search?.(filter) ?? this.#withWords(filter);
    return this.#go(0, "stop");
  }

  #withWords(filter: string): readonly AnswerEntry<T>[] {
    const { entries } = this.#options;
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return entries;
    return entries.filter(({ label, detail = "" }) => {
      const text = `${label} ${detail}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }

  /** Searches again, where there is more to find. */
  refresh(): void {
    this.#entries = this.#options.search?.(this.filter) ?? this.#entries;
    this.#go(this.#at, "stop");
  }

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

  #lead(entry: AnswerEntry<T>, index: number): string {
    const { multiple, filter } = this.#options;
    const pointer = index === this.#at ? "›" : " ";
    const number = filter || index > 8 ? "" : `${index + 1}. `;
    const box = !multiple || !("value" in entry) ? "" : this.marked.has(entry) ? "[x] " : "[ ] ";
    return `${pointer} ${number}${box}`;
  }

  /** One row: the detail behind the label as far as it fits. */
  #row(entry: AnswerEntry<T>, index: number, columns: number): string {
    const { palette } = this.#options;
    const lead = this.#lead(entry, index);
    const label = fitDisplay(oneLine(entry.label, 1000), Math.max(1, columns - displayWidth(lead)));
    const left = columns - displayWidth(lead) - displayWidth(label) - 2;
    const detail = entry.detail === undefined || left < 6
      ? ""
      : fitDisplay(oneLine(entry.detail, 1000), left);
    return this.#colored(index, `${lead}${label}`, detail === "" ? "" : palette.dim(`  ${detail}`));
  }

  /** Rows of each entry, wrapped. */
  #blocks(columns: number): string[][] {
    const { palette } = this.#options;
    const mark = palette.warning;
    return this.#entries.map((entry, index) => {
      const lead = this.#lead(entry, index);
      const indent = " ".repeat(displayWidth(lead));
      const space = columns - indent.length;
      const key = entry.key === undefined ? "" : ` (${entry.key})`;
      // A label with newlines could look like further entries.
      const label = wordRows(entry.label.replaceAll("\n", "\\x0a") + key, space, mark);
      const detail = entry.detail ?? "";
      const last = label.at(-1) ?? "";
      const inline = detail !== "" && !detail.includes("\n") &&
        displayWidth(last) + 2 + displayWidth(detail) <= space;
      const below = detail === "" || inline ? [] : wordRows(detail, space, mark);
      return [
        ...label.map((text, row) =>
          this.#colored(
            index,
            `${row === 0 ? lead : indent}${text}`,
            inline && row === label.length - 1
              ? palette.dim(`  ${wordRows(detail, space, mark).join("")}`)
              : "",
          )
        ),
        ...below.map((text) => palette.dim(`${indent}${text}`)),
      ];
    });
  }

  #colored(index: number, text: string, rest: string): string {
    return `${index === this.#at ? this.#options.palette.accent(text) : text}${rest}`;
  }
}

function clamp(value: number, low: number, high: number): number {
  return Math.max(low, Math.min(value, high));
}

export interface PanelStyle {
  readonly palette: Palette;
  readonly texts: Texts["overlay"];
  /** Draws what changed without a key. */
  readonly changed: () => void;
}

export interface PanelOptions<T> {
  /** Its first line is the question. */
  readonly title: string;
  readonly tone?: "plain" | "warning" | "danger";
  /** The text between title and choices, or its rows for a width. */
  readonly body?: string | ((columns: number) => readonly string[]);
  /** The answers. Without them the panel is a text to read, or asks for `input`. */
  readonly entries?: readonly AnswerEntry<T>[];
  readonly input?: WrittenEntry<T>;
  readonly current?: number | undefined;
  /** The letter of an entry that Enter does not answer with, but only the letter once it is selected. */
  readonly confirmed?: string | undefined;
  /** The entry to begin with as long as a part of the body has not been in view. */
  readonly unseen?: number | undefined;
  readonly filter?: boolean | undefined;
  /** With `filter`: finds the entries, in place of the words of the filter. */
  readonly search?: ((filter: string) => readonly AnswerEntry<T>[]) | undefined;
  /** It decides nothing, so `q` leaves it as well. */
  readonly reading?: boolean | undefined;
  /** The hint for Esc, where that does more than leave. */
  readonly leave?: string | undefined;
  /** Several entries can be chosen; makes one value of theirs. */
  readonly multiple?: ((values: readonly T[]) => T) | undefined;
  /** Called with the current value as it changes. */
  readonly onMove?: ((value: T) => void) | undefined;
}

type WrittenEntry<T> = Extract<AnswerEntry<T>, { readonly write: unknown }>;

interface Writing<T> {
  readonly entry: WrittenEntry<T>;
  readonly composer: Composer;
  readonly problem?: string;
}

/** From this height on the rule comes before less important parts. */
const ROOMY = 10;

const PREVIEW_ROWS = 5;

/** A dialog: a title, and below it a text, a list of answers, an input, or several of them. */
export class Panel<T> implements Overlay<T> {
  readonly answer: Promise<T | undefined>;
  readonly #options: PanelOptions<T>;
  readonly #style: PanelStyle;
  readonly #entries: readonly AnswerEntry<T>[];
  #list: ChoiceList<T>;
  /** Lists that lead to the present one. */
  readonly #parents: ChoiceList<T>[] = [];
  #resolve: (value: T | undefined) => void = () => {};
  #body: ScrollText | undefined;
  #writing: Writing<T> | undefined;
  #previewed: AnswerEntry<T> | undefined;
  #moved = false;
  /** Entries have previews, which are shown in place of a body. */
  readonly #previews: boolean;

  constructor(options: PanelOptions<T>, style: PanelStyle) {
    this.#options = options;
    this.#style = style;
    const { body, entries = [], input, current = 0, filter, search, multiple } = options;
    this.#entries = entries;
    this.#list = new ChoiceList({ entries, palette: style.palette, filter, search, multiple: !!multiple });
    this.#list.index = current;
    if (typeof body === "string") this.#body = new ScrollText((columns) => this.#wordRows(body, columns));
    else if (body) this.#body = new ScrollText(body);
    this.#previews = entries.some(({ preview }) => preview !== undefined);
    this.answer = new Promise((resolve) => this.#resolve = resolve);
    this.#preview();
    if (input) this.#write(input);
  }

  get #isText(): boolean {
    return this.#options.entries === undefined && !this.#options.input;
  }

  input(event: InputEvent): void {
    if (this.#writing) return this.#writeInput(event, this.#writing);
    if (event.kind === "key") {
      const { key } = event;
      const parent = key === "escape" ? this.#parents.pop() : undefined;
      if (parent) return void (this.#list = parent);
      if (key === "escape" || key === "ctrl+c") return this.cancel();
      if (key === "enter") return this.#isText ? this.cancel() : this.#enter();
      if (key === "q" && (this.#isText || this.#options.reading)) return this.cancel();
      // In a list with previews, paging moves in the list.
      if (!this.#previews && this.#body?.input(key, this.#isText)) return;
    }
    if (!this.#list.input(event)) return;
    this.#moved = true;
    this.#preview();
  }

  wants(text: string): boolean {
    const { filter, reading } = this.#options;
    return this.#isText || this.#writing !== undefined || !!filter || (!!reading && text === "q");
  }

  select(text: string): (() => void) | undefined {
    const { current } = this.#list;
    if (text === " ") {
      const isMarked = this.#options.multiple && this.#list.mark(current);
      return isMarked ? () => this.#list.mark(current) : undefined;
    }
    const [to, from, moved] = [this.#list.indexOf(text), this.#list.index, this.#moved];
    if (to < 0) return undefined;
    const list = this.#list;
    const go = (index: number, moved: boolean) => {
      list.index = index;
      this.#moved = moved;
      this.#preview();
    };
    go(to, true);
    return () => go(from, moved);
  }

  confirm(text: string): boolean {
    const { current } = this.#list;
    if (!current || !this.#needsLetter(current) || current.key !== text || !("value" in current)) {
      return false;
    }
    this.#resolve(current.value);
    return true;
  }

  #needsLetter({ key }: AnswerEntry<T>): boolean {
    return key !== undefined && key === this.#options.confirmed;
  }

  /** Only what refuses is chosen by a single key where Enter alone does not allow either. */
  answerBy(key: string): boolean {
    const { current = 0, filter, reading } = this.#options;
    const isSafe = key === "n" || this.#entries[current]?.key === "y";
    const entry = this.#entries.find((each) => each.key === key);
    if (!entry || !isSafe || filter || reading || this.#writing || this.#parents.length > 0) return false;
    if ("value" in entry) this.#resolve(entry.value);
    else if ("entries" in entry) this.#choose(entry);
    else if (entry.optional) this.#written(entry, "");
    else return false;
    return true;
  }

  cancel(): void {
    this.#resolve(undefined);
  }

  #enter(): void {
    const { multiple } = this.#options;
    const { current, marked } = this.#list;
    if (!current || this.#needsLetter(current)) return;
    if (!multiple || !("value" in current)) return this.#choose(current);
    const values = this.#entries.flatMap((entry) =>
      "value" in entry && (marked.has(entry) || (marked.size === 0 && entry === current)) ? [entry.value] : []
    );
    this.#resolve(multiple(values));
  }

  #choose(entry: AnswerEntry<T>): void {
    if ("value" in entry) return this.#resolve(entry.value);
    if ("entries" in entry) {
      this.#parents.push(this.#list);
      this.#list = new ChoiceList({ entries: entry.entries, palette: this.#style.palette });
      // An answer that is saved needs another key than the one that opened the list.
      this.#list.index = -1;
      return;
    }
    // Enter without a movement asks for no text.
    if (entry.optional && !this.#moved) return this.#written(entry, "");
    this.#write(entry);
  }

  #write(entry: WrittenEntry<T>): void {
    const composer = new Composer({
      palette: this.#style.palette,
      onSubmit: ({ text }) => {
        const problem = entry.check?.(text.trim());
        if (problem === undefined) return this.#written(entry, text.trim());
        composer.text = text;
        this.#writing = { entry, composer, problem };
      },
    });
    composer.text = entry.initial ?? "";
    this.#writing = { entry, composer };
  }

  #written(entry: WrittenEntry<T>, text: string): void {
    const written = entry.write(text);
    const { multiple } = this.#options;
    const marked = [...this.#list.marked].flatMap((each) => "value" in each ? [each.value] : []);
    this.#resolve(multiple ? multiple([...marked, written]) : written);
  }

  #writeInput(event: InputEvent, { entry, composer }: Writing<T>): void {
    const key = event.kind === "key" ? event.key : "";
    const leaves = key === "escape" || key === "ctrl+c";
    if (leaves && this.#options.input) this.cancel();
    else if (leaves) this.#writing = undefined;
    else if (key === "enter" && entry.optional && composer.text.trim() === "") this.#written(entry, "");
    else composer.input(event);
  }

  /** Searches again, where `search` finds more than before. */
  refresh(): void {
    this.#list.refresh();
    this.#style.changed();
  }

  #preview(): void {
    const { current } = this.#list;
    if (!current || current === this.#previewed) return;
    this.#previewed = current;
    if ("value" in current) this.#options.onMove?.(current.value);
    if (!current.preview) return;
    const text = current.preview();
    if (typeof text === "string") this.#setPreview(text);
    else {
      text.then((text) => {
        if (this.#previewed !== current) return;
        this.#setPreview(text);
        this.#style.changed();
      }, () => {});
    }
  }

  #setPreview(text: string): void {
    this.#body = new ScrollText((columns) => this.#wordRows(text, columns).map(this.#style.palette.dim));
  }

  #wordRows(text: string, columns: number): string[] {
    return wordRows(text, columns, this.#style.palette.warning);
  }

  frame(columns: number, rows: number): Frame {
    const { input, filter, current = 0, unseen } = this.#options;
    const { dim } = this.#style.palette;
    const inputRows = input ? rows - 1 : Math.floor(rows / 2);
    const writing = this.#writing?.composer.frame(columns, Math.max(1, inputRows));
    const title = this.#title(columns);
    const body = this.#previews ? PREVIEW_ROWS : this.#body?.rows(columns).length ?? 0;
    const list = writing ? this.#writingLabel(columns) : undefined;
    const height = list?.length ?? this.#list.height(columns);
    const hint = hintRows(this.#hints(true, true), columns);
    const given = dealRows(rows, [
      ["input", writing?.lines.length ?? 0],
      ["title", 1],
      ["list", Math.min(1, height)],
      ["body", Math.min(1, body)],
      ["filter", filter && !writing ? 1 : 0],
      ["hint", this.#isText ? hint.length : 0],
      ["title", Math.min(3, title.length)],
      ["list", Math.min(height, Math.max(5, Math.floor(rows / 3)))],
      ["body", Math.min(4, body)],
      ["hint", hint.length],
      ["rule", rows < ROOMY ? 0 : 1],
      ["body", Math.min(Math.floor(rows / 2), body)],
      ["list", height],
      ["rule", 1],
      ["body", body],
      ["title", title.length],
    ]);
    const shown = this.#bodyRows(columns, given.body);
    if (unseen !== undefined && !this.#moved && this.#parents.length === 0) {
      this.#list.index = this.#body?.seen ? current : unseen;
    }
    const isCut = !this.#previews && (this.#body?.cut ?? false);
    const hints = hintRows(this.#hints(isCut, height > given.list), columns);
    return stack([
      { lines: given.rule > 0 ? [this.#tone("─".repeat(columns))] : [] },
      { lines: title.slice(0, given.title) },
      { lines: shown },
      { lines: given.filter > 0 ? [this.#filterLine()] : [] },
      { lines: list?.slice(0, given.list) ?? this.#list.view(columns, given.list) },
      writing ?? { lines: [] },
      { lines: hints.slice(0, given.hint).map(dim) },
    ]);
  }

  /** Previews take the same space for every entry, so that the list does not move. */
  #bodyRows(columns: number, space: number): string[] {
    if (space === 0) return [];
    const rows = this.#body?.view(columns, space, this.#position) ?? [];
    return this.#previews ? [...rows, ...Array<string>(space - rows.length).fill("")] : rows;
  }

  #title(columns: number): string[] {
    const { palette } = this.#style;
    const [first = "", ...rest] = this.#options.title.split("\n");
    const isQuestion = this.#options.entries !== undefined;
    return [
      ...this.#wordRows(first, columns).map((row) => this.#tone(palette.bold(row))),
      ...rest.flatMap((line) => this.#wordRows(line, columns)).map(isQuestion ? palette.dim : palette.bold),
    ];
  }

  #tone(text: string): string {
    const { palette } = this.#style;
    const { tone = "plain" } = this.#options;
    return tone === "danger" ? palette.bad(text) : tone === "warning" ? palette.warning(text) : text;
  }

  readonly #position = (first: number, last: number, all: number): string =>
    this.#style.palette.dim(this.#style.texts.lines(first, last, all));

  #filterLine(): string {
    const { palette, texts } = this.#style;
    const { filter, position: { at, of } } = this.#list;
    const count = palette.dim(`  ${at}/${of}`);
    return `${palette.accent("/")} ${filter === "" ? palette.dim(texts.filter) : filter}${count}`;
  }

  #writingLabel(columns: number): string[] {
    const { palette } = this.#style;
    const { entry, problem } = this.#writing ?? {};
    const label = entry?.prompt ?? entry?.label ?? "";
    return [
      ...(label === "" ? [] : this.#wordRows(label, columns).map(palette.accent)),
      ...(problem === undefined ? [] : this.#wordRows(problem, columns).map(palette.bad)),
    ];
  }

  /** The keys that mean something, where parts are out of view. */
  #hints(bodyCut: boolean, listCut: boolean): string[] {
    const { hints } = this.#style.texts;
    const { filter, multiple, reading, input, confirmed, leave = hints.leave } = this.#options;
    const { current } = this.#list;
    if (this.#writing) return [hints.send, input ? leave : hints.back];
    if (this.#isText) return [hints.move, hints.scroll, hints.leaveReading];
    const { at, of } = this.#list.position;
    return [
      !filter && listCut ? `${hints.move} ${at}/${of}` : hints.move,
      ...(multiple ? [hints.mark] : []),
      confirmed !== undefined && current?.key === confirmed ? hints.confirm(confirmed) : hints.choose,
      ...(bodyCut ? [hints.scroll] : []),
      reading ? hints.leaveReading : this.#parents.length > 0 ? hints.back : leave,
    ];
  }
}
