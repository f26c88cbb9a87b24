import { networkInterfaces } from "node:os";
import { isLoopback } from "../../config/mod.ts";
import { errorMessage, isAbort, message, ReasonixError, type Text, usageError } from "../../core/mod.ts";
import { readSmallText } from "../../path/probe.ts";
import { parseJson, recordOf } from "../../util/json.ts";
import { outputOf } from "../../util/process.ts";
import { atMost } from "../../util/timer.ts";
import { attempt, lazy } from "../../util/lazy.ts";
import { VERSION } from "../../util/version.ts";
import type { AccessOptions, Visitor } from "./access.ts";
import { Access, checkOrigin, forwarded, inUrl, Refusal } from "./access.ts";
import { apiHandlers } from "./api.ts";
import { PageFiles } from "./page_files.ts";
import type { ApiRequest, Handlers, Role, Route, RouteKey } from "./schemas.ts";
import { BODY_BYTES, ROUTES } from "./schemas.ts";
import { type Reader, type StreamOptions, Streams } from "./stream.ts";
import { checked } from "../session/answer_schemas.ts";
import { SessionList } from "../session/session_list.ts";

export interface WebOptions extends AccessOptions, Pick<StreamOptions, "sessions" | "home" | "texts"> {
  /** Allows plain HTTP beyond loopback. */
  readonly insecure?: boolean;
  /** The directory of sessions that name none. */
  readonly directory: string;
  /** The session that links lead to. */
  readonly only?: string | undefined;
  /** Called when a browser connects or leaves. */
  readonly changed?: () => void;
  /** Called with a defect; the client gets only "internal error". */
  readonly failed?: (error: unknown) => void;
  /** Reports whether a provider is configured. */
  readonly configured?: () => Promise<boolean>;
}

/** Starts the server. Throws a ReasonixError where it may or can not listen. */
export async function serveWeb(options: WebOptions): Promise<WebServer> {
  requireSafe(options);
  return await new WebServer(options).begin();
}

/** Refuses what would open the server to the network without protection. */
function requireSafe({ address: { hostname }, auth, tls, behindProxy, insecure, origin }: WebOptions): void {
  if (origin !== undefined && !/^https?:\/\/[^/?#@\s]+$/.test(origin)) {
    throw usageError(
      message`Cannot use "${origin}" for serve.origin`,
      message`give scheme and host, such as https://agent.example.org`,
    );
  }
  const isLocal = isLoopback(`http://${inUrl(hostname)}`);
  if (auth.mode === "none" && (!isLocal || behindProxy || origin !== undefined)) {
    throw usageError(
      message`Cannot serve ${hostname} without sign-in: everyone who reaches it could run commands here`,
      message`use --auth token or --auth password; without sign-in only loopback is served, and no proxy`,
    );
  }
  if (isLocal || tls || behindProxy || insecure) return;
  throw usageError(
    message`Cannot serve ${hostname} over plain HTTP: the network could read secrets and change the page`,
    message`give --tls-cert and --tls-key, use a proxy with --behind-proxy, or accept that with --insecure`,
  );
}

const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; " +
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

const API = "/api/v1";
/** Ports that are tried; ms for a body, and for open requests at the end. */
const [MAX_PORTS, BODY_MS, ENDING_MS] = [100, 30_000, 1000];
const CODES = new Map([[401, "sign-in"], [403, "forbidden"], [404, "not-found"], [409, "conflict"]]);

/** The parts of a path are names, never paths. */
const PATTERNS = (Object.keys(ROUTES) as RouteKey[]).map((key) => {
  const [method = "", path = ""] = key.split(" ");
  const pattern = path.replaceAll(".", "\\.").replaceAll(/:(\w+)/g, "(?<$1>[\\w-]{1,100})");
  return { key, method, pattern: new RegExp(`^${pattern}$`) };
});

/** Finds the route of a request. */
function match(method: string, path: string): Pick<ApiRequest, "params"> & { readonly key: RouteKey } {
  const known = PATTERNS.filter(({ pattern }) => pattern.test(path));
  const found = known.find((each) => each.method === method);
  if (found) return { key: found.key, params: { ...found.pattern.exec(path)?.groups } };
  if (known.length === 0) throw new Refusal(404, message`Cannot find ${path}`);
  const allow = known.map((each) => each.method).join(", ");
  throw new Refusal(405, message`Cannot ${method} ${path}`, undefined, { allow });
}

/** The client of a request. */
interface Caller {
  readonly request: Request;
  readonly from: string;
  /** Absent where it has not signed in. */
  readonly visitor?: Visitor | undefined;
}

export class WebServer {
  /** The public address. */
  readonly origin: string;
  /** The address on this machine. */
  readonly local: string;
  readonly #options: WebOptions;
  readonly #access: Access;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #handlers: Handlers<Caller>;
  readonly #streams: Streams;
  readonly #page = lazy(() => PageFiles.load());

  constructor(options: WebOptions) {
    this.#options = options;
    const { address: { hostname }, tls, home, origin } = options;
    this.#server = this.#listen();
    const { port } = this.#server.addr;
    const isAny = hostname === "0.0.0.0" || hostname === "::";
    const outside = Object.values(networkInterfaces()).flat().find((own) => own?.internal === false)?.address;
    const at = (name: string) => `${tls ? "https" : "http"}://${inUrl(name)}:${port}`;
    this.local = at(isAny ? "localhost" : hostname);
    this.origin = origin ?? (isAny ? at(outside ?? "localhost") : this.local);
    this.#access = new Access(options, { file: `${home}/serve/${port}.json`, at: this.local });
    const list = new SessionList(options);
    const streams = this.#streams = new Streams({ ...options, list, connected: options.changed });
    this.#handlers = { ...apiHandlers({ ...options, list, streams }), ...this.#own };
  }

  readonly #own: Handlers<Caller, Exclude<RouteKey, keyof ReturnType<typeof apiHandlers>>> = {
    "GET /server": async ({ visitor }) => {
      const { auth: { mode: auth }, texts: { locale }, directory, configured: ask } = this.#options;
      const { build } = await this.#page();
      if (!visitor) return { build, auth };
      const configured = await ask?.() ?? true;
      return { build, auth, version: VERSION, role: visitor.role, locale, directory, configured };
    },
    "POST /sign-in": ({ body, from }) => this.#access.signIn(body, from),
    "POST /sign-out": async ({ request }) => {
      await this.#access.signOut(request);
      return {};
    },
    "POST /links": async ({ body: { role, session } }) => {
      const url = this.link(role, session);
      const { encode } = await import("uqr");
      return { url, qr: encode(url).data.map((row) => row.map(Number).join("")) };
    },
    "GET /stream": async ({ request, query: { session = [] }, from, visitor }) => {
      const { role = "viewer", signal, reads } = visitor ?? {};
      const lastId = request.headers.get("last-event-id") ?? "";
      const { build } = await this.#page();
      const events = this.#streams.open(session, { role, from }, build, lastId);
      const ended = reads?.();
      const body = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>();
      // A stream that ends with an error would be an error of the server.
      const ends = events.pipeTo(body.writable, { preventAbort: true, ...(signal ? { signal } : {}) });
      void ends.catch(() => body.writable.close()).catch(() => {}).finally(ended);
      const headers = { "content-type": "text/event-stream", "x-accel-buffering": "no" };
      return new Response(body.readable, { headers });
    },
  };

  /** Makes a link; one with a sign-in counts once. */
  link(role: Role, session = this.#options.only): string {
    const isOpen = this.#options.auth.mode === "none";
    if (isOpen && role === "viewer") {
      throw usageError(
        message`Cannot make a link for viewers: without sign-in all are owners`,
        message`start the server with --auth token`,
      );
    }
    const values = new URLSearchParams();
    if (!isOpen) values.set("token", this.#access.code(role));
    if (session !== undefined) values.set("session", session);
    return `${this.origin}/${values.size > 0 ? `#${values}` : ""}`;
  }

  get readers(): readonly Reader[] {
    return this.#streams.readers;
  }

  /** Records that this server has the port. */
  async begin(): Promise<this> {
    await this.#access.save().catch(async (error) => {
      await this.#server.shutdown();
      throw error;
    });
    return this;
  }

  async close(): Promise<void> {
    this.#streams.close();
    await atMost(ENDING_MS, this.#server.shutdown());
    await this.#access.save({ isClosed: true });
  }

  #listen(): Deno.HttpServer<Deno.NetAddr> {
    const { address: { hostname, port, orNext = false }, tls, home } = this.#options;
    for (let tried = port;; tried++) {
      try {
        const where = { hostname, port: tried, onListen() {}, ...(tls ?? {}) };
        return Deno.serve(where, (request, { remoteAddr }) => this.#respond(request, remoteAddr.hostname));
      } catch (error) {
        const isUsed = error instanceof Deno.errors.AddrInUse;
        if (isUsed && orNext && tried - port < MAX_PORTS && tried < 65_535) continue;
        const why = isUsed ? message`${userOf(tried, home)} uses the port` : errorMessage(error);
        throw new ReasonixError(message`Cannot listen on ${hostname}:${tried}: ${why}`, {
          remedy:
            message`choose another address with --addr, or run reasonix web, which takes the next free port`,
        });
      }
    }
  }

  async #respond(request: Request, peer: string): Promise<Response> {
    const response = await this.#answer(request, peer).catch((error) => this.#refused(error));
    const { headers } = response;
    for (const [name, value] of Object.entries(HEADERS)) headers.set(name, headers.get(name) ?? value);
    return response;
  }

  async #answer(request: Request, peer: string): Promise<Response> {
    const url = URL.parse(request.url);
    if (!url) throw new Refusal(400, message`Cannot read the address of the request`);
    checkOrigin(request, url, this.#options);
    const from = forwarded(request, this.#options, "for") ?? peer;
    if (!url.pathname.startsWith(`${API}/`)) return await this.#file(request, url.pathname);
    const { key, params } = match(request.method, url.pathname.slice(API.length));
    const route: Route = ROUTES[key];
    const signedIn = () => this.#access.visitor(request, from);
    const visitor = route.role === "none" ? attempt(signedIn) : signedIn();
    if (route.role === "owner" && visitor?.role !== "owner") {
      throw new Refusal(403, message`Cannot do that with a link that only shows sessions`);
    }
    const session = url.searchParams.getAll("session");
    const given = { ...Object.fromEntries(url.searchParams), ...(session.length > 0 ? { session } : {}) };
    const query = checked(route.query, given, "query");
    const sent = request.method === "GET" ? undefined : await bodyOf(request, route);
    const body = checked(sent === undefined ? undefined : route.body, sent, "body");
    const work = this.#handlers[key] as (request: object) => unknown;
    const answer = await work({ params, query, body, request, from, visitor });
    return answer instanceof Response ? answer : Response.json(answer, { status: route.status ?? 200 });
  }

  /** Answers with a file of the page; its code finds the session of the path. */
  async #file({ method, headers }: Request, path: string): Promise<Response> {
    const isPage = path === "/" || /^\/s\/[\w-]{1,100}$/.test(path);
    const name = isPage ? "index.html" : /^\/assets\/([\w.-]{1,100})$/.exec(path)?.[1] ?? "";
    const file = (await this.#page()).file(name, headers.get("accept-encoding") ?? "");
    if (!file) throw new Refusal(404, message`Cannot find ${path}`);
    if (method === "GET") return file;
    throw new Refusal(405, message`Cannot ${method} ${path}`, undefined, { allow: "GET" });
  }

  #refused(error: unknown): Response {
    const { status, headers = {} } = error instanceof Refusal
      ? error
      : { status: error instanceof ReasonixError ? 400 : 500 };
    if (status === 500) this.#options.failed?.(error);
    const shown = status === 500 ? new ReasonixError(message`Cannot answer: internal error`) : error;
    const code = CODES.get(status) ?? (status < 500 ? "invalid" : "failed");
    return Response.json({ error: { ...this.#options.texts.parts(shown), code } }, { status, headers });
  }
}

/** The program that uses a port. */
function userOf(port: number, home: string): Text {
  const lsof = outputOf("lsof", ["-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-Fpc"]);
  const { pid, name = "" } = /^p(?<pid>\d+)\nc(?<name>.+)/m.exec(lsof)?.groups ??
    /"(?<name>[^"]+)",pid=(?<pid>\d+)/.exec(outputOf("ss", ["-ltnpH", `sport = :${port}`]))?.groups ?? {};
  if (pid === undefined) return message`another program`;
  const server = recordOf(parseJson(readSmallText(`${home}/serve/${port}.json`) ?? ""));
  return String(server.pid) === pid
    ? message`another Reasonix server (process ${pid})`
    : message`${name} (process ${pid})`;
}

/** Reads JSON of a bounded size within a bounded time. */
async function bodyOf({ headers, body, method }: Request, route: Route): Promise<unknown> {
  const { bytes = BODY_BYTES, body: schema } = route;
  if (method !== "DELETE" && !/^application\/json(?:\s*;|$)/i.test(headers.get("content-type") ?? "")) {
    throw new Refusal(415, message`Cannot read the request: its content type is not application/json`);
  }
  let size = 0;
  const bounded = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(piece, to) {
      if ((size += piece.length) <= bytes) return to.enqueue(piece);
      throw new Refusal(413, message`Cannot read the request: its body has more than ${bytes} bytes`);
    },
  });
  const read = new Response(body?.pipeThrough(bounded, { signal: AbortSignal.timeout(BODY_MS) }));
  const text = await read.text().catch((error) => {
    throw isAbort(error) ? new Refusal(408, message`Cannot read the request: its body is late`) : error;
  });
  const value = schema && parseJson(text);
  if (!schema || value !== undefined) return value;
  throw new Refusal(400, message`Cannot read the request: its body is no JSON`);
}
