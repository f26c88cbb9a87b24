/** A scripted MCP server over streamable HTTP on loopback, well-behaved or bad in one way or several. */
import type { Behaviour, Message } from "./behaviour.ts";
import { Session } from "./session.ts";

export interface HttpBehaviour extends Behaviour {
  /** Form of answers; default: `json`, and a stream for those with requests or notifications. */
  readonly answer?: "json" | "stream";
  /** The old era has sessions, as a header; default: true. */
  readonly sessions?: boolean;
  /** Replaces the usual answer if it returns one. */
  readonly instead?: (request: Seen) => Response | undefined | Promise<Response | undefined>;
  /** Settles before each event of a stream is sent. */
  readonly beforeEvent?: () => Promise<unknown>;
  /** Breaks the stream of a call of this tool before its answer; it can be resumed. */
  readonly breaksOn?: string;
  /** The old era's stream of notices is offered; default: true. */
  readonly notices?: boolean;
}

/** A received request. */
export interface Seen {
  readonly verb: string;
  readonly path: string;
  readonly headers: Headers;
  readonly message: Message;
}

type Emit = (message: Message) => void;

const SESSION = "mcp-session-id";

/** A response of events that are pushed, numbered so that it can be resumed. */
class EventStream {
  readonly response: Response;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #sent: Promise<unknown> = Promise.resolve();

  constructor(private readonly before: () => Promise<unknown>, onCancel: () => void) {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => void (this.#controller = controller),
      cancel: () => {
        this.#controller = undefined;
        onCancel();
      },
    });
    this.response = new Response(body, { headers: { "content-type": "text/event-stream" } });
  }

  push(message: Message, id?: string): void {
    const head = id === undefined ? "" : `id: ${id}\nretry: 10\n`;
    const bytes = new TextEncoder().encode(`${head}event: message\ndata: ${JSON.stringify(message)}\n\n`);
    this.#sent = this.#sent.then(this.before).then(() => this.#controller?.enqueue(bytes));
  }

  /** Sends an identifier without a message, from which the stream is resumed. */
  prime(id: string): void {
    const bytes = new TextEncoder().encode(`id: ${id}\nretry: 10\ndata:\n\n`);
    this.#sent = this.#sent.then(() => this.#controller?.enqueue(bytes));
  }

  close(): void {
    this.#sent = this.#sent.then(() => {
      this.#controller?.close();
      this.#controller = undefined;
    });
  }
}

export class HttpMcpServer implements AsyncDisposable {
  readonly url: string;
  /** Every request, in the order of arrival. */
  readonly seen: Seen[] = [];
  readonly #behaviour: HttpBehaviour;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #sessions = new Map<string, Session>();
  readonly #streams = new Set<EventStream>();
  readonly #notices = new Map<string, EventStream>();
  readonly #kept = new Map<string, Promise<Message>>();
  readonly #shared: Session;
  #count = 0;

  constructor(behaviour: HttpBehaviour) {
    this.#behaviour = behaviour;
    this.#shared = new Session(behaviour, () => {}, () => {});
    const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
    this.#server = Deno.serve(options, (request) => this.#handle(request));
    this.url = `http://127.0.0.1:${this.#server.addr.port}/mcp`;
  }

  /** Methods of the received messages, in order. */
  get methods(): string[] {
    return this.seen.flatMap(({ message }) => message.method ?? []);
  }

  /** Forgets every session of the old era. */
  forgetSessions(): void {
    this.#sessions.clear();
  }

  /** Sessions of the old era that are open. */
  get sessions(): number {
    return this.#sessions.size;
  }

  /** Changes the list of tools in every session and says so. */
  change(): void {
    for (const session of [this.#shared, ...this.#sessions.values()]) session.change();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stream of this.#streams) stream.close();
    await this.#server.shutdown();
  }

  async #handle(request: Request): Promise<Response> {
    const text = await request.text();
    const message = (text === "" ? {} : JSON.parse(text)) as Message;
    const { headers, method: verb, url } = request;
    const seen = { verb, path: new URL(url).pathname, headers, message };
    this.seen.push(seen);
    const instead = await this.#behaviour.instead?.(seen);
    if (instead !== undefined) return instead;
    if (seen.path.startsWith("/.well-known/")) return new Response("Not found", { status: 404 });
    const id = headers.get(SESSION);
    const session = this.#sessionOf(seen);
    if (session === undefined) return new Response("Session not found", { status: 404 });
    if (verb === "GET") return this.#open(seen);
    if (verb === "DELETE") {
      if (id !== null) this.#sessions.delete(id);
      return new Response(null, { status: 204 });
    }
    if (message.id === undefined || message.method === undefined) {
      await session.receive(message, () => {});
      return new Response(null, { status: 202 });
    }
    const response = await this.#answer(session, message);
    const made = message.method === "initialize" ? [...this.#sessions.keys()].at(-1) : undefined;
    if (made !== undefined) response.headers.set(SESSION, made);
    return response;
  }

  /** The session of a request; undefined for an expired one. */
  #sessionOf({ headers, message }: Seen): Session | undefined {
    if (this.#behaviour.sessions === false) return this.#shared;
    const id = headers.get(SESSION);
    if (id !== null) return this.#sessions.get(id);
    const { era = "both" } = this.#behaviour;
    if (message.method !== "initialize" || era === "new") return this.#shared;
    const name = `session-${++this.#count}`;
    const session = new Session(this.#behaviour, (notice) => this.#notices.get(name)?.push(notice), () => {});
    this.#sessions.set(name, session);
    return session;
  }

  /** The stream of notices, or the rest of a stream that broke. */
  #open({ headers }: Seen): Response {
    const last = headers.get("last-event-id");
    const kept = last === null ? undefined : this.#kept.get(last);
    if (kept === undefined && this.#behaviour.notices === false) return new Response(null, { status: 405 });
    const stream = this.#stream(() => {});
    if (kept !== undefined) {
      void kept.then((message) => {
        stream.push(message);
        stream.close();
      });
    } else this.#notices.set(headers.get(SESSION) ?? "", stream);
    return stream.response;
  }

  #stream(onCancel: () => void): EventStream {
    const stream = new EventStream(this.#behaviour.beforeEvent ?? (() => Promise.resolve()), onCancel);
    this.#streams.add(stream);
    return stream;
  }

  async #answer(session: Session, message: Message): Promise<Response> {
    if (message.method === "tools/call" && message.params?.name === this.#behaviour.breaksOn) {
      return this.#broken(session, message);
    }
    const { promise, resolve } = Promise.withResolvers<Response>();
    let stream: EventStream | undefined;
    const open = () => {
      stream ??= this.#stream(() => session.cancel(message.id));
      resolve(stream.response);
      return stream;
    };
    // A client of the new era cancels by closing the stream.
    if (message.params?.name === "wait") open();
    const emit: Emit = (answer) => {
      const isLast = answer.id === message.id && answer.method === undefined;
      if (stream === undefined && isLast && this.#behaviour.answer !== "stream") {
        return resolve(Response.json(answer, { status: answer.error?.code === -32022 ? 400 : 200 }));
      }
      open().push(answer);
      if (isLast) open().close();
    };
    void session.receive(message, emit);
    return await promise;
  }

  /** A stream that ends before its answer, which is kept for the one that resumes it. */
  #broken(session: Session, message: Message): Response {
    const id = `event-${++this.#count}`;
    const kept = Promise.withResolvers<Message>();
    this.#kept.set(id, kept.promise);
    void session.receive(message, kept.resolve);
    const stream = this.#stream(() => {});
    stream.prime(id);
    stream.close();
    return stream.response;
  }
}

/** Starts a server; its requests can be looked at. */
export function startHttpMcpServer(behaviour: HttpBehaviour = {}): HttpMcpServer {
  return new HttpMcpServer(behaviour);
}
