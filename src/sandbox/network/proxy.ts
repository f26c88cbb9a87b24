import { errorMessage } from "../../core/mod.ts";
import type { ProxyAddress } from "../command/backend.ts";
import { coversAddress, type Destination, HostList, normalizeHost } from "./hosts.ts";
import { openHttp } from "./http.ts";
import { openSocks } from "./socks.ts";
import { Opening, type ProxyRequest } from "./wire.ts";

/** Connections at a time; each takes two descriptors of this process. */
const MAX_CONNECTIONS = 256;

/** Time that a program may take to say where it wants to go, in milliseconds. */
const OPENING_LIMIT = 30_000;

export interface ProxyOptions {
  /** Entries of `[sandbox] network_hosts`. */
  readonly hosts: readonly string[];
  /** A Unix socket for jails with a network of their own, or a loopback port for those that share ours. */
  readonly listen: { readonly socket: string } | { readonly port: number };
  /** The addresses of a name; absent: as the system resolves it. */
  readonly resolve?: (name: string) => Promise<readonly string[]>;
  /** Called for each refused destination. */
  readonly onRefused?: (destination: Destination, reason: string) => void;
}

/** A refusal that is not a fault of the network. */
class Refused extends Error {}

/**
 * Lets programs in a jail reach the listed hosts and no others. HTTP (CONNECT and plain) and SOCKS 5 arrive
 * on the same listener. Names are resolved here, so the jail needs no DNS. The listed name is checked, and
 * the addresses it leads to; what is said inside TLS is not looked at.
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

  /** Stops listening and ends every connection. */
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
    const verdict = name === undefined ? "refused" : this.#hosts.judge({ host: name, port });
    if (name === undefined || verdict === "refused") {
      throw new Refused(`Blocked by [sandbox] network_hosts: ${shown} is not listed`);
    }
    // Resolved once: what was checked is what is connected to, and nothing else hears of it.
    const addresses = await (this.#options.resolve ?? addressesOf)(name);
    const covered = addresses.filter((address) => coversAddress(verdict, address));
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

function closeQuietly(conn: Deno.Conn): void {
  try {
    conn.close();
  } catch {
    // Closed by the other side of the pipe.
  }
}
