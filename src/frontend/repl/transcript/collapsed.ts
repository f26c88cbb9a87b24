/** Something of which the transcript shows only a part. */
export interface Folded {
  readonly kind: "thought" | "output" | "diff" | "summary";
  /** One line that says what it is of. */
  readonly title: string;
  readonly text: string;
}

/** As much is kept as a person may want to look at again; the session file has everything. */
const MAX_ENTRIES = 200;
const MAX_CHARACTERS = 4 * 1024 * 1024;

/** What was folded lately, newest last. */
export class CollapsedItems {
  readonly #entries: Folded[] = [];
  #characters = 0;

  add(entry: Folded): void {
    if (entry.text.trim() === "") return;
    this.#entries.push(entry);
    this.#characters += entry.text.length;
    while (
      this.#entries.length > 1 && (this.#entries.length > MAX_ENTRIES || this.#characters > MAX_CHARACTERS)
    ) {
      this.#characters -= this.#entries.shift()?.text.length ?? 0;
    }
  }

  get entries(): readonly Folded[] {
    return this.#entries;
  }

  clear(): void {
    this.#entries.length = 0;
    this.#characters = 0;
  }
}
