/** An event of a stream of server-sent events; a reader resumes behind the last `id`. */
export function serverEvent(name: string, data: unknown, id?: string): string {
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Bytes that wait for a reader before it is behind. */
const MAX_UNSENT = 1024 * 1024;

/**
 * A stream of server-sent events for one reader, which nothing waits for.
 *
 * Contract: one that is behind takes no more bytes. Once it has read what waits, it asks `more` for what it
 * has missed.
 */
export class EventStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #chunks: Uint8Array[] = [];
  readonly #encoder = new TextEncoder();
  #unsent = 0;
  #isClosed = false;
  #wake = () => {};

  /** `more` returns events, or an empty text; `left` is called when the reader is gone. */
  constructor(more: () => string, left: () => void) {
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      for (;;) {
        if (this.#chunks.length === 0 && !this.#isClosed) this.write(more());
        const chunk = this.#chunks.shift();
        this.#unsent -= chunk?.length ?? 0;
        if (chunk) return controller.enqueue(chunk);
        if (this.#isClosed) return controller.close();
        await new Promise<void>((resolve) => this.#wake = resolve);
      }
    };
    this.body = new ReadableStream({ pull, cancel: left }, { highWaterMark: 0 });
  }

  /** Bytes that the reader has not taken. */
  get unsent(): number {
    return this.#unsent;
  }

  /** Adds bytes, which several streams may share; false where the reader is behind. */
  take(bytes: Uint8Array): boolean {
    if (this.#unsent > MAX_UNSENT) return false;
    if (bytes.length > 0) this.#chunks.push(bytes);
    this.#unsent += bytes.length;
    this.#wake();
    return true;
  }

  /** Adds events even where the reader is behind. */
  write(text: string): void {
    const bytes = this.#encoder.encode(text);
    if (bytes.length > 0) this.#chunks.push(bytes);
    this.#unsent += bytes.length;
    this.#wake();
  }

  /** Has the reader ask for more. */
  wake(): void {
    this.#wake();
  }

  close(): void {
    this.#isClosed = true;
    this.#wake();
  }
}
