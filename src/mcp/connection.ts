import type {
  CallToolResult,
  Client,
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitRequestParams,
  ElicitResult,
  GetPromptResult,
  isSpecType,
  JSONRPCMessage,
  Progress,
  ReadResourceResult,
  StreamableHTTPClientTransport,
  Transport,
} from "@modelcontextprotocol/client";
import {
  clausesOf,
  errorMessage,
  type LocalizedMessage,
  message,
  ReasonixError,
  type Text,
} from "../core/mod.ts";
import { AnsweredLate, causes, explain, SignInNeeded, statusOf, UndeliveredError } from "./failures.ts";
import { canonicalListing, type Era, type Listing } from "./listing.ts";
import type { ServerLog } from "./server_log.ts";
import type { HttpAccess } from "./oauth/http_access.ts";
import type { McpServerSpec } from "./server_spec.ts";
import { httpTransport, loadSdk } from "./transport/http.ts";
import { serverSpawner, type SpawnContext, StdioTransport } from "./transport/stdio.ts";
import { isRecord } from "../util/json.ts";
import { oneLine } from "../util/terminal_text.ts";
import { after, atMost } from "../util/timer.ts";
import { VERSION } from "../util/version.ts";

export interface ConnectionOptions extends HttpAccess {
  readonly spec: McpServerSpec;
  readonly log: ServerLog;
  readonly spawn: SpawnContext;
  readonly questions: McpQuestions;
  readonly changed: () => void;
  /** The era of the last connection; absent: the server is probed. */
  readonly era: Era | undefined;
  readonly lost: (why: Text) => void;
}

/** Time for a server over HTTP to end its session, which expires anyway. */
const GOODBYE_MS = 1_000;
/** Time for a server to confirm that it reports changes of its lists. */
const LISTEN_MS = 2_000;
/** Completions that take longer are for a text that has changed meanwhile. */
const COMPLETION_MS = 3_000;
/** Progress of the SDK while it answers requests of the server, which are shown anyway. */
const SDK_PROGRESS = /^Fulfilling input required by '[^']+' \(round \d+\)$/;

export interface CompletionQuery {
  readonly ref: { readonly prompt: string } | { readonly template: string };
  readonly argument: string;
  readonly value: string;
}

/** A connection to one server, of either era. All methods reject with a ReasonixError, or for an abort. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #client: Client;
  readonly #server: ServerTransport;
  readonly #clock: CallClock;
  /** Its end is no loss: it is not open yet, or being closed. */
  #closing = true;

  private constructor(options: ConnectionOptions, client: Client, server: ServerTransport, clock: CallClock) {
    this.#options = options;
    this.#client = client;
    this.#server = server;
    this.#clock = clock;
    client.onclose = () => this.#lost();
  }

  /**
   * Starts and greets a server. One that does not answer the probe of its era, or exits at it, is greeted in
   * the older way. If that is refused because the server only needed longer to start, the probe is repeated.
   */
  static async open(options: ConnectionOptions, signal: AbortSignal): Promise<Connection> {
    const { spec, era, log } = options;
    if (era === "legacy") return await Connection.#attempt(options, era, signal);
    const first = await Connection.#attempt(options, era, signal).catch((error: unknown) => error);
    if (first instanceof Connection) return first;
    if (signal.aborted) throw first;
    if (first instanceof AnsweredLate) {
      log.note("the answer to the probe came late, and the older greeting was refused; started again");
      return await Connection.#attempt(options, "answered", signal);
    }
    // A program that is not there is not there for the other era either; an answer over HTTP is an answer.
    const isFinal = spec.type === "stdio"
      ? spec.plugin !== undefined || (first instanceof ReasonixError && first.remedy !== undefined)
      : !/\bprobe timed out\b/.test(errorMessage(first));
    if (isFinal) throw first;
    log.note(`no answer to the probe (${errorMessage(first)}); started again as an older server`);
    const second = await Connection.#attempt(options, "legacy", signal).catch((error: unknown) => error);
    if (second instanceof Connection) return second;
    if (signal.aborted || spec.type === "stdio" || second instanceof SignInNeeded) throw second;
    log.note(`the older greeting was refused (${errorMessage(second)}); asked again`);
    return await Connection.#attempt(options, undefined, signal).catch(() => Promise.reject(second));
  }

  static async #attempt(options: ConnectionOptions, hint: EraHint, signal: AbortSignal) {
    const clock = new CallClock();
    const client = await createClient(options, { clock, hint });
    const server = await openTransport(options);
    const { transport } = server;
    const connection = new Connection(options, client, server, clock);
    signal.throwIfAborted();
    // While it probes, the client itself does not look at the signal.
    const stop = () => void transport.close();
    signal.addEventListener("abort", stop, { once: true });
    try {
      await client.connect(transport, {
        signal,
        timeout: options.spec.startupMs || NO_LIMIT_MS,
        ...(hint === "legacy" ? { prior: { kind: "legacy" } } : {}),
      });
      connection.#closing = false;
      await connection.#listen();
    } catch (error) {
      await connection.#noteScope(error);
      await client.close().catch(() => {});
      await transport.close().catch(() => {});
      if (server.process?.answeredLate) throw new AnsweredLate(errorMessage(error), { cause: error });
      // That a message did not arrive says nothing; how the server ended does.
      throw connection.#explained(error instanceof UndeliveredError ? new Error(error.message) : error);
    } finally {
      signal.removeEventListener("abort", stop);
    }
    return connection;
  }

  /**
   * Asks a server of the newer era to report changes. The lists are read after its answer, so that no change
   * is missed, and without one after a time limit.
   */
  async #listen(): Promise<void> {
    if (this.#client.getProtocolEra() !== "modern") return;
    const { tools, prompts, resources } = this.#client.getServerCapabilities() ?? {};
    const lists = {
      ...(tools?.listChanged ? { toolsListChanged: true } : {}),
      ...(prompts?.listChanged ? { promptsListChanged: true } : {}),
      ...(resources?.listChanged ? { resourcesListChanged: true } : {}),
    };
    if (Object.keys(lists).length === 0) return;
    const { spec: { startupMs }, log, changed } = this.#options;
    const limitMs = Math.min(LISTEN_MS, (startupMs || NO_LIMIT_MS) / 3);
    let isLate: boolean | undefined;
    const listening = this.#client.listen(lists, { timeout: NO_LIMIT_MS }).then(() => {
      if (isLate) changed();
    }).catch((error) => {
      if (!this.#closing) log.note(`subscriptions/listen failed: ${errorMessage(this.#explained(error))}`);
    }).finally(() => isLate ??= false);
    await atMost(limitMs, listening);
    isLate ??= true;
    if (!isLate) return;
    log.note(
      `no answer to subscriptions/listen within ${limitMs / 1000} s; changes of its lists may be missed`,
    );
  }

  /** The newest era that the server speaks, also when it answered too late for this connection. */
  get era(): Era {
    const isModern = this.#client.getProtocolEra() === "modern" || this.#server.process?.answeredLate;
    return isModern ? "modern" : "legacy";
  }

  get protocol(): string {
    return this.#client.getNegotiatedProtocolVersion() ?? "";
  }

  get about(): { readonly name: string; readonly version: string; readonly instructions: string } {
    const { name = "", version = "" } = this.#client.getServerVersion() ?? {};
    return { name, version, instructions: this.#client.getInstructions() ?? "" };
  }

  get capabilities(): readonly string[] {
    return Object.keys(this.#client.getServerCapabilities() ?? {}).sort();
  }

  async list(signal: AbortSignal): Promise<Listing> {
    const timeout = this.#options.spec.startupMs || NO_LIMIT_MS;
    return await this.#asked(() => listEverything(this.#client, this.#server.filter, { signal, timeout }));
  }

  async call(
    name: string,
    args: Record<string, unknown>,
    { signal, progress: show, meta }: {
      readonly signal: AbortSignal;
      readonly progress: (text: string) => void;
      readonly meta?: Readonly<Record<string, string>> | undefined;
    },
  ): Promise<CallToolResult> {
    const onprogress = ({ progress, total, message: text }: Progress) => {
      if (SDK_PROGRESS.test(text ?? "")) return;
      const share = total === undefined ? `${progress}` : `${progress}/${total}`;
      show(`${[share, text].filter(Boolean).join(" ")}\n`);
    };
    return await this.#limited(
      name,
      signal,
      (options) =>
        this.#client.callTool({ name, arguments: args, ...(meta && { _meta: meta }) }, {
          ...options,
          onprogress,
        }),
    );
  }

  async prompt(name: string, args: Record<string, string>, signal: AbortSignal): Promise<GetPromptResult> {
    return await this.#limited(
      "",
      signal,
      (options) => this.#client.getPrompt({ name, arguments: args }, options),
    );
  }

  async read(uri: string, signal: AbortSignal): Promise<ReadResourceResult> {
    return await this.#limited("", signal, (options) => this.#client.readResource({ uri }, options));
  }

  /** Sends a request within the limit of a tool, which does not count the time of questions to the user. */
  async #limited<T>(
    tool: string,
    signal: AbortSignal,
    request: (options: { signal: AbortSignal; timeout: number }) => Promise<T>,
  ): Promise<T> {
    const limitMs = this.#options.spec.callMs(tool);
    const limit = this.#clock.limit(limitMs, signal);
    try {
      return await this.#asked(() => request({ signal: limit.signal, timeout: NO_LIMIT_MS }));
    } catch (error) {
      signal.throwIfAborted();
      if (!limit.signal.aborted) throw this.#uncertain(error);
      throw new ReasonixError(
        message`No answer within ${
          (limitMs ?? 0) / 1000
        } s; the call was cancelled, and it may have taken effect`,
        { remedy: message`raise call_timeout_seconds or tool_timeout_seconds of the server` },
      );
    } finally {
      limit.clear();
    }
  }

  async complete({ ref, argument, value }: CompletionQuery, signal: AbortSignal): Promise<readonly string[]> {
    if (!this.#client.getServerCapabilities()?.completions) return [];
    const about = "prompt" in ref
      ? { type: "ref/prompt" as const, name: ref.prompt }
      : { type: "ref/resource" as const, uri: ref.template };
    const { completion } = await this.#asked(() =>
      this.#client.complete({ ref: about, argument: { name: argument, value } }, {
        signal,
        timeout: COMPLETION_MS,
      })
    );
    return completion.values;
  }

  /** Ends the connection: a process with its group, a session over HTTP with its DELETE. */
  async close(): Promise<void> {
    this.#closing = true;
    const { transport, session } = this.#server;
    if (session) await atMost(GOODBYE_MS, session.terminateSession().catch(() => {}));
    await this.#client.close().catch(() => {});
    await transport.close();
  }

  /** A call that was under way when the server ended is never repeated. */
  #uncertain(error: unknown): unknown {
    const ended = error instanceof UndeliveredError ? undefined : this.#howItEnded();
    if (ended === undefined) return error;
    return new ReasonixError(
      clausesOf([ended, message`the call was not repeated, since it may have taken effect`]),
    );
  }

  #lost(): void {
    if (this.#closing) return;
    this.#closing = true;
    this.#options.lost(this.#howItEnded() ?? message`the connection was closed`);
  }

  #howItEnded(): LocalizedMessage | undefined {
    const ended = this.#server.process?.ended;
    if (!ended) return undefined;
    const how = ended.signal
      ? message`the server was ended by ${ended.signal}`
      : message`the server ended with exit code ${ended.code}`;
    const last = this.#options.log.last.slice(-3).join(" | ");
    return last === "" ? how : message`${how}: ${last}`;
  }

  async #asked<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      await this.#noteScope(error);
      throw this.#explained(error);
    }
  }

  async #noteScope(error: unknown): Promise<void> {
    const scope = causes(error).map((one) => "requiredScope" in one ? one.requiredScope : undefined)
      .find((one) => typeof one === "string");
    if (scope !== undefined) await this.#options.wanted?.(scope);
  }

  #explained(error: unknown): unknown {
    const { spec, log } = this.#options;
    if (spec.plugin && this.#server.process?.ended?.code === BAD_SETTINGS) {
      return new ReasonixError(log.last.at(-1) ?? message`its settings are wrong`, {
        exit: "config",
        remedy: message`correct [plugins.settings] of the server`,
      });
    }
    const waitSeconds = this.#server.waits?.get(statusOf(error) ?? 0);
    return explain(error, {
      spec,
      ended: this.#howItEnded(),
      waitSeconds,
      answered: !this.#closing,
    });
  }
}

/** The era of a server, if known before the probe; `answered`: the answer came too late. */
type EraHint = Era | "answered" | undefined;

/**
 * Time that a server may take to answer the probe before it is greeted in the older way: servers of the older
 * era may say nothing at all. It includes the start of its process, which may have to be fetched first, so an
 * answer that comes later counts too.
 */
const PROBE_MS = 5_000;
const NO_LIMIT_MS = 2 ** 31 - 1;

/** Exit code of a plugin of this program that cannot use its settings. */
const BAD_SETTINGS = 6;

/** Changes of lists within this time count as one. */
const SETTLE_MS = 50;

const MAX_LOG_CHARS = 2_000;

/** The SDK's client of one server, not connected, with its handlers of messages of the server. */
async function createClient(
  { spec, questions: { roots, elicit, sample }, log, changed }: ConnectionOptions,
  { clock, hint }: { readonly clock: CallClock; readonly hint: EraHint },
): Promise<Client> {
  const { Client } = await loadSdk();
  const startup = spec.startupMs || NO_LIMIT_MS;
  // A third leaves enough of the limit for a greeting in the older way.
  const probe = Math.min(hint === "modern" ? NO_LIMIT_MS : PROBE_MS, startup / 3);
  const client = new Client({ name: "reasonix", version: VERSION }, {
    capabilities: {
      roots: {},
      ...(elicit ? { elicitation: { form: {}, url: {} } } : {}),
      ...(sample ? { sampling: {} } : {}),
    },
    versionNegotiation: { mode: "auto", probe: { timeoutMs: hint === "answered" ? startup : probe } },
    // Results are shown to the model as they are; a schema that cannot be read must not stop a call.
    jsonSchemaValidator: {
      getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
    },
  });
  let cancel = () => {};
  for (const list of ["tools", "prompts", "resources"] as const) {
    client.setNotificationHandler(`notifications/${list}/list_changed`, () => {
      if (!client.getServerCapabilities()?.[list]?.listChanged) return;
      cancel();
      cancel = after(SETTLE_MS, changed);
    });
  }
  client.setRequestHandler("roots/list", () => ({ roots: roots().map((root) => ({ ...root })) }));
  if (elicit) {
    client.setRequestHandler(
      "elicitation/create",
      ({ params }, { mcpReq }) => clock.paused(() => elicit(spec.name, params, mcpReq.signal)),
    );
  }
  if (sample) {
    client.setRequestHandler(
      "sampling/createMessage",
      ({ params }, { mcpReq }) => clock.paused(() => sample(spec.name, params, mcpReq.signal)),
    );
  }
  client.setNotificationHandler("notifications/message", ({ params: { level, logger = "", data } }) => {
    const text = typeof data === "string" ? data : JSON.stringify(data) ?? "";
    log.note(oneLine(`${[logger, level].filter(Boolean).join(" ")}: ${text}`, MAX_LOG_CHARS));
  });
  client.onerror = (error) => log.note(errorMessage(explain(error, { spec })));
  return client;
}

export interface McpRoot {
  readonly uri: string;
  readonly name: string;
}

/** Answers requests of servers. An absent member is a capability that is not offered. */
export interface McpQuestions {
  readonly roots: () => readonly McpRoot[];
  /** Asks the person: a form, or to open an address. */
  readonly elicit?: (
    server: string,
    params: ElicitRequestParams,
    signal: AbortSignal,
  ) => Promise<ElicitResult>;
  /** Lets the session's model write a message for a server, after the person agreed. */
  readonly sample?: (
    server: string,
    params: CreateMessageRequestParams,
    signal: AbortSignal,
  ) => Promise<CreateMessageResult>;
}

/** Time limits of calls, paused while the user is asked something. */
class CallClock {
  #questions = 0;
  #pausedMs = 0;
  #pausedAt = 0;

  /** Aborts with the parent, and after `ms` milliseconds without the pauses. Undefined: no limit. */
  limit(ms: number | undefined, parent: AbortSignal): { signal: AbortSignal; clear: () => void } {
    if (ms === undefined) return { signal: parent, clear() {} };
    const over = new AbortController();
    const end = this.#now() + ms;
    const look = () => {
      const left = end - this.#now();
      if (left <= 0) over.abort(new DOMException("The time is over", "TimeoutError"));
      else timer = setTimeout(look, Math.max(left, 10));
    };
    let timer = setTimeout(look, ms);
    return { signal: AbortSignal.any([parent, over.signal]), clear: () => clearTimeout(timer) };
  }

  /** Runs `work` while all limits are paused. */
  async paused<T>(work: () => Promise<T>): Promise<T> {
    if (this.#questions++ === 0) this.#pausedAt = performance.now();
    try {
      return await work();
    } finally {
      if (--this.#questions === 0) this.#pausedMs += performance.now() - this.#pausedAt;
    }
  }

  #now(): number {
    return (this.#questions > 0 ? this.#pausedAt : performance.now()) - this.#pausedMs;
  }
}

async function listEverything(
  client: Client,
  filter: AnswerFilter,
  limits: { readonly signal: AbortSignal; readonly timeout: number },
): Promise<Listing> {
  const { tools, prompts, resources } = client.getServerCapabilities() ?? {};
  const options = { ...limits, cacheMode: "refresh" } as const;
  const optional = <T>(list: Promise<T>) => list.catch(() => undefined);
  const [toolList, promptList, resourceList, templateList] = await Promise.all([
    tools
      ? client.listTools(undefined, options)
      // Some servers forget to say that they have tools.
      : optional(client.request({ method: "tools/list", params: {} }, limits)),
    prompts && optional(client.listPrompts({}, options)),
    resources && optional(client.listResources({}, options)),
    resources && optional(client.listResourceTemplates({}, options)),
  ]);
  const refused = filter.take();
  return canonicalListing({
    tools: [...toolList?.tools ?? [], ...refused.tools],
    prompts: [...promptList?.prompts ?? [], ...refused.prompts],
    resources: [...resourceList?.resources ?? [], ...refused.resources],
    templates: [...templateList?.resourceTemplates ?? [], ...refused.resourceTemplates],
    instructions: client.getInstructions(),
  });
}

interface ServerTransport {
  readonly transport: Transport;
  readonly filter: AnswerFilter;
  readonly process?: StdioTransport;
  readonly session?: StreamableHTTPClientTransport;
  /** Retry-After in seconds, by status. */
  readonly waits?: ReadonlyMap<number, number>;
}

async function openTransport(options: ConnectionOptions): Promise<ServerTransport> {
  const { spec, log, spawn, headers, auth } = options;
  const filter = new AnswerFilter((await loadSdk()).isSpecType);
  const accept = (message: JSONRPCMessage) => filter.accept(message);
  if (spec.type === "stdio") {
    const process = new StdioTransport({ spawn: await serverSpawner(spec, spawn), log, accept });
    return { transport: process, process, filter };
  }
  if (spec.type === "http") {
    const waits = new Map<number, number>();
    const notNow = (status: number, seconds: number) => void waits.set(status, seconds);
    const session = await httpTransport({ spec, headers, auth, accept, notNow });
    return { transport: session, session, waits, filter };
  }
  throw new ReasonixError(message`The transport "sse" is an older one that is not supported`, {
    remedy:
      message`set type = "http" for it: most servers speak streamable HTTP at the same or a similar address`,
  });
}

const LISTS = {
  tools: "Tool",
  prompts: "Prompt",
  resources: "Resource",
  resourceTemplates: "ResourceTemplate",
} as const;
const LIST_KEYS = Object.keys(LISTS) as (keyof typeof LISTS)[];

const MAX_PAGES = 64;
const MAX_SHOWN = 2_000;

type Refused = Readonly<Record<keyof typeof LISTS, unknown[]>>;

/**
 * Filters parts for which the SDK would refuse a whole answer: sets wrong entries of lists aside, ends
 * endless lists, and turns unknown content into text.
 */
class AnswerFilter {
  readonly #isSpecType: typeof isSpecType;
  readonly #refused = { tools: [], prompts: [], resources: [], resourceTemplates: [] } as Refused;
  readonly #pages = new Map<string, number>();

  constructor(guards: typeof isSpecType) {
    this.#isSpecType = guards;
  }

  accept(message: JSONRPCMessage): JSONRPCMessage {
    if (!("result" in message) || !isRecord(message.result)) return message;
    const result: Record<string, unknown> = { ...message.result };
    for (const key of LIST_KEYS) {
      const list = result[key];
      if (!Array.isArray(list)) continue;
      const { right = [], wrong = [] } = Object.groupBy(
        list,
        (entry) => this.#isSpecType[LISTS[key]](entry) ? "right" : "wrong",
      );
      this.#refused[key].push(...wrong);
      result[key] = right;
      const page = (this.#pages.get(key) ?? 0) + 1;
      this.#pages.set(key, page);
      if (page === MAX_PAGES) delete result.nextCursor;
    }
    const { content } = result;
    if (Array.isArray(content)) result.content = content.map((block) => this.#block(block));
    return { ...message, result };
  }

  /** Returns the entries that were set aside since the last time. */
  take(): Refused {
    this.#pages.clear();
    const taken = LIST_KEYS.map((key) => [key, this.#refused[key].splice(0)]);
    return Object.fromEntries(taken);
  }

  #block(block: unknown): unknown {
    if (this.#isSpecType.ContentBlock(block)) return block;
    const json = JSON.stringify(block) ?? "";
    const shown = json.length > MAX_SHOWN ? `${json.slice(0, MAX_SHOWN).toWellFormed()}… [cut]` : json;
    return { type: "text", text: `[content of an unknown kind: ${shown}]` };
  }
}
