/** A receiver of bytes; a part of `Deno.stdout`. */
export interface ByteSink {
  write(bytes: Uint8Array): Promise<number>;
}

const HIGH_WATER = 64 * 1024;

/**
 * Buffers text for a slow or fast reader. Nothing is dropped and order is kept; small writes that pile up
 * while one is under way go out together.
 */
export class Output {
  readonly #sink: ByteSink;
  readonly #encoder = new TextEncoder();
  readonly #onBroken: (() => void) | undefined;
  #pending = "";
  #running: Promise<void> | undefined;
  #failure: Error | undefined;
  /** Characters that the sink is taking. */
  #taking = 0;

  /** `onBroken` is called once when nothing more can be written; later text is discarded. */
  constructor(sink: ByteSink, onBroken?: () => void) {
    this.#sink = sink;
    this.#onBroken = onBroken;
  }

  /** The reason nothing more can be written: the reader has gone away, or the disk is full. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** True while something written has not been taken. */
  get busy(): boolean {
    return this.#running !== undefined;
  }

  /** Characters that were written and not taken. */
  get waiting(): number {
    return this.#pending.length + this.#taking;
  }

  /** Contract: a promise means that the reader is behind; await it before producing more. */
  write(text: string): void | Promise<void> {
    if (this.#failure || text === "") return;
    this.#pending += text;
    this.#running ??= this.#drain();
    if (this.#pending.length > HIGH_WATER) return this.#running;
  }

  /** Resolves when everything written so far has been taken by the reader. */
  async flush(): Promise<void> {
    while (this.#running) await this.#running;
  }

  async #drain(): Promise<void> {
    try {
      while (this.#pending !== "") {
        const bytes = this.#encoder.encode(this.#pending);
        this.#taking = this.#pending.length;
        this.#pending = "";
        for (let at = 0; at < bytes.length;) at += await this.#sink.write(bytes.subarray(at));
      }
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      this.#pending = "";
      this.#onBroken?.();
    } finally {
      this.#taking = 0;
      this.#running = undefined;
    }
  }
}
