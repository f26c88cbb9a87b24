import { stripEscapes } from "./clean_text.ts";

/** Live text per window; a program that prints more is shown in excerpts. */
const WINDOW_MS = 200;
const WINDOW_BYTES = 32 * 1024;

/**
 * Passes output on to readers as it comes, within limits: they want to see that something happens, not each
 * of a billion bytes.
 */
export class LiveOutput {
  #left = WINDOW_BYTES;
  #windowEnd = 0;
  #skipped = false;
  #pending = "";
  readonly #decoder = new TextDecoder();
  readonly #show: (text: string) => void;

  constructor(show: (text: string) => void) {
    this.#show = show;
  }

  push(chunk: Uint8Array): void {
    const now = performance.now();
    if (now > this.#windowEnd) {
      this.#windowEnd = now + WINDOW_MS;
      this.#left = WINDOW_BYTES;
    }
    if (this.#left <= 0) {
      this.#skipped = true;
      return;
    }
    this.#left -= chunk.length;
    const text = this.#pending +
      this.#decoder.decode(chunk.length > WINDOW_BYTES ? chunk.slice(0, WINDOW_BYTES) : chunk, {
        stream: true,
      });
    // An escape sequence may go on in the next chunk.
    const open = text.lastIndexOf("\u001b");
    const keep = open >= 0 && text.length - open < 64 && stripEscapes(text.slice(open)).startsWith("\u001b")
      ? open
      : text.length;
    this.#pending = text.slice(keep);
    const plain = stripEscapes(text.slice(0, keep));
    if (plain === "") return;
    this.#show(this.#skipped ? `\n[…]\n${plain}` : plain);
    this.#skipped = false;
  }
}
