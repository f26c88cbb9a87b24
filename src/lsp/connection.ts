import { ReasonixError } from "../core/mod.ts";
import type { ServerProcess } from "../tool/mod.ts";
import { joinBytes } from "../util/bytes.ts";
import { isRecord, parseJson } from "../util/json.ts";
import { oneLine } from "../util/terminal_text.ts";
import { after, unlessAborted } from "../util/timer.ts";

/** Receives requests and notifications of a server. */
interface ServerListener {
  notified(method: string, params: unknown): void;
  /** Returns the result of a request of the server; undefined: there is no such method. */
  asked(method: string, params: unknown): unknown;
  /** The server has ended; called once. */
  ended(why: string): void;
}

interface Pending {
  readonly method: string;
  readonly settle: PromiseWithResolvers<unknown>;
}

/** A server answered a request with an error. */
export class ServerRefusal extends ReasonixError {
  readonly code: number;

  constructor(message: string, code: number) {
    super(message);
    this.code = code;
  }
}

/** Time for the last output of a server that has ended to be taken in. */
const DRAIN_MS = 200;
const METHOD_NOT_FOUND = -32601;
/** Characters of standard error that are kept for the reason of an end. */
const MAX_LOG_CHARS = 4_000;
/** Bytes that may wait for a server that does not read. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;

/**
 * JSON-RPC with a language server over its standard streams.
 *
 * Contract: `request` rejects with a ReasonixError when the server refuses, does not answer in time or is
 * gone, and with the reason of the signal when that is aborted; the server then gets a cancellation.
 */
export class LspConnection {
  readonly #process: ServerProcess;
  readonly #listener: ServerListener;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #pending = new Map<number, Pending>();
  #unread = 0;
  #calls = 0;
  #log = "";
  #gone: string | undefined;

  constructor(process: ServerProcess, listener: ServerListener) {
    this.#process = process;
    this.#listener = listener;
    this.#writer = process.child.stdin.getWriter();
    // The output reports its end; a write that comes too late fails automatically.
    this.#writer.closed.catch(() => {});
    void this.#read();
    void this.#readLog();
  }

  get isGone(): boolean {
    return this.#gone !== undefined;
  }

  notify(method: string, params: unknown): void {
    this.#send({ method, params });
  }

  async request(
    method: string,
    params: unknown,
    { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
  ): Promise<unknown> {
    signal?.throwIfAborted();
    const id = ++this.#calls;
    const settle = Promise.withResolvers<unknown>();
    this.#pending.set(id, { method, settle });
    const clear = after(timeoutMs, () => settle.reject(tooSlow(method, timeoutMs)));
    try {
      this.#send({ id, method, params });
      return await unlessAborted(settle.promise, signal);
    } finally {
      clear();
      if (this.#pending.delete(id)) this.#send({ method: "$/cancelRequest", params: { id } });
    }
  }

  async end(why = "it was stopped"): Promise<void> {
    this.#lost(why);
    void this.#writer.abort().catch(() => {});
    await this.#process.end(0);
  }

  #send(message: object): void {
    if (this.#gone !== undefined) {
      if ("id" in message) this.#settle({ id: message.id, error: { message: this.#gone } });
      return;
    }
    const bytes = encodeMessage({ jsonrpc: "2.0", ...message });
    this.#unread += bytes.length;
    if (this.#unread > MAX_UNREAD_BYTES) return void this.end("it does not read what it is sent");
    this.#writer.write(bytes).then(() => void (this.#unread -= bytes.length), () => {});
  }

  async #read(): Promise<void> {
    const { child } = this.#process;
    const messages = new MessageReader();
    const reader = child.stdout.getReader();
    // What it left behind may hold the stream.
    const drained = child.status.then(() => after(DRAIN_MS, () => void reader.cancel().catch(() => {})));
    let why: string | undefined;
    try {
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        for (const body of messages.push(read.value as Uint8Array<ArrayBuffer>)) this.#take(parseJson(body));
      }
    } catch (error) {
      if (error instanceof FramingError) why = `it does not speak the protocol: ${error.message}`;
    }
    if (why === undefined) {
      const { code, signal } = await child.status;
      (await drained)();
      why = signal ? `it was ended by ${signal}` : `it ended with exit code ${code}`;
    }
    const said = oneLine(this.#log.slice(-MAX_LOG_CHARS), 300);
    await this.end(said === "" ? why : `${why}: ${said}`);
  }

  async #readLog(): Promise<void> {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of this.#process.child.stderr) {
        // The first words of one that does not start say why.
        if (this.#log.length < MAX_LOG_CHARS) this.#log += decoder.decode(chunk, { stream: true });
      }
    } catch {
      // Nothing more to keep.
    }
  }

  #take(message: unknown): void {
    if (!isRecord(message)) return;
    const { id, method, params } = message;
    if (typeof method !== "string") this.#settle(message);
    else if (id === undefined) this.#listener.notified(method, params);
    else {
      const result = this.#listener.asked(method, params);
      const error = { code: METHOD_NOT_FOUND, message: `${method} is not known here` };
      this.#send(result === undefined ? { id, error } : { id, result });
    }
  }

  #settle({ id, result, error }: Record<string, unknown>): void {
    const waiting = this.#pending.get(Number(id));
    if (!waiting) return;
    this.#pending.delete(Number(id));
    if (!isRecord(error)) return waiting.settle.resolve(result);
    const said = oneLine(String(error.message ?? "no reason given"), 300);
    waiting.settle.reject(
      new ServerRefusal(`The language server refused ${waiting.method}: ${said}`, Number(error.code)),
    );
  }

  #lost(why: string): void {
    if (this.#gone !== undefined) return;
    this.#gone = why;
    for (const { settle } of this.#pending.values()) {
      settle.reject(new ReasonixError(`The language server is gone: ${why}`));
    }
    this.#pending.clear();
    this.#listener.ended(why);
  }
}

function tooSlow(method: string, timeoutMs: number): ReasonixError {
  return new ReasonixError(`The language server did not answer ${method} within ${timeoutMs / 1000} s`, {
    remedy: "try again later, or go on without it",
  });
}

type Bytes = Uint8Array<ArrayBuffer>;

/** Bytes of one message that are taken in. The longest that servers send are lists of a whole workspace. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
/** A header is two short lines; this much without an end is another protocol. */
const MAX_HEADER_BYTES = 8 * 1024;
const HEADER_END = "\r\n\r\n";

/** The stream is not that of a language server, so that nothing after it can be read. */
class FramingError extends Error {}

/** A message with the header that the base protocol asks for (LSP specification, "Base Protocol"). */
function encodeMessage(message: object): Bytes {
  const body = new TextEncoder().encode(JSON.stringify(message));
  const header = new TextEncoder().encode(`Content-Length: ${body.length}${HEADER_END}`);
  return joinBytes([header, body]);
}

/**
 * Takes a stream apart into the bodies of its messages, in bounded memory. Lines that are no header are
 * passed over: some servers print a greeting first. Throws a {@linkcode FramingError}.
 */
class MessageReader {
  readonly #decoder = new TextDecoder();
  #chunks: Bytes[] = [];
  #size = 0;
  /** Bytes of the body that is coming; undefined while its header is. */
  #expected: number | undefined;

  push(chunk: Bytes): string[] {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    const bodies: string[] = [];
    while (true) {
      if (this.#expected !== undefined && this.#size >= this.#expected) {
        bodies.push(this.#decoder.decode(this.#take(this.#expected)));
        this.#expected = undefined;
      } else if (this.#expected !== undefined || !this.#readHeader()) break;
    }
    return bodies;
  }

  /** Reads one header; false when its end has not come. */
  #readHeader(): boolean {
    const bytes = this.#joined();
    const head = latin1(bytes.subarray(0, MAX_HEADER_BYTES));
    const end = head.indexOf(HEADER_END);
    if (end < 0) {
      if (bytes.length < MAX_HEADER_BYTES) return false;
      throw new FramingError(`No header within ${MAX_HEADER_BYTES} bytes`);
    }
    this.#take(end + HEADER_END.length);
    const length = /(?:^|\n)content-length:[ \t]*(\d{1,12})\s*(?:\r\n|$)/i.exec(head.slice(0, end))?.[1];
    if (length === undefined) return true;
    if (Number(length) > MAX_MESSAGE_BYTES) throw new FramingError(`A message of ${length} bytes`);
    this.#expected = Number(length);
    return true;
  }

  #joined(): Bytes {
    const whole = joinBytes(this.#chunks);
    this.#chunks = [whole];
    return whole;
  }

  #take(count: number): Bytes {
    const whole = this.#joined();
    const rest = whole.subarray(count);
    this.#chunks = rest.length > 0 ? [rest] : [];
    this.#size = rest.length;
    return whole.subarray(0, count);
  }
}

function latin1(bytes: Bytes): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}
