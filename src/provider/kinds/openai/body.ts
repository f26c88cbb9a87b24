/** Up to this many bytes the copy that `fetch` makes of a body costs less than reading a stream. */
const LARGEST_COPY = 256 * 1024;

/** A body for `fetch` with these bytes; they must stay as they are until the reply has begun. */
export function requestBody(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | Blob {
  return bytes.length <= LARGEST_COPY ? bytes : new BytesInPlace(bytes);
}

/**
 * A blob that lends its bytes instead of holding a copy. `fetch` copies bytes that it is given, and the collector lets those copies
 * pile up to a hundred megabytes; a stream it reads piece by piece, but without a length it would go out in chunks, which many servers
 * refuse. Only a blob is both.
 */
class BytesInPlace extends Blob {
  readonly #bytes: Uint8Array<ArrayBuffer>;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    super();
    this.#bytes = bytes;
  }

  override get size(): number {
    return this.#bytes.length;
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    const bytes = this.#bytes;
    return new ReadableStream({
      start(controller) {
        controller.enqueue(bytes);
        controller.close();
      },
    });
  }
}
