/** Up to this many bytes the copy that `fetch` makes of a body costs less than reading a stream. */
const LARGEST_COPY = 256 * 1024;

/** A body for `fetch` with these bytes; they must stay as they are until the reply has begun. */
export async function requestBody(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer> | Blob> {
  return bytes.length > LARGEST_COPY && await (blobStream ??= supportsBlobStream())
    ? new SharedBytesBlob(bytes)
    : bytes;
}

let blobStream: Promise<boolean> | undefined;

/**
 * Reports whether bodies are read through a blob's own `stream()`; a runtime that looked behind it would send
 * nothing.
 */
async function supportsBlobStream(): Promise<boolean> {
  return (await new Response(new SharedBytesBlob(new Uint8Array(3))).bytes()).length === 3;
}

/**
 * A blob that lends its bytes instead of holding a copy. `fetch` copies bytes that it is given, and the
 * collector lets those copies pile up to a hundred megabytes; a stream it reads piece by piece, but without a
 * length it would go out in chunks, which many servers refuse. Only a blob is both.
 */
class SharedBytesBlob extends Blob {
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

/**
 * The text of a response; undefined when it is longer than `maxBytes`, and the rest is left unread then.
 * Rejects when the connection breaks.
 */
export async function boundedText(response: Response, maxBytes: number): Promise<string | undefined> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.length;
    // Leaving the loop cancels the body.
    if (bytes > maxBytes) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
