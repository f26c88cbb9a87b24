import {
  agent,
  type AgentApp,
  type AnyMessage,
  type AuthMethod,
  type ClientCapabilities,
  type InitializeRequest,
  type InitializeResponse,
  methods,
  PROTOCOL_VERSION,
  RequestError,
  type Stream,
} from "@agentclientprotocol/sdk";
import { errorMessage, isAbort, message, ReasonixError, usageError } from "../../core/mod.ts";
import type { Output } from "../output.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import { VERSION } from "../../util/version.ts";

export interface AcpOptions {
  readonly input: ReadableStream<Uint8Array>;
  readonly out: Output;
  /** An error in the language of the user. */
  readonly inLanguage: (error: unknown) => Promise<unknown>;
}

/** Serves one client until its input ends. */
export async function serveAcp(options: AcpOptions): Promise<void> {
  const server = new Server(options);
  await server.app.connect(new Messages(options.input, options.out, () => {})).closed;
}

class Server {
  readonly app: AgentApp;
  readonly #options: AcpOptions;
  #client: ClientCapabilities = {};

  constructor(options: AcpOptions) {
    this.#options = options;
    const { initialize, authenticate, logout } = methods.agent;
    this.app = agent({ name: "reasonix" })
      .onRequest(initialize, this.#answer((params) => this.#initialize(params)))
      .onRequest(
        authenticate,
        this.#answer(({ methodId }) => {
          throw usageError(
            message`Cannot sign in by "${methodId}" over this connection`,
            message`run \`reasonix setup\` in a terminal, then open a new session`,
          );
        }),
      )
      .onRequest(
        logout,
        this.#answer(() => {
          throw usageError(
            message`Cannot sign out over this connection: there is no sign-in, only API keys`,
            message`remove the key of the provider with \`reasonix setup\` in a terminal`,
          );
        }),
      );
  }

  #initialize({ clientCapabilities = {} }: InitializeRequest): InitializeResponse {
    this.#client = clientCapabilities;
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: "reasonix", title: "Reasonix", version: VERSION },
      agentCapabilities: {},
      authMethods: this.#client.auth?.terminal ? [SETUP] : [],
    };
  }

  /** A handler whose errors are sentences for the user. */
  #answer<P, R>(work: (params: P, signal: AbortSignal) => R | Promise<R>) {
    return async ({ params, signal }: { readonly params: P; readonly signal: AbortSignal }): Promise<R> => {
      try {
        return await work(params, signal);
      } catch (error) {
        if (signal.aborted && isAbort(error)) throw error;
        throw requestError(await this.#options.inLanguage(error));
      }
    };
  }
}

/** The client runs the program with these arguments in a terminal. */
const SETUP: AuthMethod = {
  type: "terminal",
  id: "setup",
  name: "Set up Reasonix",
  description: "Choose a provider, its key and a model in a terminal",
  args: ["setup"],
};

/** The error of a request: clients show its message, so the remedy is in it. */
function requestError(error: unknown): RequestError {
  if (error instanceof RequestError) return error;
  if (!(error instanceof ReasonixError)) return new RequestError(INTERNAL, errorMessage(error));
  const { remedy, exit } = error;
  const text = remedy === undefined ? error.message : `${error.message}; ${remedy}`;
  return new RequestError(exit === "usage" ? INVALID_PARAMS : INTERNAL, text);
}

const [PARSE, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL] = [
  -32700,
  -32600,
  -32601,
  -32602,
  -32603,
];

/** Longest line of a client, in bytes. */
const MAX_LINE = 32 * 1024 * 1024;

/** The lines of a client and to it. What is no message is answered and left out. */
class Messages implements Stream {
  readonly readable: ReadableStream<AnyMessage>;
  readonly writable: WritableStream<AnyMessage>;
  readonly #out: Output;
  /** Number of requests of the client without an answer. */
  #open = 0;
  #answered = Promise.withResolvers<void>();

  /** `ended` hears that the client sends no more: then open requests should come to an end. */
  constructor(input: ReadableStream<Uint8Array>, out: Output, ended: () => void) {
    this.#out = out;
    const lines = new Lines(() =>
      this.#refuse(INVALID_REQUEST, `Cannot take a line: it is longer than ${MAX_LINE} bytes`)
    );
    this.readable = input.pipeThrough(
      new TransformStream({
        transform: async (bytes, controller) => {
          for (const line of lines.push(bytes)) await this.#take(line, controller);
        },
        flush: async () => {
          ended();
          while (this.#open > 0) await this.#answered.promise;
        },
      }),
    );
    this.writable = new WritableStream({
      write: (message) => {
        this.send(inOneSentence(message));
        if ("method" in message) return;
        this.#open--;
        this.#answered.resolve();
        this.#answered = Promise.withResolvers();
      },
    });
  }

  send(message: unknown): void {
    void this.#out.write(`${JSON.stringify(message)}\n`);
  }

  #refuse(code: number, why: string): void {
    this.send({ jsonrpc: "2.0", id: null, error: { code, message: why } });
  }

  async #take(line: string, to: TransformStreamDefaultController<AnyMessage>): Promise<void> {
    if (line.trim() === "") return;
    const read = parseJson(line);
    if (read === undefined) {
      return this.#refuse(PARSE, `Cannot read a line: it is no JSON: ${line.slice(0, 80)}`);
    }
    if (Array.isArray(read)) {
      return this.#refuse(INVALID_REQUEST, "Cannot take a batch: send one message on each line");
    }
    if (!isMessage(read)) {
      return this.#refuse(INVALID_REQUEST, "Cannot take a line: it is no JSON-RPC 2.0 message");
    }
    if (!("method" in read) || !("id" in read)) return to.enqueue(read);
    this.#open++;
    const { promise } = this.#answered;
    to.enqueue(read);
    // Otherwise the next requests of a client that does not wait for the answer are refused.
    if (read.method === methods.agent.initialize) await promise;
  }
}

/** Cuts bytes into lines; the bytes of one that is too long are dropped as they come. */
class Lines {
  readonly #tooLong: () => void;
  readonly #decoder = new TextDecoder();
  #parts: Uint8Array[] = [];
  #length = 0;

  constructor(tooLong: () => void) {
    this.#tooLong = tooLong;
  }

  *push(bytes: Uint8Array): Generator<string> {
    let start = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
      this.#add(bytes.subarray(start, end));
      start = end + 1;
      if (this.#length <= MAX_LINE) {
        const line = this.#parts.map((part) => this.#decoder.decode(part, { stream: true })).join("") +
          this.#decoder.decode();
        this.#clear();
        yield line;
      } else this.#clear();
    }
    this.#add(bytes.subarray(start));
  }

  #add(bytes: Uint8Array): void {
    const fits = this.#length <= MAX_LINE;
    this.#length += bytes.length;
    if (this.#length <= MAX_LINE) return void this.#parts.push(bytes);
    this.#parts = [];
    if (fits) this.#tooLong();
  }

  #clear(): void {
    [this.#parts, this.#length] = [[], 0];
  }
}

/** A request, a notification or a response. */
function isMessage(read: unknown): read is AnyMessage {
  if (!isRecord(read) || read.jsonrpc !== "2.0") return false;
  const { id, method } = read;
  const hasId = typeof id === "string" || id === null || typeof id === "number" && Number.isFinite(id);
  return typeof method === "string"
    ? hasId || !("id" in read)
    : hasId && ("result" in read || "error" in read);
}

/** The SDK answers params that do not fit with a tree of all branches: one sentence names the first. */
function inOneSentence(sent: AnyMessage): AnyMessage {
  if (!("error" in sent)) return sent;
  const { code, data } = sent.error;
  if (code === NO_METHOD && isRecord(data)) {
    return { ...sent, error: { code, message: `Method not found: ${data.method}` } };
  }
  if (code !== INVALID_PARAMS || !isRecord(data)) return sent;
  const fault = firstFault(data, "");
  return fault === undefined ? sent : { ...sent, error: { code, message: `Invalid params: ${fault}` } };
}

function firstFault(tree: Record<string, unknown>, path: string): string | undefined {
  const [text] = Array.isArray(tree._errors) ? tree._errors : [];
  if (typeof text === "string") return path === "" ? text : `${path}: ${text}`;
  for (const [name, value] of Object.entries(tree)) {
    const step = /^\d+$/.test(name) ? `[${name}]` : path === "" ? name : `.${name}`;
    const found = isRecord(value) ? firstFault(value, path + step) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}
