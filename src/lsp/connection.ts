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

interface PendingRequest extends PromiseWithResolvers<unknown> {
  readonly method: string;
}

/** A server answered a request with an error. */
export class ServerRefusal extends ReasonixError {
  readonly code: number;

  constructor(message: string, code: number) {
    super(message);
    this.code = code;
  }
}

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
  readonly #pending = new Map<number, PendingRequest>();
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
    if (this.#gone !== undefined) throw goneError(this.#gone);
    const id = ++this.#calls;
    const pending = { method, ...Promise.withResolvers<unknown>() };
    this.#pending.set(id, pending);
    const clear = after(timeoutMs, () =>
      pending.reject(
        new ReasonixError(`The language server did not answer ${method} within ${timeoutMs / 1000} s`, {
          remedy: "try again later, or continue without it",
        }),
      ));
    try {
      this.#send({ id, method, params });
      return await unlessAborted(pending.promise, signal);
    } finally {
      clear();
      if (this.#pending.delete(id)) this.notify("$/cancelRequest", { id });
    }
  }

  async end(why = "it was stopped"): Promise<void> {
    if (this.#gone === undefined) {
      this.#gone = why;
      for (const { reject } of this.#pending.values()) reject(goneError(why));
      this.#pending.clear();
      this.#listener.ended(why);
    }
    void this.#writer.abort().catch(() => {});
    await this.#process.end(0);
  }

  #send(message: object): void {
    if (this.#gone !== undefined) return;
    const bytes = encodeMessage({ jsonrpc: "2.0", ...message });
    this.#unread += bytes.length;
    if (this.#unread > MAX_UNREAD_BYTES) return void this.end("it does not read what it is sent");
    this.#writer.write(bytes).then(() => void (this.#unread -= bytes.length), () => {});
  }

  async #read(): Promise<void> {
    const messages = new MessageReader();
    let why: string;
    try {
      const { code, signal } = await this.#process.output((chunk) => {
        for (const body of messages.push(chunk)) this.#take(parseJson(body));
      });
      why = signal ? `it was ended by ${signal}` : `it ended with exit code ${code}`;
    } catch (error) {
      why = `it does not speak the protocol: ${error instanceof Error ? error.message : error}`;
    }
    const log = oneLine(this.#log.slice(-MAX_LOG_CHARS), 300);
    await this.end(log === "" ? why : `${why}: ${log}`);
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
    const pending = this.#pending.get(Number(id));
    if (!pending) return;
    this.#pending.delete(Number(id));
    if (!isRecord(error)) return pending.resolve(result);
    const reason = oneLine(String(error.message ?? "no reason given"), 300);
    pending.reject(
      new ServerRefusal(`The language server refused ${pending.method}: ${reason}`, Number(error.code)),
    );
  }
}

function goneError(why: string): ReasonixError {
  return new ReasonixError(`The language server is gone: ${why}`);
}

type Bytes = Uint8Array<ArrayBuffer>;

/** The longest messages that servers send are lists of a whole workspace. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
/** A header is two short lines; this much without an end is another protocol. */
const MAX_HEADER_BYTES = 8 * 1024;
const HEADER_END = "\r\n\r\n";

/** Encodes a message with the header of the base protocol (LSP specification, "Base Protocol"). */
function encodeMessage(message: object): Bytes {
  const body = new TextEncoder().encode(JSON.stringify(message));
  const header = new TextEncoder().encode(`Content-Length: ${body.length}${HEADER_END}`);
  return joinBytes([header, body]);
}

/**
 * Splits a stream into the bodies of its messages, in bounded memory. Lines that are no header are skipped:
 * some servers print a greeting first. Throws for a stream that is not that of a language server.
 */
class MessageReader {
  readonly #decoder = new TextDecoder();
  readonly #headerDecoder = new TextDecoder("latin1");
  #chunks: Bytes[] = [];
  #size = 0;
  /** Bytes that complete the next message, as far as its header is known. */
  #needed = 0;

  *push(chunk: Bytes): Generator<string> {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size < this.#needed) return;
    let bytes = joinBytes(this.#chunks);
    this.#needed = 0;
    while (true) {
      const head = this.#headerDecoder.decode(bytes.subarray(0, MAX_HEADER_BYTES));
      const end = head.indexOf(HEADER_END);
      if (end < 0 && bytes.length < MAX_HEADER_BYTES) break;
      if (end < 0) throw new Error(`No header within ${MAX_HEADER_BYTES} bytes`);
      const begin = end + HEADER_END.length;
      const field = /(?:^|\n)content-length:[ \t]*(\d{1,12})\s*(?:\r\n|$)/i.exec(head.slice(0, end));
      const length = Number(field?.[1] ?? 0);
      if (length > MAX_MESSAGE_BYTES) throw new Error(`A message of ${length} bytes`);
      if (bytes.length < begin + length) {
        this.#needed = begin + length;
        break;
      }
      if (field) yield this.#decoder.decode(bytes.subarray(begin, begin + length));
      bytes = bytes.subarray(begin + length);
    }
    this.#chunks = [bytes];
    this.#size = bytes.length;
  }
}
