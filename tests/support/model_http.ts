/** Just enough HTTP/1.1 over a TCP connection to control every byte of a reply. */

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class HttpConnection {
  #buffer: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #reading: Promise<boolean> | undefined;

  constructor(readonly conn: Deno.TcpConn) {
    conn.setNoDelay(true);
  }

  /** Reads on; false when the client has closed the connection. Concurrent calls share one read. */
  fill(): Promise<boolean> {
    this.#reading ??= this.#read().finally(() => this.#reading = undefined);
    return this.#reading;
  }

  async #read(): Promise<boolean> {
    const chunk = new Uint8Array(65536);
    try {
      const n = await this.conn.read(chunk);
      if (n === null) return false;
      const joined = new Uint8Array(this.#buffer.length + n);
      joined.set(this.#buffer);
      joined.set(chunk.subarray(0, n), this.#buffer.length);
      this.#buffer = joined;
      return true;
    } catch {
      return false;
    }
  }

  /** The next request, or undefined when the client closed. */
  async request(): Promise<HttpRequest | undefined> {
    let end: number;
    while ((end = headEnd(this.#buffer)) < 0) if (!await this.fill()) return undefined;
    const [first = "", ...lines] = decoder.decode(this.#buffer.subarray(0, end)).split("\r\n");
    const headers = new Headers();
    for (const line of lines) {
      const colon = line.indexOf(":");
      if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
    }
    const length = Number(headers.get("content-length") ?? 0);
    const bytes = new Uint8Array(length);
    let filled = 0;
    this.#buffer = this.#buffer.slice(end + 4);
    while (true) {
      const piece = this.#buffer.subarray(0, length - filled);
      bytes.set(piece, filled);
      filled += piece.length;
      this.#buffer = this.#buffer.slice(piece.length);
      if (filled === length) break;
      if (!await this.fill()) return undefined;
    }
    const [method = "", path = ""] = first.split(" ");
    return { method, path, headers, bytes };
  }

  /** Sends all bytes; false when the client is gone. */
  async write(data: string | Uint8Array): Promise<boolean> {
    let rest = typeof data === "string" ? encoder.encode(data) : data;
    try {
      while (rest.length > 0) rest = rest.subarray(await this.conn.write(rest));
      return true;
    } catch {
      return false;
    }
  }

  close(): void {
    try {
      this.conn.close();
    } catch { /* already closed by the other side */ }
  }
}

function headEnd(bytes: Uint8Array): number {
  for (let i = bytes.indexOf(13); i >= 0; i = bytes.indexOf(13, i + 1)) {
    if (bytes[i + 1] === 10 && bytes[i + 2] === 13 && bytes[i + 3] === 10) return i;
  }
  return -1;
}
