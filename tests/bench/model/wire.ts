/** HTTP/1.1 with as little work per byte as possible, so that the server does not show in the figures. */

export interface Request {
  readonly path: string;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** The head of every reply of the model. */
export const HEAD =
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

const HEAD_END = [13, 10, 13, 10];

/** One kept-alive connection. Bodies must come with a content-length. */
export class Connection {
  readonly #conn: Deno.TcpConn;
  readonly #buffer = new Uint8Array(65_536);
  #filled = 0;

  constructor(conn: Deno.TcpConn) {
    conn.setNoDelay(true);
    this.#conn = conn;
  }

  /** The next request, or undefined when the client closed the connection. */
  async request(): Promise<Request | undefined> {
    let end: number;
    while ((end = this.#headEnd()) < 0) {
      const count = await this.#conn.read(this.#buffer.subarray(this.#filled)).catch(() => null);
      if (count === null) return undefined;
      this.#filled += count;
    }
    const head = new TextDecoder().decode(this.#buffer.subarray(0, end));
    const body = new Uint8Array(Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0));
    const early = this.#buffer.subarray(end, Math.min(this.#filled, end + body.length));
    body.set(early);
    this.#buffer.copyWithin(0, end + early.length, this.#filled);
    this.#filled -= end + early.length;
    for (let filled = early.length; filled < body.length;) {
      const count = await this.#conn.read(body.subarray(filled)).catch(() => null);
      if (count === null) return undefined;
      filled += count;
    }
    return { path: head.split(" ", 2)[1] ?? "", body };
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length;) done += await this.#conn.write(bytes.subarray(done));
  }

  close(): void {
    this.#conn.close();
  }

  #headEnd(): number {
    const bytes = this.#buffer.subarray(0, this.#filled);
    for (let at = bytes.indexOf(13); at >= 0; at = bytes.indexOf(13, at + 1)) {
      if (HEAD_END.every((byte, index) => bytes[at + index] === byte)) return at + HEAD_END.length;
    }
    return -1;
  }
}
