/**
 * Requests of the web plugin. The name is resolved here, its addresses are checked, and the connection goes
 * to a checked address; TLS then proves the name. Behind a proxy the proxy resolves names.
 */
import { lookup } from "node:dns/promises";
import type { EventEmitter } from "node:events";
import { type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from "node:http";
import { connect as connectTcp, type Socket } from "node:net";
import { pipeline, type Readable, type Transform } from "node:stream";
import { connect as connectTls } from "node:tls";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { PluginError } from "../common/plugin.ts";
import { isExcepted, type Proxies } from "./access.ts";
import { type AddressRange, isAllowed, isLocalName, isPrivate, parseAddress } from "./private.ts";

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

const LEADS = " (a redirect leads there)";

/** Parses the URL of a page, as a model or a redirect writes it. */
export function pageUrl(text: string, note = ""): URL {
  const url = URL.parse(text.trim());
  const refuse = (reason: string, remedy: string) => {
    if (url) url.username = url.password = "";
    return new PluginError(`Cannot open ${(url?.href ?? text).slice(0, 300)}${note}: ${reason}`, remedy);
  };
  if (url === null) throw refuse("it is no URL", "write it as https://HOST/PATH");
  if (!/^https?:$/.test(url.protocol)) {
    throw refuse(`${url.protocol} is no scheme of web pages`, "use http or https");
  }
  if (url.username !== "" || url.password !== "") {
    throw refuse("it has a user name or a password", "leave them out");
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
      const { location } = response.headers;
      if (location === undefined || !REDIRECTS.has(response.statusCode ?? 0)) {
        return await replyOf(network, url, response);
      }
      response.destroy();
      const target = pageUrl(URL.parse(location, url)?.href ?? location, LEADS);
      refuseLiteral(network, target, LEADS);
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

/** Codes and messages of the runtime, in their order of precedence. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/NotCapable/, "the runtime refuses the connection (%)"],
  [/ENOTFOUND|EAI_AGAIN|getaddrinfo/, "its name has no address"],
  [/certificate|altnames|CERT|TLS|SSL/i, "the TLS connection fails (%)"],
  [/ECONNREFUSED/, "the server refuses connections"],
  [/TimeoutError|ETIMEDOUT/, "the server does not answer"],
  [
    /ECONNRESET|EPIPE|aborted|socket hang up|premature|unexpected e(nd|of)/i,
    "the connection ended before the page was complete",
  ],
  [/HPE_/, "its answer is no valid HTTP (%)"],
  [/Z_|ERR_.*(ERROR|PADDING)|brotli|zlib/i, "its compressed body is broken (%)"],
];

function reasonOf(error: unknown): string {
  const { message, code = "", name } = error as Error & { code?: string };
  const [, reason = "%"] = REASONS.find(([pattern]) => pattern.test(`${name} ${code} ${message}`)) ?? [];
  return reason.replace("%", () => message.replace(/, run again.*$/, ""));
}

function refuseLiteral({ allowed }: Network, url: URL, note = ""): void {
  if (parseAddress(url.hostname) && isPrivate(url.hostname, allowed)) throw refused(url, url.hostname, note);
}

function refused(url: URL, address: string, note = ""): PluginError {
  const at = address === url.hostname ? "it" : `${url.hostname} is at ${address}, which`;
  const remedy = "the user can allow its range with allow_private in the settings of the plugin web";
  return failed(url, `${at} is a private or special address${note}`, remedy);
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
  const addresses = await directAddresses(network, url, anyAddress, signal);
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
    const response = await once<IncomingMessage>(sent, "response", signal);
    // Its reader gets them, unless it has stopped to read.
    return response.on("error", () => {});
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
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const host = bareHost(url);
  const isLiteral = parseAddress(host) !== undefined;
  const isProxied = proxies.http !== undefined && !(anyAddress && (isLiteral || isLocalName(host)));
  if (isProxied && !isExcepted(host, proxies)) return undefined;
  const found = isLiteral ? [host] : await until(resolve(host), signal).catch((error) => {
    if (isProxied) return [];
    throw error;
  });
  // Of the hosts that need no proxy, the process reaches only those in allowed ranges.
  const open = found.filter((address) =>
    isProxied ? isAllowed(address, allowed) : anyAddress || !isPrivate(address, allowed)
  );
  if (open.length > 0) return open;
  if (isProxied) return undefined;
  throw refused(url, found[0] ?? "no address");
}

function bareHost({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

function portOf({ port, protocol }: URL): number {
  return port === "" ? protocol === "https:" ? 443 : 80 : Number(port);
}

async function connectFirst(
  addresses: readonly string[],
  port: number,
  signal: AbortSignal,
): Promise<Socket> {
  let last: unknown = new Error("ENOTFOUND");
  for (const host of addresses) {
    const isOnly = addresses.length === 1;
    const limit = isOnly ? signal : AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MS)]);
    try {
      return await connectTo(host, port, limit);
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
  const host = bareHost(url).replace(/\.$/, "");
  const name = parseAddress(host) ? { host } : { host, servername: host };
  const secure = connectTls({ socket, ALPNProtocols: ["http/1.1"], ...name });
  // The name is compared with the certificate before this event.
  await once(secure, "secureConnect", signal);
  return secure;
}

function proxyFor({ proxies }: Network, url: URL): URL {
  const proxy = URL.parse((url.protocol === "https:" ? proxies.https : proxies.http) ?? "");
  if (proxy?.protocol !== "http:") {
    throw failed(url, `the proxy of the environment is no http:// proxy`, "set HTTPS_PROXY=http://HOST:PORT");
  }
  if (isLocalName(url.hostname) || !/[.:]/.test(url.hostname)) throw refused(url, url.hostname);
  return proxy;
}

function loginOf({ username, password }: URL): Record<string, string> {
  if (username === "") return {};
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "proxy-authorization": `Basic ${new TextEncoder().encode(login).toBase64()}` };
}

/** A connection to the proxy; for https a tunnel through it. */
async function throughProxy(proxy: URL, url: URL, signal: AbortSignal): Promise<Socket> {
  const host = bareHost(proxy);
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
    asked.on("error", reject);
    asked.once("connect", (response, socket) => {
      socket.on("error", reject);
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

/** Resolves with an event; destroys the stream when the signal aborts. Later errors are dropped. */
async function once<T>(stream: Stream, event: string, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  stream.once(event, resolve);
  stream.on("error", reject);
  stream.once("close", () => reject(new Error("Socket hang up")));
  return await until(promise, signal).catch((error) => {
    stream.destroy();
    throw error;
  });
}

/** The result of a promise, or the reason of the signal. */
async function until<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  return await Promise.race([promise, aborted]);
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

const DECODERS: Readonly<Record<string, () => Transform>> = {
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
    const stream = decoder();
    // Errors reach the reader of the last stream.
    pipeline(body, stream, () => {});
    body = stream;
  }
  return body;
}
