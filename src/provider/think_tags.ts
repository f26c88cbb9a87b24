const OPEN = /^\s*<(think|thinking)>/;
const LONGEST_OPEN = "<thinking>";

/** A piece of a reply's text after reasoning in tags has been told apart. */
export interface ReasoningSplit {
  readonly reasoning: string;
  readonly text: string;
}

/**
 * Tells `<think>…</think>` at the start of a reply from the answer, across any split of the text.
 * Tags after the first visible character are left alone: there they are what the answer is about.
 */
export class ThinkTags {
  #state: "start" | "inside" | "done" = "start";
  #held = "";
  #close = "";

  /** True when text may be passed on as it is from here on. */
  get done(): boolean {
    return this.#state === "done";
  }

  push(piece: string): ReasoningSplit {
    this.#held += piece;
    let reasoning = "";
    while (true) {
      if (this.#state === "done") return { reasoning, text: this.#take(this.#held.length) };
      if (this.#state === "start") {
        if (!this.#opened()) return { reasoning, text: this.done ? this.#take(this.#held.length) : "" };
      } else {
        const end = this.#held.indexOf(this.#close);
        if (end < 0) {
          return { reasoning: reasoning + this.#take(this.#held.length - this.#heldBack()), text: "" };
        }
        reasoning += this.#take(end);
        this.#take(this.#close.length);
        this.#state = "start";
      }
    }
  }

  /** Returns what is still held back when the reply ends. */
  end(): ReasoningSplit {
    const rest = this.#take(this.#held.length);
    if (this.#state === "inside") return { reasoning: rest, text: "" };
    return { reasoning: "", text: rest.trim() === "" ? "" : rest };
  }

  /** Looks for an opening tag; false when more text is needed or there is none, which ends the search. */
  #opened(): boolean {
    const tag = OPEN.exec(this.#held);
    if (tag) {
      this.#take(tag[0].length);
      this.#close = `</${tag[1]}>`;
      this.#state = "inside";
      return true;
    }
    const seen = this.#held.trimStart();
    const undecided = seen === "" || LONGEST_OPEN.startsWith(seen) || "<think>".startsWith(seen);
    if (undecided) return false;
    this.#state = "done";
    // Blank lines between the closing tag and the answer belong to neither.
    if (this.#close !== "") this.#held = seen;
    return false;
  }

  /** Length of the tail that may be the beginning of the closing tag. */
  #heldBack(): number {
    for (let n = Math.min(this.#close.length - 1, this.#held.length); n > 0; n--) {
      if (this.#close.startsWith(this.#held.slice(-n))) return n;
    }
    return 0;
  }

  #take(length: number): string {
    const taken = this.#held.slice(0, length);
    this.#held = this.#held.slice(length);
    return taken;
  }
}
