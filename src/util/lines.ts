/** Cuts a stream of UTF-8 bytes into lines, without their line feeds. */
export class LineSplitter {
  readonly #decoder = new TextDecoder();
  readonly #most: number;
  readonly #tooLong: () => void;
  #parts: string[] = [];
  #length = 0;

  /** A line of more than `most` characters is dropped as it comes, and `tooLong` called. */
  constructor(most = Infinity, tooLong: () => void = () => {}) {
    [this.#most, this.#tooLong] = [most, tooLong];
  }

  push(chunk: Uint8Array): string[] {
    const [first = "", ...more] = this.#decoder.decode(chunk, { stream: true }).split("\n");
    this.#add(first);
    const lines: string[] = [];
    for (const next of more) {
      if (this.#length <= this.#most) lines.push(this.#parts.join(""));
      [this.#parts, this.#length] = [[], 0];
      this.#add(next);
    }
    return lines;
  }

  /** The last line, which has no line feed; "" when there is none. */
  end(): string {
    this.#add(this.#decoder.decode());
    const last = this.#parts.join("");
    [this.#parts, this.#length] = [[], 0];
    return last;
  }

  #add(text: string): void {
    const fitted = this.#length <= this.#most;
    this.#length += text.length;
    if (this.#length <= this.#most) this.#parts.push(text);
    else {
      this.#parts = [];
      if (fitted) this.#tooLong();
    }
  }
}

/** The lines of a stream; one that the end cuts off is left out. */
export async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const splitter = new LineSplitter();
  for await (const chunk of stream) yield* splitter.push(chunk);
}
