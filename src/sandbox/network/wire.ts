import type { Destination } from "./hosts.ts";

/** Reads the start of a proxied connection, and then hands the rest on untouched. */

const MAX_HEAD = 64 * 1024;
const CRLF_CRLF = [13, 10, 13, 10];

/** The requests of a protocol to the proxy, and its answers. */
export interface ProxyRequest {
  readonly destination: Destination;
  /** Tells the program that the way is open. */
  accept(): Promise<void>;
  /** Tells the program why there is none. */
  refuse(reason: string): Promise<void>;
  /** Goes to the destination before everything else. */
  readonly first?: Uint8Array;
}

/** A connection whose first bytes are looked at before it is piped. */
export class Opening {
  readonly conn: Deno.Conn;
  #bytes = new Uint8Array(0);

  constructor(conn: Deno.Conn) {
    this.conn = conn;
  }

  /** The first byte, left in place; undefined when the peer went away. */
  async peek(): Promise<number | undefined> {
    while (this.#bytes.length === 0) if (!await this.#more()) return undefined;
    return this.#bytes[0];
  }

  /** Exactly `count` bytes, or an error when the peer goes away before. */
  async take(count: number): Promise<Uint8Array> {
    while (this.#bytes.length < count) if (!await this.#more()) throw new Error("The connection ended early");
    return this.#cut(count);
  }

  /** Up to and with the empty line that ends an HTTP head. */
  async takeHead(): Promise<string> {
    for (let from = 0;;) {
      const end = this.#find(CRLF_CRLF, from);
      if (end !== -1) return new TextDecoder("latin1").decode(this.#cut(end + CRLF_CRLF.length));
      if (this.#bytes.length > MAX_HEAD) throw new Error("The request head is too long");
      from = Math.max(0, this.#bytes.length - CRLF_CRLF.length + 1);
      if (!await this.#more()) throw new Error("The connection ended early");
    }
  }

  async write(bytes: Uint8Array): Promise<void> {
    await writeAll(this.conn, bytes);
  }

  /** Copies both ways until both sides are done. What was read ahead goes first. */
  async join(other: Deno.Conn, first: Uint8Array = new Uint8Array(0)): Promise<void> {
    await writeAll(other, first);
    await writeAll(other, this.#cut(this.#bytes.length));
    await Promise.allSettled([pump(this.conn, other), pump(other, this.conn)]);
  }

  async #more(): Promise<boolean> {
    const chunk = new Uint8Array(16 * 1024);
    const count = await this.conn.read(chunk);
    if (count === null) return false;
    const joined = new Uint8Array(this.#bytes.length + count);
    joined.set(this.#bytes);
    joined.set(chunk.subarray(0, count), this.#bytes.length);
    this.#bytes = joined;
    return true;
  }

  #cut(count: number): Uint8Array<ArrayBuffer> {
    const part = this.#bytes.slice(0, count);
    this.#bytes = this.#bytes.slice(count);
    return part;
  }

  #find(pattern: readonly number[], from: number): number {
    for (let at = from; at + pattern.length <= this.#bytes.length; at++) {
      if (pattern.every((byte, index) => this.#bytes[at + index] === byte)) return at;
    }
    return -1;
  }
}

async function writeAll(conn: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await conn.write(bytes.subarray(at));
}

/** Not `pipeTo`: the end of one direction must leave the other open. */
async function pump(from: Deno.Conn, to: Deno.Conn): Promise<void> {
  const buffer = new Uint8Array(64 * 1024);
  for (let count = await from.read(buffer); count !== null; count = await from.read(buffer)) {
    await writeAll(to, buffer.subarray(0, count));
  }
  await to.closeWrite();
}
