/** Cuts a stream of UTF-8 bytes into lines, without their line feeds. */
export class LineSplitter {
  readonly #decoder = new TextDecoder();
  #parts: string[] = [];

  push(chunk: Uint8Array): string[] {
    const [first = "", ...more] = this.#decoder.decode(chunk, { stream: true }).split("\n");
    this.#parts.push(first);
    const lines: string[] = [];
    for (const next of more) {
      lines.push(this.#parts.join(""));
      this.#parts = [next];
    }
    return lines;
  }

  /** The last line, which has no line feed; "" when there is none. */
  end(): string {
    const last = this.#parts.join("") + this.#decoder.decode();
    this.#parts = [];
    return last;
  }
}

/** The lines of a stream; one that the end cuts off is left out. */
export async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const splitter = new LineSplitter();
  for await (const chunk of stream) yield* splitter.push(chunk);
}
