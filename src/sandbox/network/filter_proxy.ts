import { errorMessage } from "../../core/mod.ts";
import { joinBytes } from "../../util/bytes.ts";
import type { ProxyAddress } from "../jail/backend.ts";
import { coversAddress, type Destination, HostList, normalizeHost } from "./hosts.ts";
import { attempt } from "../../util/lazy.ts";

/** Connections at a time; each takes two descriptors of this process. */
const MAX_CONNECTIONS = 256;

const OPENING_LIMIT = 30_000;

export interface ProxyOptions {
  readonly hosts: readonly string[];
  /** A Unix socket for jails with their own network, or a loopback port for those that share ours. */
  readonly listen: { readonly socket: string } | { readonly port: number };
  /** The addresses of a name; absent: as the system resolves it. */
  readonly resolve?: (name: string) => Promise<readonly string[]>;
  readonly onRefused?: (destination: Destination, reason: string) => void;
}

class Refused extends Error {}

/**
 * Relays programs in a jail to the listed hosts and no others. HTTP (CONNECT and plain) and SOCKS 5 share the
 * listener. Names are resolved here, so the jail needs no DNS; the name and its addresses are checked, not
 * the content of TLS.
 */
export class FilterProxy implements AsyncDisposable {
  readonly address: ProxyAddress;
  readonly #hosts: HostList;
  readonly #options: ProxyOptions;
  readonly #listener: Deno.Listener;
  readonly #open = new Set<Deno.Conn>();
  readonly #done: Promise<void>;

  constructor(options: ProxyOptions) {
    this.#options = options;
    this.#hosts = new HostList(options.hosts);
    this.#listener = "socket" in options.listen
      ? Deno.listen({ transport: "unix", path: options.listen.socket })
      : Deno.listen({ hostname: "127.0.0.1", port: options.listen.port });
    const { addr } = this.#listener;
    this.address = addr.transport === "unix"
      ? { socket: addr.path }
      : "port" in addr
      ? { port: addr.port }
      : {};
    this.#done = this.#serve();
  }

  async close(): Promise<void> {
    this.#listener.close();
    for (const conn of this.#open) closeQuietly(conn);
    await this.#done;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #serve(): Promise<void> {
    const running = new Set<Promise<void>>();
    try {
      for await (const conn of this.#listener) {
        if (running.size >= MAX_CONNECTIONS) {
          closeQuietly(conn);
          continue;
        }
        const work = this.#handle(conn).finally(() => running.delete(work));
        running.add(work);
      }
    } catch {
      // The listener was closed.
    }
    await Promise.allSettled(running);
  }

  async #handle(conn: Deno.Conn): Promise<void> {
    this.#open.add(conn);
    try {
      const opening = new Opening(conn);
      const limit = setTimeout(() => closeQuietly(conn), OPENING_LIMIT);
      const request = await read(opening).finally(() => clearTimeout(limit));
      if (request) await this.#relay(opening, request);
    } catch {
      // A program that does not speak any of the protocols, or went away.
    } finally {
      this.#open.delete(conn);
      closeQuietly(conn);
    }
  }

  async #relay(opening: Opening, request: ProxyRequest): Promise<void> {
    let target: Deno.Conn;
    try {
      target = await this.#dial(request.destination);
    } catch (error) {
      const reason = errorMessage(error);
      if (error instanceof Refused) this.#options.onRefused?.(request.destination, reason);
      return await request.refuse(reason);
    }
    this.#open.add(target);
    try {
      await request.accept();
      await opening.join(target, request.first);
    } finally {
      this.#open.delete(target);
      closeQuietly(target);
    }
  }

  async #dial({ host, port }: Destination): Promise<Deno.Conn> {
    const shown = `${host}:${port}`;
    const name = normalizeHost(host);
    const decision = name === undefined ? "refused" : this.#hosts.judge({ host: name, port });
    if (name === undefined || decision === "refused") {
      throw new Refused(`Blocked by [sandbox] network_hosts: ${shown} is not listed`);
    }
    // Resolved once: what was checked is what is connected to, and nothing else hears of it.
    const addresses = await (this.#options.resolve ?? addressesOf)(name);
    const covered = addresses.filter((address) => coversAddress(decision, address));
    if (covered.length === 0) {
      throw new Refused(`Blocked by [sandbox] network_hosts: ${shown} leads to ${addresses[0] ?? "nowhere"}`);
    }
    return await connectFirst(covered, port);
  }
}

async function addressesOf(name: string): Promise<string[]> {
  const { lookup } = await import("node:dns/promises");
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

async function connectFirst(addresses: readonly string[], port: number): Promise<Deno.Conn> {
  let problem: unknown;
  for (const hostname of addresses) {
    try {
      return await Deno.connect({ hostname, port });
    } catch (error) {
      problem ??= error;
    }
  }
  throw problem;
}

async function read(opening: Opening): Promise<ProxyRequest | undefined> {
  const first = await opening.peek();
  if (first === undefined) return undefined;
  return first === 5 ? await openSocks(opening) : await openHttp(opening);
}

/** The other side of the pipe may have closed it. */
function closeQuietly(conn: Deno.Conn): void {
  attempt(() => conn.close());
}

/** Headers between program and proxy, none of the destination's business (RFC 9110 §7.6.1). */
const HOP_HEADERS = /^(?:proxy-[^:]*|connection|keep-alive|te|trailer|host):/i;

const REQUEST = /^([A-Za-z]+) (\S+) (HTTP\/1\.[01])$/;
/** A whole header: its name ends at the colon, and no line break of another kind hides a second one. */
const HEADER = /^[\w!#$%&'*+.^`|~-]+:[^\r\n\0]*$/;

const latin1 = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));

async function say(opening: Opening, status: string, body: string): Promise<void> {
  const text = `${body}\n`;
  const head =
    `HTTP/1.1 ${status}\r\nContent-Type: text/plain\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n`;
  await opening.write(latin1(head + text));
}

function splitAuthority(authority: string): { host: string; port: number } {
  const match = /^(\[[^\]]*\]|[^:]*):(\d{1,5})$/.exec(authority);
  if (!match?.[1]) throw new Error("The request names no host and port");
  return { host: match[1], port: Number(match[2]) };
}

/** An HTTP proxy request: CONNECT, or a request with a whole `http:` URL. */
async function openHttp(opening: Opening): Promise<ProxyRequest> {
  const head = await opening.takeHead();
  const [line = "", ...headers] = head.split("\r\n").slice(0, -2);
  const [, method, target = "", version] = REQUEST.exec(line) ?? [];
  // What this proxy and the server behind it could read differently would let a request name another host.
  if (method === undefined || !headers.every((header) => HEADER.test(header))) {
    throw new Error("The request is not HTTP/1");
  }
  const refuse = (reason: string) =>
    say(opening, reason.startsWith("Blocked") ? "403 Forbidden" : "502 Bad Gateway", reason);
  if (method === "CONNECT") {
    const accept = () => opening.write(latin1("HTTP/1.1 200 Connection established\r\n\r\n"));
    return { destination: splitAuthority(target), accept, refuse };
  }
  const url = URL.parse(target);
  if (url?.protocol !== "http:") {
    await refuse("Blocked: only http: URLs and CONNECT are relayed");
    throw new Error("The request names no http: URL");
  }
  // One request for each connection: a second one could name another host.
  const kept = headers.filter((header) => !HOP_HEADERS.test(header));
  const lines = [
    `${method} ${url.pathname}${url.search} ${version}`,
    `Host: ${url.host}`,
    ...kept,
    "Connection: close",
    "",
    "",
  ];
  return {
    destination: { host: url.hostname, port: Number(url.port || 80) },
    accept: () => Promise.resolve(),
    refuse,
    first: latin1(lines.join("\r\n")),
  };
}

const REPLY = { granted: 0, failure: 1, notAllowed: 2, commandUnknown: 7, addressUnknown: 8 } as const;

const send = (opening: Opening, bytes: readonly number[]) => opening.write(Uint8Array.from(bytes));

/** The bound address of a reply is never used by anyone; zeros say so. */
const reply = (opening: Opening, code: number) => send(opening, [5, code, 0, 1, 0, 0, 0, 0, 0, 0]);

async function readHost(opening: Opening, kind: number | undefined): Promise<string | undefined> {
  if (kind === 1) return (await opening.take(4)).join(".");
  if (kind === 3) {
    const [length = 0] = await opening.take(1);
    return new TextDecoder().decode(await opening.take(length));
  }
  if (kind === 4) {
    const bytes = await opening.take(16);
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    return Array.from({ length: 8 }, (_, index) => view.getUint16(index * 2).toString(16)).join(":");
  }
  return undefined;
}

/** A SOCKS 5 request (RFC 1928): CONNECT without authentication. */
async function openSocks(opening: Opening): Promise<ProxyRequest> {
  const [, methods = 0] = await opening.take(2);
  const offered = await opening.take(methods);
  if (!offered.includes(0)) {
    await send(opening, [5, 0xff]);
    throw new Error("The program insists on authentication");
  }
  await send(opening, [5, 0]);
  const [, command, , kind] = await opening.take(4);
  const host = await readHost(opening, kind);
  if (command !== 1 || host === undefined) {
    await reply(opening, host === undefined ? REPLY.addressUnknown : REPLY.commandUnknown);
    throw new Error("The request is not CONNECT");
  }
  const [high = 0, low = 0] = await opening.take(2);
  return {
    destination: { host, port: high * 256 + low },
    accept: () => reply(opening, REPLY.granted),
    refuse: (reason) => reply(opening, reason.startsWith("Blocked") ? REPLY.notAllowed : REPLY.failure),
  };
}

const MAX_HEAD = 64 * 1024;
const CRLF_CRLF = [13, 10, 13, 10];

export interface ProxyRequest {
  readonly destination: Destination;
  accept(): Promise<void>;
  refuse(reason: string): Promise<void>;
  /** Goes to the destination before everything else. */
  readonly first?: Uint8Array;
}

export class Opening {
  readonly conn: Deno.Conn;
  #bytes = new Uint8Array(0);

  constructor(conn: Deno.Conn) {
    this.conn = conn;
  }

  /** The first byte, not consumed; undefined when the peer went away. */
  async peek(): Promise<number | undefined> {
    while (this.#bytes.length === 0) if (!await this.#more()) return undefined;
    return this.#bytes[0];
  }

  async take(count: number): Promise<Uint8Array> {
    while (this.#bytes.length < count) if (!await this.#more()) throw new Error("The connection ended early");
    return this.#cut(count);
  }

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

  async join(other: Deno.Conn, first: Uint8Array = new Uint8Array(0)): Promise<void> {
    await writeAll(other, first);
    await writeAll(other, this.#cut(this.#bytes.length));
    await Promise.allSettled([pump(this.conn, other), pump(other, this.conn)]);
  }

  async #more(): Promise<boolean> {
    const chunk = new Uint8Array(16 * 1024);
    const count = await this.conn.read(chunk);
    if (count === null) return false;
    this.#bytes = joinBytes([this.#bytes, chunk.subarray(0, count)]);
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
