import type {
  AuthProvider,
  FetchLike,
  JSONRPCMessage,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { message, ReasonixError, type Text, textOf } from "../../core/mod.ts";
import type { McpServerSpec } from "../server_spec.ts";
import { MAX_MESSAGE_BYTES, MEGABYTE } from "./stdio.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import { lazy } from "../../util/lazy.ts";
import { isSameServer, programFetch } from "../../util/network/fetch.ts";
import { after, atMost, unlessAborted } from "../../util/timer.ts";

/** The client library of the protocol: 60 ms and 20 MB, so only for a server that is started. */
export const loadSdk = lazy(() => import("@modelcontextprotocol/client"));

type HeaderSource = () => Promise<Readonly<Record<string, string>>>;
/** Receives a Retry-After that was not waited for. */
type NotNow = (status: number, seconds: number) => void;

interface HttpTransportOptions {
  readonly spec: McpServerSpec;
  readonly headers: HeaderSource;
  readonly auth: AuthProvider | undefined;
  readonly notNow: NotNow;
  /** Filters a message before the SDK sees it. */
  readonly accept: (message: JSONRPCMessage) => JSONRPCMessage;
}

const NEWLINE = 10;
const TOO_LARGE = `too large: the answer has over ${MAX_MESSAGE_BYTES / MEGABYTE} MB`;
const SETTLE_MS = 50;

/**
 * Creates the transport for streamable HTTP, with bounded answers. Throws a ReasonixError for a wrong URL.
 */
export async function httpTransport(options: HttpTransportOptions): Promise<StreamableHTTPClientTransport> {
  const { spec, headers, auth, accept, notNow } = options;
  const { StreamableHTTPClientTransport } = await loadSdk();
  const server = addressOf(spec);
  const send = serverFetch({
    server,
    headers: async () => ({ ...spec.headers, ...await headers() }),
    notNow,
  });
  const waiting = new Set<unknown>();
  const transport = new StreamableHTTPClientTransport(server, {
    async fetch(input, init) {
      const id = requestId(init?.body);
      if (id !== undefined) waiting.add(id);
      const response = await send(input, init);
      return bounded(response, (why) => {
        if (id === undefined || !waiting.delete(id)) return;
        transport.onmessage?.({ jsonrpc: "2.0", id, error: { code: -32001, message: textOf(why) } });
      });
    },
    // The program's own fetch decides.
    redirectPolicy: "follow",
    ...(auth ? { authProvider: auth } : {}),
  });
  const start = transport.start.bind(transport);
  transport.start = () => {
    const receive = transport.onmessage;
    transport.onmessage = (message: JSONRPCMessage) => {
      if (!("method" in message)) waiting.delete(message.id);
      receive?.(accept(message));
    };
    return start();
  };
  return transport;
}

/** The address of a server over HTTP. Throws a ReasonixError where it is none. */
export function addressOf({ url: text }: Pick<McpServerSpec, "url">): URL {
  const url = URL.parse(text);
  if (url && (url.protocol === "http:" || url.protocol === "https:")) return url;
  throw new ReasonixError(message`"${text}" is not the address of a server`, {
    remedy: message`give an http:// or https:// address as its url`,
  });
}

function requestId(body: unknown): string | number | undefined {
  const message = typeof body === "string" ? parseJson(body) : undefined;
  if (!isRecord(message) || typeof message.method !== "string") return undefined;
  return typeof message.id === "string" || typeof message.id === "number" ? message.id : undefined;
}

/**
 * Ends a body when one message is too large; event streams have no limit as a whole. Calls `ended` for a
 * stream that cannot be resumed: the SDK would wait for its answer.
 */
function bounded(response: Response, ended: (why: Text) => void): Response {
  if (!response.body) return response;
  const isStream = response.headers.get("content-type")?.includes("text/event-stream") ?? false;
  const numbered = new NumberedEvents();
  let size = 0;
  const body = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const end = isStream ? chunk.lastIndexOf(NEWLINE) : -1;
        size = end >= 0 ? chunk.length - end : size + chunk.length;
        if (isStream) numbered.push(chunk);
        if (size <= MAX_MESSAGE_BYTES) return controller.enqueue(chunk);
        if (isStream) ended(TOO_LARGE);
        controller.error(new ReasonixError(TOO_LARGE));
      },
      flush() {
        if (!isStream || numbered.found) return;
        after(SETTLE_MS, () => ended(message`the stream ended before its answer`));
      },
    }),
  );
  return new Response(body, response);
}

/** Looks for an event with an identifier: a stream that has one is resumed. */
class NumberedEvents {
  found = false;
  #line = "";
  readonly #decoder = new TextDecoder();

  push(chunk: Uint8Array): void {
    if (this.found || chunk.length > MEGABYTE) return;
    const lines = (this.#line + this.#decoder.decode(chunk, { stream: true })).split("\n");
    this.#line = (lines.pop() ?? "").slice(0, 16);
    this.found = lines.some((line) => /^id: ?[^\r]/.test(line));
  }
}

interface ServerFetchOptions {
  readonly server: URL;
  /** Current headers, for the server alone. */
  readonly headers: HeaderSource;
  readonly notNow?: NotNow;
}

/** Longest accepted Retry-After. */
const PATIENCE_SECONDS = 10;
const MOST_WAITS = 2;
/** Statuses without an effect: too many requests, service unavailable. */
const NOT_NOW: ReadonlySet<number> = new Set([429, 503]);

/**
 * Sends requests to a server and to its authorization server. The server's headers go to its origin only. A
 * short Retry-After is respected. A redirect to another server is a RedirectError, except for metadata, which
 * the SDK looks up at several addresses: there it is an answer without metadata.
 */
export function serverFetch({ server, headers, notNow }: ServerFetchOptions): FetchLike {
  return async (input, init) => {
    const isServer = isSameServer(server, new URL(input));
    const reads = (init?.method ?? "GET") === "GET";
    const redirect = reads ? init?.redirect ?? "follow" : "follow";
    for (let waits = 0;; waits++) {
      const sent = new Headers(init?.headers);
      for (const [name, value] of Object.entries(isServer ? await headers() : {})) {
        if (!sent.has(name)) sent.set(name, value);
      }
      const response = await programFetch(input, { ...init, headers: sent, redirect });
      const seconds = secondsToWait(response);
      if (seconds === undefined) return response;
      if (!NOT_NOW.has(response.status) || seconds > PATIENCE_SECONDS || waits === MOST_WAITS) {
        notNow?.(response.status, seconds);
        return response;
      }
      await response.body?.cancel();
      await atMost(seconds * 1000, unlessAborted(new Promise(() => {}), init?.signal ?? undefined));
    }
  };
}

/** The Retry-After of a failed response, in seconds. */
function secondsToWait({ ok, status, headers }: Response): number | undefined {
  const text = headers.get("retry-after");
  if (ok || status < 400 || text === null) return undefined;
  const seconds = /^\s*\d+\s*$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : undefined;
}
