/** A text of any length of which as much is shown as there is room for. */
export class ScrollText {
  readonly #render: (columns: number) => readonly string[];
  #cached: { readonly columns: number; readonly rows: readonly string[] } | undefined;
  #top = 0;
  #shown = 0;
  #seen = false;

  /** `render` breaks the text into rows of a width; it is asked again only for another width. */
  constructor(render: (columns: number) => readonly string[]) {
    this.#render = render;
  }

  rows(columns: number): readonly string[] {
    if (this.#cached?.columns !== columns) this.#cached = { columns, rows: this.#render(columns) };
    return this.#cached.rows;
  }

  /** The part in view; where something is left out the last row is what `position` says of it. */
  view(
    columns: number,
    room: number,
    position: (first: number, last: number, all: number) => string,
  ): string[] {
    const rows = this.rows(columns);
    const cut = rows.length > room;
    this.#shown = cut && room > 1 ? room - 1 : room;
    this.#top = Math.max(0, Math.min(this.#top, rows.length - this.#shown));
    const shown = rows.slice(this.#top, this.#top + this.#shown);
    this.#seen ||= this.#top + this.#shown >= rows.length;
    return cut && room > 1
      ? [...shown, position(this.#top + 1, this.#top + shown.length, rows.length)]
      : shown;
  }

  /** The text is another one now; it stays scrolled as it was. */
  update(): void {
    this.#cached = undefined;
    this.#seen = false;
  }

  /** Its end has been in view. */
  get seen(): boolean {
    return this.#seen;
  }

  /** Something of it is out of view. */
  get cut(): boolean {
    return (this.#cached?.rows.length ?? 0) > this.#shown;
  }

  /** Takes a key that scrolls; false where nothing is out of view or the key means something else. */
  input(key: string): boolean {
    const page = Math.max(1, this.#shown - 1);
    const by: Readonly<Record<string, number>> = {
      pageUp: -page,
      "ctrl+b": -page,
      pageDown: page,
      "ctrl+f": page,
      "shift+up": -1,
      "shift+down": 1,
    };
    const step = by[key];
    if (step === undefined || !this.cut) return false;
    this.#top = Math.max(0, this.#top + step);
    return true;
  }

  /** Goes to the beginning or the end. */
  jump(to: "start" | "end"): void {
    this.#top = to === "start" ? 0 : this.#cached?.rows.length ?? 0;
  }

  /** Moves by rows. */
  move(rows: number): void {
    this.#top = Math.max(0, this.#top + rows);
  }
}
