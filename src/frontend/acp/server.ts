import {
  agent,
  type AgentConnection,
  methods,
  PROTOCOL_VERSION,
  RequestError,
} from "@agentclientprotocol/sdk";
import type * as acp from "@agentclientprotocol/sdk";
import { MissingKeyError } from "../../config/mod.ts";
import { errorMessage, formatLocation, isAbort, message, ReasonixError, usageError } from "../../core/mod.ts";
import * as stored from "../../session/mod.ts";
import type { LiveSessions } from "../session/live_session.ts";
import { changeSetting } from "../session/settings.ts";
import type { Output } from "../output.ts";
import { Fields, unusable } from "./content.ts";
import { clientFiles } from "./files.ts";
import { pluginEntries } from "./mcp_servers.ts";
import type { EditorOptions } from "./permissions.ts";
import { EditorSession } from "./session.ts";
import { isAbsolute } from "../../path/lexical.ts";
import { existingRealPath } from "../../path/real_path.ts";
import { defined, isRecord, parseJson } from "../../util/json.ts";
import { attempt } from "../../util/lazy.ts";
import { LineSplitter } from "../../util/lines.ts";
import { after, atMost, unlessAborted } from "../../util/timer.ts";
import { VERSION } from "../../util/version.ts";

export interface AcpOptions extends Pick<EditorOptions, "texts" | "lines"> {
  readonly input: ReadableStream<Uint8Array>;
  readonly out: Output;
  readonly sessions: Pick<LiveSessions, "open">;
  /** Reasonix home. */
  readonly home: string;
  /** An error in the language of the user. */
  readonly inLanguage: (error: unknown) => Promise<unknown>;
  /** Ends the connection, as the end of the input does. */
  readonly signal: AbortSignal;
}

/** Serves one client until its input ends, which stops turns. Returns whether one was stopped. */
export async function serveAcp(options: AcpOptions): Promise<boolean> {
  return await new Server(options).serve();
}

const { authenticate, initialize, logout, session: requests } = methods.agent;
const ERROR = { parse: -32700, request: -32600, method: -32601, params: -32602, internal: -32603 } as const;
const [NO_KEY, NOT_FOUND] = [-32000, -32002];

type Request = Pick<acp.AgentRequestContext<unknown>, "signal" | "requestId"> & { readonly params: Fields };

/** Sessions in one answer to session/list. */
const PAGE = 100;

class Server {
  readonly #options: AcpOptions;
  readonly #messages: Messages;
  readonly #connection: AgentConnection;
  readonly #sessions = new Map<string, EditorSession>();
  #capabilities: acp.ClientCapabilities = {};
  #cut = false;

  constructor(options: AcpOptions) {
    this.#options = options;
    this.#messages = new Messages(options, () => this.#end());
    // The SDK refuses a request for one malformed field with a tree of messages: most are checked here.
    this.#connection = agent({ name: "reasonix" })
      .onRequest(initialize, ({ params }) => this.#initialize(params))
      .onRequest("*", async ({ method, params: given, signal, requestId = null }) => {
        const params = new Fields(given ?? {}, "params");
        return await this.#answer(method, { params, signal, requestId });
      })
      .onNotification(requests.cancel, ({ params: { sessionId } }) => {
        this.#sessions.get(sessionId)?.cancel();
      })
      .connect(this.#messages);
  }

  async serve(): Promise<boolean> {
    await this.#connection.closed;
    for (const session of this.#sessions.values()) session.leave();
    return this.#cut;
  }

  #initialize({ clientCapabilities = {} }: acp.InitializeRequest): acp.InitializeResponse {
    this.#capabilities = clientCapabilities;
    const setUp = {
      type: "terminal",
      id: "setup",
      name: "Set up Reasonix",
      description: "Choose a provider, its key and a model in a terminal",
      args: ["setup"],
    } as const;
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: "reasonix", title: "Reasonix", version: VERSION },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, embeddedContext: true },
        mcpCapabilities: { http: true },
        sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {}, additionalDirectories: {} },
      },
      authMethods: clientCapabilities.auth?.terminal ? [setUp] : [],
    };
  }

  readonly #methods: Readonly<Record<string, (request: Request) => unknown>> = {
    [authenticate]({ params }) {
      throw usageError(
        message`Cannot sign in by "${params.text("methodId")}" over this connection`,
        message`run \`reasonix setup\` in a terminal, then open a new session`,
      );
    },
    [logout]() {
      throw usageError(
        message`Cannot sign out over this connection: there is no sign-in, only API keys`,
        message`remove the key of the provider with \`reasonix setup\` in a terminal`,
      );
    },
    [requests.new]: (request) => this.#open(request, "new"),
    [requests.load]: (request) => this.#open(request, "load"),
    [requests.resume]: (request) => this.#open(request, "resume"),
    [requests.prompt]: ({ params, signal }) => this.#session(params).prompt(params.values.prompt, signal),
    [requests.list]: ({ params }) => this.#list(params),
    [requests.close]: ({ params }) => this.#close(params),
    [requests.delete]: async ({ params }) => {
      const paths = this.#stored(params);
      if (this.#sessions.has(paths.id)) await this.#close(params);
      (await stored.loadManage()).deleteSession(paths);
    },
    [requests.setMode]: ({ params }) =>
      changeSetting(this.#session(params).live, "mode", params.values.modeId),
    [requests.setConfigOption]: async ({ params }) => {
      const session = this.#session(params);
      await changeSetting(session.live, params.text("configId"), params.values.value);
      return { configOptions: (await session.settings()).configOptions };
    },
  };

  /** Answers a request; errors are sentences for the user. */
  async #answer(method: string, request: Request): Promise<unknown> {
    try {
      const work = Object.hasOwn(this.#methods, method) ? this.#methods[method] : undefined;
      if (!work) throw new RequestError(ERROR.method, `Cannot find the method "${method}"`);
      return await work(request) ?? {};
    } catch (error) {
      if (error instanceof RequestError || request.signal.aborted && isAbort(error)) throw error;
      throw requestError(error, await this.#options.inLanguage(error));
    }
  }

  async #open({ params, signal, requestId }: Request, how: "new" | "load" | "resume"): Promise<unknown> {
    const directory = params.text("cwd");
    const { additionalDirectories = null, mcpServers } = params.values;
    const roots = new Fields({ additionalDirectories }, "params").texts("additionalDirectories");
    const servers = pluginEntries(mcpServers);
    const isNew = how === "new";
    const id = isNew ? stored.newSessionId(new Date()) : this.#stored(params, directory).id;
    const files = clientFiles(this.#connection, id, this.#capabilities, [directory, ...roots]);
    const session = new EditorSession({
      ...this.#options,
      client: this.#connection.client,
      capabilities: this.#capabilities,
      isBehind: () => this.#options.out.waiting > WAITING.behind,
      send: (sessionId, update) => {
        const params = { sessionId, update };
        this.#messages.send({ jsonrpc: "2.0", method: methods.client.session.update, params });
      },
      requestId,
    });
    const which = isNew ? { sessionId: id } : { resume: id };
    const request = { directory, roots, servers, waitForServers: true, ...defined({ files }), ...which };
    const opening = this.#options.sessions.open(request, (live) => session.asks(live));
    const live = await unlessAborted(opening, signal).catch((error) => {
      session.leave();
      void opening.then((late) => late.close(), () => {});
      throw error;
    });
    this.#sessions.get(id)?.leave();
    // The client knows a copy by the identifier that it has asked for.
    const assembly = await session.join(live, id, how === "load");
    this.#sessions.set(id, session);
    const settings = await session.settings();
    // The answer makes the session known to the client.
    after(0, () => void session.begin(assembly).catch((error) => session.failed(error)));
    return { ...(isNew ? { sessionId: id } : {}), ...settings };
  }

  #session(params: Fields): EditorSession {
    const id = params.text("sessionId");
    const session = this.#sessions.get(id);
    if (session) return session;
    throw new RequestError(NOT_FOUND, `Cannot find session "${id}": it is not open here`, { sessionId: id });
  }

  /** A session on the disk by its whole identifier. */
  #stored(params: Fields, cwd?: string): stored.SessionPaths {
    const sessionId = params.text("sessionId");
    const find = () => stored.findSession(this.#options.home, sessionId, defined({ cwd }));
    const found = /^[\w-]+$/.test(sessionId) ? attempt(find) : undefined;
    if (found?.id === sessionId) return found;
    throw new RequestError(NOT_FOUND, `Cannot find session "${sessionId}"`, { sessionId });
  }

  #list(params: Fields): acp.ListSessionsResponse {
    const { home } = this.#options;
    const cwd = params.text("cwd", params.values.cwd ?? "");
    const cursor = params.text("cursor", params.values.cursor ?? "");
    if (cwd && !isAbsolute(cwd)) throw unusable("cwd", message`the path "${cwd}" is relative`);
    const project = cwd ? stored.projectDir(home, existingRealPath(cwd) ?? cwd) : stored.projectDirs(home);
    const { sessions, next } = stored.sessionPage(project, { limit: PAGE, cursor });
    return {
      sessions: sessions.map(({ id, cwd, title, updated }) => {
        return { sessionId: id, cwd, updatedAt: updated, ...(title === "" ? {} : { title }) };
      }),
      ...defined({ nextCursor: next }),
    };
  }

  async #close(params: Fields): Promise<void> {
    const session = this.#session(params);
    this.#sessions.delete(params.text("sessionId"));
    await session.close();
  }

  #end(): void {
    for (const session of this.#sessions.values()) {
      this.#cut = session.cancel("terminated", true) || this.#cut;
    }
  }
}

/** The answer to a request that failed: clients show its message, so the remedy is in it. */
function requestError(error: unknown, said: unknown): RequestError {
  if (!(said instanceof ReasonixError)) return new RequestError(ERROR.internal, errorMessage(error));
  const code = said.exit === "usage" ? ERROR.params : ERROR.internal;
  const text = [said.place ? `${formatLocation(said.place)}: ${said.message}` : said.message, said.remedy];
  return new RequestError(error instanceof MissingKeyError ? NO_KEY : code, text.filter(Boolean).join("; "));
}

/** Characters of the longest line that is read. */
const MAX_LINE = 32 * 1024 * 1024;
/** Characters that wait for a client: it is behind, or does not read any more. */
const WAITING = { behind: 1024 * 1024, gone: 64 * 1024 * 1024 };
/** Most time for the answers to open requests at the end, in ms. */
const ENDING_MS = 2000;

const NO_MESSAGE = "it is a batch, or no message of JSON-RPC 2.0; send each message on a line";

/** The lines of a client and to it. A line that is no message is answered and left out. */
class Messages implements acp.Stream {
  readonly readable: ReadableStream<acp.AnyMessage>;
  readonly writable: WritableStream<acp.AnyMessage>;
  readonly #out: Output;
  readonly #stop = Promise.withResolvers<undefined>();
  /** Requests of the client without an answer. */
  #open = 0;
  #answered = Promise.withResolvers<void>();

  /** `ended` is called when no more is read: open requests should come to an end. */
  constructor({ input, out, signal }: AcpOptions, ended: () => void) {
    this.#out = out;
    signal.addEventListener("abort", () => this.#stop.resolve(undefined));
    const tooLong = () => this.#refuse(ERROR.request, `it has more than ${MAX_LINE} characters`);
    this.readable = new ReadableStream({
      start: async (to) => {
        const lines = new LineSplitter(MAX_LINE, tooLong);
        const reader = input.getReader();
        while (!signal.aborted) {
          const read = await Promise.race([reader.read().catch(() => undefined), this.#stop.promise]);
          if (!read?.value) break;
          for (const line of lines.push(read.value)) await this.#take(line, to);
        }
        await this.#take(lines.end(), to);
        ended();
        const limit = performance.now() + ENDING_MS;
        while (this.#open > 0 && performance.now() < limit) await atMost(ENDING_MS, this.#answered.promise);
        to.close();
      },
    });
    this.writable = new WritableStream({
      write: (sent) => {
        if ("error" in sent && sent.id === null) return this.#refuse(sent.error.code, NO_MESSAGE);
        if ("error" in sent && sent.error.code === ERROR.params && isRecord(sent.error.data)) {
          const { _errors, ...fields } = sent.error.data;
          const message = `Cannot use the field ${Object.keys(fields).join(", ")}`;
          Object.assign(sent.error, { message, data: undefined });
        }
        this.send(sent);
        if ("method" in sent) return;
        this.#open--;
        this.#answered.resolve();
        this.#answered = Promise.withResolvers();
      },
    });
  }

  /** Contract: returns at once. Unread lines are kept up to a limit; then the client counts as gone. */
  send(sent: unknown): void {
    void this.#out.write(`${JSON.stringify(sent)}\n`);
    if (this.#out.failure || this.#out.waiting > WAITING.gone) this.#stop.resolve(undefined);
  }

  #refuse(code: number, why: string): void {
    this.send({ jsonrpc: "2.0", id: null, error: { code, message: `Cannot take a line: ${why}` } });
  }

  async #take(line: string, to: ReadableStreamDefaultController<acp.AnyMessage>): Promise<void> {
    if (line.trim() === "") return;
    const read = parseJson(line);
    if (read === undefined) return this.#refuse(ERROR.parse, `it is no JSON: ${line.slice(0, 80)}`);
    // The SDK refuses a batch, and everything that is no message.
    to.enqueue(read as acp.AnyMessage);
    if (!isRequest(read)) return;
    this.#open++;
    // Otherwise the next requests of a client that does not wait for the answer are refused.
    if (read.method === initialize) await this.#answered.promise;
  }
}

/** Reports whether the SDK answers it by its id. */
function isRequest(read: unknown): read is { readonly method: string } {
  if (!isRecord(read) || read.jsonrpc !== "2.0" || typeof read.method !== "string") return false;
  return typeof read.id === "string" || typeof read.id === "number";
}
