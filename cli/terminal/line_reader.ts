const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Lines of standard input, read when they are asked for. */
export class LineReader {
  readonly #decoder = new TextDecoder();
  readonly #buffer = new Uint8Array(64 * 1024);
  #rest = "";
  #ended = false;

  /** The next line without its end; undefined when there is none any more, or when the signal aborts. */
  async next(signal?: AbortSignal): Promise<string | undefined> {
    for (let from = 0;;) {
      const end = this.#rest.indexOf("\n", from);
      if (end >= 0) {
        const line = this.#rest.slice(0, end);
        this.#rest = this.#rest.slice(end + 1);
        return line.replace(/\r$/, "");
      }
      from = this.#rest.length;
      if (this.#ended || from > MAX_LINE_BYTES) return this.#last();
      if (signal?.aborted) return undefined;
      const count = await Deno.stdin.read(this.#buffer).catch(() => null);
      this.#ended = count === null;
      this.#rest += this.#decoder.decode(this.#buffer.subarray(0, count ?? 0), { stream: count !== null });
    }
  }

  #last(): string | undefined {
    const line = this.#rest;
    this.#rest = "";
    return line === "" ? undefined : line;
  }
}
