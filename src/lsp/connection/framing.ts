type Bytes = Uint8Array<ArrayBuffer>;

/** Bytes of one message that are taken in. The longest that servers send are lists of a whole workspace. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
/** A header is two short lines; so much without its end is no protocol. */
const MAX_HEADER_BYTES = 8 * 1024;
const HEADER_END = "\r\n\r\n";

/** The stream is not what a language server writes, so that nothing after it can be found. */
export class FramingError extends Error {}

/** A message with the header that the base protocol asks for (LSP specification, "Base Protocol"). */
export function encodeMessage(message: object): Bytes {
  const body = new TextEncoder().encode(JSON.stringify(message));
  const header = new TextEncoder().encode(`Content-Length: ${body.length}${HEADER_END}`);
  const whole = new Uint8Array(header.length + body.length);
  whole.set(header);
  whole.set(body, header.length);
  return whole;
}

/**
 * Takes a stream apart into the bodies of its messages, in bounded memory. Lines that are no header are
 * passed over: some servers print a greeting first. Throws a {@linkcode FramingError}.
 */
export class MessageReader {
  readonly #decoder = new TextDecoder();
  #chunks: Bytes[] = [];
  #size = 0;
  /** Bytes of the body that is coming; undefined while its header is. */
  #expected: number | undefined;

  push(chunk: Bytes): string[] {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    const bodies: string[] = [];
    while (true) {
      if (this.#expected !== undefined && this.#size >= this.#expected) {
        bodies.push(this.#decoder.decode(this.#take(this.#expected)));
        this.#expected = undefined;
      } else if (this.#expected !== undefined || !this.#readHeader()) break;
    }
    return bodies;
  }

  /** Reads one header; false when its end has not come. */
  #readHeader(): boolean {
    const bytes = this.#joined();
    const head = latin1(bytes.subarray(0, MAX_HEADER_BYTES));
    const end = head.indexOf(HEADER_END);
    if (end < 0) {
      if (bytes.length < MAX_HEADER_BYTES) return false;
      throw new FramingError(`No header within ${MAX_HEADER_BYTES} bytes`);
    }
    this.#take(end + HEADER_END.length);
    const length = /(?:^|\n)content-length:[ \t]*(\d{1,12})\s*(?:\r\n|$)/i.exec(head.slice(0, end))?.[1];
    if (length === undefined) return true;
    if (Number(length) > MAX_MESSAGE_BYTES) throw new FramingError(`A message of ${length} bytes`);
    this.#expected = Number(length);
    return true;
  }

  #joined(): Bytes {
    const [only] = this.#chunks;
    if (only && this.#chunks.length === 1) return only;
    const whole = new Uint8Array(this.#size);
    let at = 0;
    for (const chunk of this.#chunks) {
      whole.set(chunk, at);
      at += chunk.length;
    }
    this.#chunks = [whole];
    return whole;
  }

  #take(count: number): Bytes {
    const whole = this.#joined();
    const rest = whole.subarray(count);
    this.#chunks = rest.length > 0 ? [rest] : [];
    this.#size = rest.length;
    return whole.subarray(0, count);
  }
}

function latin1(bytes: Bytes): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}
