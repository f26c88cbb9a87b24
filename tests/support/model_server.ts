/**
 * A scripted model server that speaks a wire, chat completions by default, over loopback TCP.
 *
 * Every request is recorded and checked: each assistant tool call has exactly one result in order, and the
 * message array is a byte-prefix extension of the request before. Violations are thrown when the server is
 * closed.
 */
import { prefixProblem } from "./model_checks.ts";
import { HttpConnection, type HttpRequest } from "./model_http.ts";
import { type Part, type ScriptedAnswer, sse } from "./model_wire.ts";
import { OPENAI_WIRE } from "./wires/openai.ts";
import type { Refusal, ScriptedWire } from "./wires/scripted_wire.ts";

export * from "./model_wire.ts";

/** One scripted reply: an answer, or any departure from one. */
export interface Turn extends ScriptedAnswer {
  /** Held back until this settles, before the status line. */
  readonly before?: Promise<unknown>;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A complete body in place of an answer; an object is sent as JSON. */
  readonly body?: string | Uint8Array | Readonly<Record<string, unknown>>;
  /** The streamed body, piece by piece, in place of an answer. */
  readonly stream?: Iterable<Part>;
  /** Answers with one JSON completion although the request wants a stream. */
  readonly json?: boolean;
  /** Breaks the connection after this many bytes of the body. */
  readonly cutAfter?: number;
  /** The answer stops after its first words: the connection breaks or stays open in silence. */
  readonly stuck?: "cut" | "silent";
  /** Breaks the connection instead of answering. */
  readonly drop?: boolean;
}

export type ScriptedTurn = Turn | ((request: RecordedRequest) => Turn | Promise<Turn>);

export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
  // deno-lint-ignore no-explicit-any
  readonly json: any;
  /** `performance.now()` when the last byte had arrived. */
  readonly time: number;
  /** Settles when the client has closed the connection or sent something more on it. */
  readonly gone: Promise<unknown>;
}

export interface ModelServerOptions {
  readonly wire?: ScriptedWire;
  /** Identifiers listed under /models. */
  readonly models?: readonly string[];
  /** Answers requests that the script does not cover. */
  readonly fallback?: ScriptedTurn;
  /** Conversation a request belongs to, where one server serves several. */
  readonly lane?: (request: RecordedRequest) => string;
  /** Turns one of the checks off, for tests that send what no agent would. */
  readonly check?: { readonly pairing?: boolean; readonly prefix?: boolean };
  /** Port; 0 = any free one. */
  readonly port?: number;
}

const encoder = new TextEncoder();

export class ModelServer implements AsyncDisposable {
  /** Base URL for a provider entry. */
  readonly url: string;
  readonly port: number;
  /** Requests for a completion, in order of arrival. */
  readonly requests: RecordedRequest[] = [];
  readonly violations: string[] = [];
  readonly wire: ScriptedWire;
  /** TCP connections accepted so far. */
  connections = 0;
  readonly #listener: Deno.TcpListener;
  readonly #open = new Map<HttpConnection, Promise<void>>();
  readonly #script: ScriptedTurn[];
  readonly #options: ModelServerOptions;
  readonly #previous = new Map<string, string>();
  #waiting: { count: number; resolve: () => void }[] = [];
  #accepting: Promise<void>;
  #resets = 0;

  constructor(script: readonly ScriptedTurn[], options: ModelServerOptions) {
    this.#script = [...script];
    this.#options = options;
    this.wire = options.wire ?? OPENAI_WIRE;
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: options.port ?? 0 });
    this.port = this.#listener.addr.port;
    this.url = `http://127.0.0.1:${this.port}${this.wire.basePath}`;
    this.#accepting = this.#accept();
  }

  /** Turns not requested yet. */
  get remaining(): number {
    return this.#script.length;
  }

  push(...turns: readonly ScriptedTurn[]): void {
    this.#script.push(...turns);
  }

  /** Declares that the message array of the next request may start again. */
  expectReset(): void {
    this.#resets++;
  }

  /** Withdraws an unused declaration. */
  expectNoReset(): void {
    this.#resets = 0;
  }

  /** Settles once `count` completion requests have arrived. */
  received(count: number): Promise<void> {
    if (this.requests.length >= count) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ count, resolve }));
  }

  /** Closes every connection, then throws the violations of the requests. */
  async close(): Promise<void> {
    await this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#listener.close();
    } catch { /* closed before */ }
    for (const connection of this.#open.keys()) connection.close();
    await Promise.all([this.#accepting, ...this.#open.values()]);
    const found = this.violations.splice(0);
    if (found.length > 0) throw new Error(`Requests broke the rules:\n- ${found.join("\n- ")}`);
  }

  async #accept(): Promise<void> {
    try {
      for await (const conn of this.#listener) {
        this.connections++;
        const connection = new HttpConnection(conn);
        this.#open.set(connection, this.#serve(connection).finally(() => this.#open.delete(connection)));
      }
    } catch { /* the listener was closed */ }
  }

  async #serve(connection: HttpConnection): Promise<void> {
    while (true) {
      const request = await connection.request();
      if (!request) break;
      if (!await this.#answer(connection, request)) break;
    }
    connection.close();
  }

  async #answer(connection: HttpConnection, http: HttpRequest): Promise<boolean> {
    if (http.method === "GET" && /\/models(?:\?|$)/.test(http.path)) {
      return await send(connection, { body: this.wire.models(this.#options.models ?? ["scripted"]) });
    }
    if (!this.wire.isCompletion(http.path)) {
      return await send(connection, { status: 404, body: "no such page" });
    }
    const { request, refusal } = this.#record(http, connection);
    if (refusal) return await send(connection, refusal);
    const next = this.#script.shift() ?? this.#options.fallback;
    if (next === undefined) {
      this.violations.push(`request ${this.requests.length}: the script has no turn left for it`);
      return await send(connection, { status: 400, body: { error: { message: "script exhausted" } } });
    }
    const turn = typeof next === "function" ? await next(request) : next;
    return await send(connection, this.#whole(turn, request));
  }

  /** The turn with its answer encoded for the wire. */
  #whole(turn: Turn, request: RecordedRequest): Turn {
    if (turn.body !== undefined || turn.stream !== undefined) return turn;
    const number = this.requests.length;
    if (turn.stuck) return stuckTurn(turn, [...this.wire.parts(turn, number, request)]);
    if (turn.json) return { ...turn, body: this.wire.json?.(turn, number, request) ?? {} };
    return { ...turn, stream: this.wire.parts(turn, number, request) };
  }

  #record(
    http: HttpRequest,
    connection: HttpConnection,
  ): { readonly request: RecordedRequest; readonly refusal: Refusal | undefined } {
    const body = new TextDecoder("utf-8", { fatal: true }).decode(http.bytes);
    let json: unknown;
    try {
      json = JSON.parse(body);
    } catch (error) {
      this.violations.push(`request ${this.requests.length + 1}: body is not JSON: ${error}`);
    }
    const { method, path, headers } = http;
    const gone = connection.fill();
    const request = { method, path, headers, body, json, time: performance.now(), gone };
    this.requests.push(request);
    const refusal = json === undefined ? undefined : this.#check(request);
    this.#waiting = this.#waiting.filter((w) => this.requests.length < w.count || (w.resolve(), false));
    return { request, refusal };
  }

  /** Records the violations of a request; returns the vendor's error if it would refuse the request. */
  #check(request: RecordedRequest): Refusal | undefined {
    const note = (text: string) => void this.violations.push(`request ${this.requests.length}: ${text}`);
    const { check = {}, lane } = this.#options;
    if (check.pairing !== false) this.wire.problems?.(request).forEach(note);
    const refusal = check.pairing === false ? undefined : this.wire.refusal?.(request);
    if (refusal && !refusal.expected) note(`refused: ${JSON.stringify(refusal.body)}`);
    const key = lane?.(request) ?? "";
    const raw = this.wire.list(request);
    if (raw === undefined) return refusal;
    const previous = this.#previous.get(key);
    this.#previous.set(key, raw);
    if (previous === undefined || check.prefix === false) return refusal;
    const problem = prefixProblem(previous, raw);
    if (problem === undefined) return refusal;
    if (this.#resets > 0) this.#resets--;
    else note(problem);
    return refusal;
  }
}

/** Starts a server that gives `script`'s turns in order. */
export function startModelServer(
  script: readonly ScriptedTurn[] = [],
  options: ModelServerOptions = {},
): ModelServer {
  return new ModelServer(script, options);
}

/** Sends one turn; false when the connection cannot be used again. */
async function send(connection: HttpConnection, turn: Turn): Promise<boolean> {
  const left = connection.fill().then((more) => more ? new Promise<never>(() => {}) : false as const);
  const settled = (wait: Promise<unknown>) => Promise.race([left, wait.then(() => true, () => true)]);
  if (turn.before && !await settled(turn.before)) return false;
  if (turn.drop) return false;
  const complete = completeBody(turn);
  const type = complete === undefined ? "text/event-stream" : bodyType(complete);
  const head = [`HTTP/1.1 ${turn.status ?? 200} Scripted`];
  const headers = { "content-type": type, ...turn.headers };
  for (const [name, value] of Object.entries(headers)) head.push(`${name}: ${value}`);
  head.push(complete === undefined ? "transfer-encoding: chunked" : `content-length: ${complete.length}`);
  if (!await connection.write(head.join("\r\n") + "\r\n\r\n")) return false;
  if (complete !== undefined) {
    if (turn.cutAfter === undefined) return await connection.write(complete);
    await connection.write(complete.subarray(0, turn.cutAfter));
    return false;
  }
  let allowed = turn.cutAfter ?? Infinity;
  for (const part of turn.stream ?? []) {
    if (part instanceof Promise) {
      if (!await settled(part)) return false;
      continue;
    }
    const all = partBytes(part);
    const piece = all.subarray(0, Math.min(all.length, allowed));
    allowed -= piece.length;
    if (piece.length > 0 && !await connection.write(frame(piece))) return false;
    if (piece.length < all.length) return false;
  }
  return await connection.write("0\r\n\r\n");
}

/** The turn up to the event with its first words. */
function stuckTurn(turn: Turn, parts: readonly Part[]): Turn {
  const words = JSON.stringify([turn.text ?? ""].flat()[0]);
  const has = (part: Part) =>
    typeof part === "string" ? part.includes(words) : JSON.stringify(part).includes(words);
  const stream = parts.slice(0, parts.findIndex(has) + 1);
  if (turn.stuck === "silent") return { ...turn, stream: [...stream, new Promise(() => {})] };
  const sent = stream.map((part) => part instanceof Promise ? 0 : partBytes(part).length);
  return { ...turn, stream: [...stream, ": rest"], cutAfter: sent.reduce((sum, more) => sum + more, 0) };
}

function completeBody({ body }: Turn): Uint8Array | undefined {
  if (body === undefined || body instanceof Uint8Array) return body;
  return encoder.encode(typeof body === "string" ? body : JSON.stringify(body));
}

function bodyType(bytes: Uint8Array): string {
  if (bytes[0] === 0x7b) return "application/json";
  return bytes[0] === 0x3c ? "text/html; charset=utf-8" : "text/plain; charset=utf-8";
}

function partBytes(part: Exclude<Part, Promise<unknown>>): Uint8Array {
  if (part instanceof Uint8Array) return part;
  return encoder.encode(typeof part === "string" ? part : sse(part));
}

/** The piece as one chunk of a chunked transfer, so that one write is one network packet where possible. */
function frame(piece: Uint8Array): Uint8Array {
  const head = encoder.encode(`${piece.length.toString(16)}\r\n`);
  const out = new Uint8Array(head.length + piece.length + 2);
  out.set(head);
  out.set(piece, head.length);
  out.set([13, 10], head.length + piece.length);
  return out;
}
