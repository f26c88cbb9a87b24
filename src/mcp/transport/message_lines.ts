type Bytes = Uint8Array<ArrayBuffer>;

/** Bytes of one message that are taken in; what a result is cut to is far less. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** Bytes kept of either end of a message that is too large, where its id is. */
const KEPT = 4096;
const NEWLINE = 10;

export interface LineReceiver {
  line(text: string): void;
  /** A line was too large and is gone but for its beginning and its end. */
  tooLarge(bytes: number, ends: string): void;
}

/** Takes a stream apart into lines, in bounded memory. */
export class MessageLines {
  readonly #receiver: LineReceiver;
  readonly #decoder = new TextDecoder();
  #parts: Bytes[] = [];
  #size = 0;
  /** The end of a line that is too large already. */
  #tail: Bytes | undefined;

  constructor(receiver: LineReceiver) {
    this.#receiver = receiver;
  }

  push(chunk: Bytes): void {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      this.#take(chunk.subarray(from, at));
      this.#finish();
      from = at + 1;
    }
    this.#take(chunk.subarray(from));
  }

  #take(piece: Bytes): void {
    if (piece.length === 0) return;
    this.#size += piece.length;
    if (this.#size <= MAX_MESSAGE_BYTES) {
      this.#parts.push(piece.slice());
      return;
    }
    this.#parts = [joined(this.#parts).slice(0, KEPT)];
    this.#tail = joined([this.#tail ?? new Uint8Array(), piece.slice(-KEPT)]).slice(-KEPT);
  }

  #finish(): void {
    const [size, tail] = [this.#size, this.#tail];
    const text = this.#decoder.decode(joined([...this.#parts, ...tail ? [tail] : []]));
    this.#parts = [];
    this.#size = 0;
    this.#tail = undefined;
    if (tail) this.#receiver.tooLarge(size, text);
    else if (text.trim() !== "") this.#receiver.line(text);
  }
}

function joined(parts: readonly Bytes[]): Bytes {
  const [only] = parts;
  if (only && parts.length === 1) return only;
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
