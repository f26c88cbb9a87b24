/**
 * Requests of the web plugin. The name is resolved here, its addresses are checked, and the connection goes
 * to a checked address; TLS then proves the name. Behind a proxy the proxy resolves names.
 */
import { lookup } from "node:dns/promises";
import type { EventEmitter } from "node:events";
import { type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from "node:http";
import { connect as connectTcp, type Socket } from "node:net";
import { pipeline, type Readable } from "node:stream";
import { connect as connectTls } from "node:tls";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { PluginError } from "../common/plugin.ts";
import { isExcepted, type Proxies } from "./access.ts";
import { type AddressRange, contains, isLocalName, isPrivate, parseAddress } from "./private.ts";

export interface Network {
  /** `allow_private` of the user. */
  readonly allowed: readonly AddressRange[];
  readonly proxies: Proxies;
  /** Bytes of an unpacked body. */
  readonly maxBytes: number;
  /** For everything, from the name to the last byte. */
  readonly seconds: number;
  /** Addresses of a name. */
  readonly resolve: (host: string) => Promise<readonly string[]>;
}

export interface RequestOptions {
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Reply {
  readonly url: URL;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Uint8Array;
}

/** A redirect to another host, which rules about domains have to judge first. */
export interface Redirect {
  readonly redirect: URL;
}

const MAX_REDIRECTS = 5;
const CONNECT_MS = 5000;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export async function resolveName(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** Parses what a model wrote as the URL of a page. */
export function pageUrl(text: string): URL {
  const url = URL.parse(text.trim());
  const shown = JSON.stringify(text.trim().slice(0, 200));
  if (url === null || url.hostname === "" && /^https?:$/.test(url.protocol)) {
    throw new PluginError(`Cannot open ${shown}: it is no URL`, "write it as https://HOST/PATH");
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new PluginError(
      `Cannot open ${shown}: ${url.protocol} is not a scheme of web pages`,
      "use http or https",
    );
  }
  url.hash = "";
  return url;
}

/** Fetches a page with GET, and follows redirects within its host. */
export async function fetchPage(
  network: Network,
  start: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Reply | Redirect> {
  return await timed(network, start, signal, async (limit) => {
    let url = start;
    for (let hops = 0;; hops++) {
      const response = await send(network, url, { headers }, false, limit);
      const status = response.statusCode ?? 0;
      const location = REDIRECTS.has(status) ? response.headers.location : undefined;
      if (location === undefined) return await replyOf(network, url, response);
      response.destroy();
      const to = URL.parse(location, url);
      if (to === null) {
        throw failed(url, `it redirects to ${JSON.stringify(location.slice(0, 200))}, which is no URL`);
      }
      if (!/^https?:$/.test(to.protocol)) {
        throw failed(url, `it redirects to ${to.href.slice(0, 200)}, which is no web page`);
      }
      const target = pageUrl(to.href);
      refuseLiteral(network, target, " (a redirect leads there)");
      if (!isSameHost(url, target)) return { redirect: target };
      if (hops === MAX_REDIRECTS) throw failed(start, `more than ${MAX_REDIRECTS} redirects in a row`);
      url = target;
    }
  });
}

/** Sends one request; `anyAddress`: to a server that the user has named, at whatever address. */
export async function sendRequest(
  network: Network,
  url: URL,
  options: RequestOptions,
  anyAddress: boolean,
  signal: AbortSignal,
): Promise<Reply> {
  return await timed(network, url, signal, async (limit) => {
    return await replyOf(network, url, await send(network, url, options, anyAddress, limit));
  });
}

function isSameHost(from: URL, to: URL): boolean {
  const name = ({ hostname }: URL) => hostname.replace(/^www\./, "");
  const isDowngrade = from.protocol === "https:" && to.protocol === "http:";
  return name(from) === name(to) && !isDowngrade;
}

async function timed<T>(
  { seconds }: Network,
  url: URL,
  signal: AbortSignal,
  run: (limit: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), seconds * 1000);
  try {
    return await run(AbortSignal.any([signal, timeout.signal]));
  } catch (error) {
    signal.throwIfAborted();
    if (timeout.signal.aborted) throw failed(url, `it took over ${seconds} s`);
    throw error instanceof PluginError ? error : failed(url, reasonOf(error));
  } finally {
    clearTimeout(timer);
  }
}

/** The address of a page without what may be secret. */
function failed(url: URL, reason: string, remedy?: string): PluginError {
  return new PluginError(`Cannot open ${url.href.slice(0, 300)}: ${reason}`, remedy);
}

function reasonOf(error: unknown): string {
  const { message, code = "", name } = error as Error & { code?: string };
  if (name === "NotCapable") {
    return `the runtime refuses the connection (${message.replace(/, run again.*$/, "")})`;
  }
  if (code === "ENOTFOUND" || code === "EAI_AGAIN" || /getaddrinfo/.test(message)) {
    return "its name has no address";
  }
  if (/certificate|altnames|CERT|TLS|SSL/i.test(`${code} ${message}`)) {
    return `the TLS connection fails (${message})`;
  }
  if (code === "ECONNREFUSED") return "the server refuses connections";
  if (/ECONNRESET|aborted|socket hang up|premature|unexpected e(nd|of)/i.test(`${code} ${message}`)) {
    return "the connection ended before the page was complete";
  }
  if (code.startsWith("HPE_")) return `its answer is no valid HTTP (${message})`;
  if (
    /^Z_|^ERR_.*(ERROR|PADDING)/.test(code) || /^ERR_.*ERROR|brotli|zlib/i.test(message)
  ) {
    return `its compressed body is broken (${message})`;
  }
  return message;
}

function refuseLiteral({ allowed }: Network, url: URL, note = ""): void {
  if (url.username !== "" || url.password !== "") {
    url.username = url.password = "";
    throw failed(url, `a URL with a user name or a password is not sent${note}`, "leave them out");
  }
  if (parseAddress(url.hostname) && isPrivate(url.hostname, allowed)) {
    throw isRefused(url, url.hostname, note);
  }
}

function isRefused(url: URL, address: string, note = ""): PluginError {
  const at = address === url.hostname ? "it" : `${url.hostname} is at ${address}, which`;
  return failed(
    url,
    `${at} is a private or special address${note}`,
    "the user can allow its range with allow_private in the settings of the plugin web",
  );
}

/** Sends one request and resolves with the head of its answer. */
async function send(
  network: Network,
  url: URL,
  { method = "GET", headers = {}, body }: RequestOptions,
  anyAddress: boolean,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  if (!anyAddress) refuseLiteral(network, url);
  const addresses = await directAddresses(network, url, anyAddress);
  const proxy = addresses === undefined ? proxyFor(network, url) : undefined;
  const socket = proxy
    ? await throughProxy(proxy, url, signal)
    : await connectFirst(addresses ?? [], portOf(url), signal);
  const isPlainProxy = proxy !== undefined && url.protocol === "http:";
  try {
    const secure = url.protocol === "https:" ? await startTls(socket, url, signal) : socket;
    // An agent would connect by name.
    const sent = httpRequest({
      createConnection: () => secure,
      host: url.hostname,
      method,
      path: isPlainProxy ? url.href : `${url.pathname}${url.search}`,
      signal,
      headers: {
        ...headers,
        host: url.host,
        connection: "close",
        ...(isPlainProxy ? loginOf(proxy) : {}),
        ...(body === undefined ? {} : { "content-length": `${new TextEncoder().encode(body).length}` }),
      },
    });
    sent.end(body);
    return await once<IncomingMessage>(sent, "response", signal);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** The addresses to connect to; undefined: the proxy decides. */
async function directAddresses(
  { allowed, proxies, resolve }: Network,
  url: URL,
  anyAddress: boolean,
): Promise<readonly string[] | undefined> {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const literal = parseAddress(host);
  const isProxied = proxies.http !== undefined;
  const isOwnServer = anyAddress && (isLocalName(host) || literal !== undefined);
  if (isProxied && !isOwnServer && !isExcepted(host, proxies)) return undefined;
  const found = literal ? [host] : await resolve(host).catch((error) => {
    if (isProxied) return [];
    throw error;
  });
  if (isProxied && !isOwnServer) {
    // Of the hosts that need no proxy, the process reaches only those in allowed ranges.
    const inner = found.filter((address) => {
      const parsed = parseAddress(address);
      return parsed !== undefined && allowed.some((range) => contains(range, parsed));
    });
    return inner.length > 0 || anyAddress ? inner : undefined;
  }
  if (anyAddress) return found;
  const open = found.filter((address) => !isPrivate(address, allowed));
  if (open.length === 0) {
    throw found.length === 0 ? failed(url, "its name has no address") : isRefused(url, found[0] ?? "");
  }
  return open;
}

function portOf({ port, protocol }: URL): number {
  return port === "" ? protocol === "https:" ? 443 : 80 : Number(port);
}

async function connectFirst(
  addresses: readonly string[],
  port: number,
  signal: AbortSignal,
): Promise<Socket> {
  let last: unknown = new PluginError("its name has no address");
  for (const host of addresses) {
    const only = addresses.length === 1;
    try {
      return await connectTo(
        host,
        port,
        only ? signal : AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MS)]),
      );
    } catch (error) {
      signal.throwIfAborted();
      last = error;
    }
  }
  throw last;
}

async function connectTo(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const socket = connectTcp({ host, port });
  await once(socket, "connect", signal);
  return socket;
}

async function startTls(socket: Socket, url: URL, signal: AbortSignal): Promise<Socket> {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const name = parseAddress(host) ? { host } : { host, servername: host };
  const secure = connectTls({ socket, ALPNProtocols: ["http/1.1"], ...name });
  // The name is compared with the certificate before this event.
  await once(secure, "secureConnect", signal);
  return secure;
}

function proxyFor({ proxies }: Network, url: URL): URL {
  const text = (url.protocol === "https:" ? proxies.https : proxies.http) ?? "";
  const proxy = URL.parse(text.includes("://") ? text : `http://${text}`);
  if (proxy?.protocol !== "http:") {
    throw failed(url, `the proxy of the environment is no http:// proxy`, "set HTTPS_PROXY=http://HOST:PORT");
  }
  if (isLocalName(url.hostname) || !/[.:]/.test(url.hostname)) throw isRefused(url, url.hostname);
  return proxy;
}

function loginOf({ username, password }: URL): Record<string, string> {
  if (username === "") return {};
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "proxy-authorization": `Basic ${new TextEncoder().encode(login).toBase64()}` };
}

/** A connection to the proxy; for https a tunnel through it. */
async function throughProxy(proxy: URL, url: URL, signal: AbortSignal): Promise<Socket> {
  const host = proxy.hostname.replace(/^\[(.*)\]$/, "$1");
  try {
    if (url.protocol === "http:") return await connectTo(host, portOf(proxy), signal);
    const target = `${url.hostname}:${portOf(url)}`;
    const headers = { host: target, ...loginOf(proxy) };
    const asked = httpRequest({
      host,
      port: portOf(proxy),
      method: "CONNECT",
      path: target,
      headers,
      agent: false,
      signal,
    });
    asked.end();
    const { promise, resolve, reject } = Promise.withResolvers<Socket>();
    asked.once("error", reject);
    asked.once("connect", (response, socket) => {
      if (response.statusCode === 200) return resolve(socket as Socket);
      socket.destroy();
      reject(new Error(`it answers ${response.statusCode} ${response.statusMessage ?? ""}`.trim()));
    });
    return await promise;
  } catch (error) {
    signal.throwIfAborted();
    throw failed(url, `the proxy ${proxy.host} gives no connection (${(error as Error).message})`);
  }
}

type Stream = EventEmitter & { destroy(error?: Error): unknown };

/** Resolves with an event; destroys the emitter when the signal aborts. Errors that come later are dropped. */
async function once<T>(emitter: Stream, event: string, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const onAbort = () => {
    emitter.destroy();
    reject(signal.reason);
  };
  emitter.once(event, resolve);
  emitter.on("error", reject);
  emitter.once("close", () => reject(new Error("socket hang up")));
  signal.addEventListener("abort", onAbort, { once: true });
  return await promise;
}

async function replyOf({ maxBytes }: Network, url: URL, response: IncomingMessage): Promise<Reply> {
  const { statusCode: status = 0, headers } = response;
  try {
    const tooLarge = (size: string) => failed(url, `it is ${size}; at most ${megabytes(maxBytes)} are read`);
    const declared = Number(headers["content-length"] ?? 0);
    if (declared > maxBytes) throw tooLarge(megabytes(declared));
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of unpacked(url, response) as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(`larger than ${megabytes(maxBytes)}`);
      parts.push(chunk);
    }
    const bytes = new Uint8Array(size);
    let at = 0;
    for (const part of parts) {
      bytes.set(part, at);
      at += part.length;
    }
    return { url, status, headers, bytes };
  } finally {
    response.destroy();
  }
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e5) / 10} MB`;
}

const DECODERS: Readonly<Record<string, () => NodeJS.ReadWriteStream & Readable>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

function unpacked(url: URL, response: IncomingMessage): Readable {
  const codings = (response.headers["content-encoding"] ?? "").toLowerCase().split(",")
    .map((each) => each.trim()).filter((each) => each !== "" && each !== "identity");
  let body: Readable = response;
  for (const coding of codings.reverse()) {
    const decoder = DECODERS[coding];
    if (!decoder) throw failed(url, `its content encoding ${JSON.stringify(coding)} is unknown`);
    // Errors reach the reader of the last stream.
    body = pipeline(body, decoder(), () => {}) as unknown as Readable;
  }
  return body;
}
