/**
 * Finds where a JSON object or list ends without reading it twice: state is kept between calls, so a value
 * that arrives in many pieces is looked at once.
 */
export class JsonExtent {
  #at: number;
  #depth = 0;
  #quoted = false;

  /** `start`: index of the opening bracket. */
  constructor(start: number) {
    this.#at = start;
  }

  /** Index behind the closing bracket; -1 as long as it is not there. */
  end(text: string): number {
    for (; this.#at < text.length; this.#at++) {
      const char = text[this.#at];
      if (this.#quoted) {
        if (char === "\\") {
          // The escaped character may be in the next piece.
          if (this.#at + 1 >= text.length) return -1;
          this.#at++;
        } else if (char === '"') this.#quoted = false;
      } else if (char === '"') this.#quoted = true;
      else if (char === "{" || char === "[") this.#depth++;
      else if (char === "}" || char === "]") {
        this.#depth--;
        if (this.#depth === 0) return this.#at + 1;
      }
    }
    return -1;
  }
}

/** Index behind the object or list that begins at `start`; -1 when it is not closed. */
export function jsonEnd(text: string, start: number): number {
  return new JsonExtent(start).end(text);
}
