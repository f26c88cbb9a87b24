import type { Texts } from "../../../i18n/mod.ts";
import type { Palette } from "../../../view/mod.ts";
import { Composer } from "../composer/composer.ts";
import { type Frame, stack } from "../screen/view.ts";
import type { InputEvent } from "../terminal/terminal.ts";
import { ChoiceList, type Entry } from "./choice_list.ts";
import { wordRows } from "./exact_text.ts";
import type { Overlay } from "./overlay.ts";
import { dealRows, hintRows } from "./panel.ts";
import { ScrollText } from "./scroll_text.ts";

/** What every panel is drawn with. */
export interface PanelStyle {
  readonly palette: Palette;
  readonly texts: Texts["overlay"];
  /** Something of the panel looks different, and no key did it. */
  readonly changed: () => void;
}

export interface ChoicePanelOptions<T> {
  /** Its first line is the question. */
  readonly title: string;
  readonly tone?: "plain" | "warning" | "danger";
  /** What is chosen about, between title and choices. */
  readonly body?: ScrollText;
  readonly entries: readonly Entry<T>[];
  readonly current?: number | undefined;
  /** The entry to begin with as long as a part of what is chosen about has not been in view. */
  readonly unseen?: number | undefined;
  readonly filter?: boolean | undefined;
  /** Nothing is decided by it: `q` leaves it as well. */
  readonly reading?: boolean | undefined;
  /** What Esc does, where that is more than to leave. */
  readonly leave?: string | undefined;
  /** Several can be chosen; makes one value of theirs. */
  readonly multiple?: ((values: readonly T[]) => T) | undefined;
  /** Hears of the current value as it changes. */
  readonly onMove?: ((value: T) => void) | undefined;
}

type WrittenEntry<T> = Extract<Entry<T>, { readonly write: unknown }>;

interface Writing<T> {
  readonly entry: WrittenEntry<T>;
  readonly composer: Composer;
  readonly problem?: string;
}

/** A panel of so many rows is set apart by a rule, whatever else has to give way. */
const ROOMY = 10;

/** Rows for what is behind an entry. */
const PREVIEW_ROWS = 5;

/** A question with a list of answers, some of which the user may write. */
export class ChoicePanel<T> implements Overlay<T> {
  readonly answer: Promise<T | undefined>;
  readonly #options: ChoicePanelOptions<T>;
  readonly #style: PanelStyle;
  #list: ChoiceList<T>;
  /** Lists that lead to the present one. */
  readonly #before: ChoiceList<T>[] = [];
  #resolve: (value: T | undefined) => void = () => {};
  #body: ScrollText | undefined;
  /** The answer that is being written. */
  #writing: Writing<T> | undefined;
  #shown: Entry<T> | undefined;
  /** The user has moved the selection. */
  #moved = false;
  /** Entries have something behind them that is shown in place of a body. */
  readonly #previews: boolean;

  constructor(options: ChoicePanelOptions<T>, style: PanelStyle) {
    this.#options = options;
    this.#style = style;
    const { entries, current = 0, filter, multiple } = options;
    this.#list = new ChoiceList({ entries, palette: style.palette, filter, multiple: !!multiple });
    this.#list.index = current;
    this.#body = options.body;
    this.#previews = entries.some(({ preview }) => preview !== undefined);
    this.answer = new Promise((resolve) => this.#resolve = resolve);
    this.#preview();
  }

  input(event: InputEvent): void {
    if (this.#writing) return this.#write(event, this.#writing);
    if (event.kind === "key") {
      const before = event.key === "escape" ? this.#before.pop() : undefined;
      if (before) return void (this.#list = before);
      if (event.key === "escape" || event.key === "ctrl+c") return this.cancel();
      if (event.key === "enter") return this.#enter();
      if (event.key === "q" && this.#options.reading) return this.cancel();
      // In a list with previews a page is one of the list.
      if (!this.#previews && this.#body?.input(event.key)) return;
    }
    if (!this.#list.input(event)) return;
    this.#moved = true;
    this.#preview();
  }

  wants(text: string): boolean {
    const { filter, reading } = this.#options;
    return this.#writing !== undefined || !!filter || (!!reading && text === "q");
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

  cancel(): void {
    this.#resolve(undefined);
  }

  #enter(): void {
    const { multiple } = this.#options;
    const { current, marked } = this.#list;
    if (!current) return;
    if (!multiple || !("value" in current)) return this.#choose(current);
    const values = this.#options.entries.flatMap((entry) =>
      "value" in entry && (marked.has(entry) || (marked.size === 0 && entry === current)) ? [entry.value] : []
    );
    this.#resolve(multiple(values));
  }

  #choose(entry: Entry<T>): void {
    if ("value" in entry) return this.#resolve(entry.value);
    if ("entries" in entry) {
      this.#before.push(this.#list);
      this.#list = new ChoiceList({ entries: entry.entries, palette: this.#style.palette });
      // What may be saved is chosen by another key than the one that opened the list.
      this.#list.index = -1;
      return;
    }
    // A mere Enter asks for no text.
    if (entry.optional && !this.#moved) return this.#written(entry, "");
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

  #write(event: InputEvent, { entry, composer }: Writing<T>): void {
    const key = event.kind === "key" ? event.key : "";
    if (key === "escape" || key === "ctrl+c") this.#writing = undefined;
    else if (key === "enter" && entry.optional && composer.text.trim() === "") this.#written(entry, "");
    else composer.input(event);
  }

  /** Shows what is behind the current entry. */
  #preview(): void {
    const { current } = this.#list;
    if (!current || current === this.#shown) return;
    this.#shown = current;
    if ("value" in current) this.#options.onMove?.(current.value);
    if (!current.preview) return;
    const text = current.preview();
    if (typeof text === "string") this.#setPreview(text);
    else {
      text.then((text) => {
        if (this.#shown !== current) return;
        this.#setPreview(text);
        this.#style.changed();
      }, () => {});
    }
  }

  #setPreview(text: string): void {
    const { palette } = this.#style;
    this.#body = new ScrollText((columns) =>
      wordRows(text, columns, palette.warning).map((row) => palette.dim(row))
    );
  }

  frame(columns: number, rows: number): Frame {
    const writing = this.#writing?.composer.frame(columns, Math.max(1, Math.floor(rows / 2)));
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
      ["filter", this.#options.filter && !writing ? 1 : 0],
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
    const { current = 0, unseen } = this.#options;
    if (unseen !== undefined && !this.#moved && this.#before.length === 0) {
      this.#list.index = this.#body?.seen ? current : unseen;
    }
    const hints = hintRows(
      this.#hints(!this.#previews && (this.#body?.cut ?? false), height > given.list),
      columns,
    );
    return stack([
      { lines: given.rule > 0 ? [this.#tone("─".repeat(columns))] : [] },
      { lines: title.slice(0, given.title) },
      { lines: shown },
      { lines: given.filter > 0 ? [this.#filterLine()] : [] },
      { lines: list?.slice(0, given.list) ?? this.#list.view(columns, given.list) },
      writing ?? { lines: [] },
      { lines: hints.slice(0, given.hint).map(this.#style.palette.dim) },
    ]);
  }

  /** Previews take the same room for every entry, so that the list stays where it is. */
  #bodyRows(columns: number, room: number): string[] {
    if (room === 0) return [];
    const rows = this.#body?.view(columns, room, this.#position) ?? [];
    return this.#previews ? [...rows, ...Array<string>(room - rows.length).fill("")] : rows;
  }

  #title(columns: number): string[] {
    const { palette } = this.#style;
    const [first = "", ...rest] = this.#options.title.split("\n");
    const rows = (line: string) => wordRows(line, columns, palette.warning);
    return [
      ...rows(first).map((row) => this.#tone(palette.bold(row))),
      ...rest.flatMap(rows).map((row) => palette.dim(row)),
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
    return [
      ...wordRows(entry?.prompt ?? entry?.label ?? "", columns, palette.warning).map(palette.accent),
      ...(problem === undefined ? [] : wordRows(problem, columns, palette.warning).map(palette.bad)),
    ];
  }

  /** The keys that mean something, where parts are out of view. */
  #hints(bodyCut: boolean, listCut: boolean): string[] {
    const { hints } = this.#style.texts;
    if (this.#writing) return [hints.send, hints.back];
    const { filter, multiple, reading } = this.#options;
    const leave = this.#before.length > 0 ? hints.back : this.#options.leave ?? hints.leave;
    const { at, of } = this.#list.position;
    return [
      !filter && listCut ? `${hints.move} ${at}/${of}` : hints.move,
      ...(multiple ? [hints.mark] : []),
      hints.choose,
      ...(bodyCut ? [hints.scroll] : []),
      reading ? hints.leaveReading : leave,
    ];
  }
}
