import type {
  AuthProvider,
  CallToolResult,
  Client,
  GetPromptResult,
  OAuthClientProvider,
  ReadResourceResult,
  StreamableHTTPClientTransport,
  Transport,
} from "@modelcontextprotocol/client";
import { errorMessage, ReasonixError } from "../../core/mod.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { VERSION } from "../../util/version.ts";
import { CallClock } from "./call_clock.ts";
import type { Listing } from "../listing/listing.ts";
import type { Era } from "../listing/listing_cache.ts";
import { listEverything } from "../listing/list_all.ts";
import { answerQuestions, type McpQuestions } from "./questions.ts";
import { loadSdk } from "./sdk.ts";
import type { ServerLog } from "../server_log.ts";
import type { McpServerSpec } from "../server_spec.ts";
import { httpTransport } from "../transport/http_transport.ts";
import { serverSpawner, type SpawnContext } from "../transport/server_process.ts";
import { StdioTransport, UndeliveredError } from "../transport/stdio_transport.ts";

export interface ConnectionOptions {
  readonly spec: McpServerSpec;
  /** The era of the last connection; absent: the server is asked. */
  readonly era: Era | undefined;
  readonly log: ServerLog;
  readonly spawn: SpawnContext;
  readonly questions: McpQuestions;
  readonly headers: () => Promise<Readonly<Record<string, string>>>;
  readonly auth?: AuthProvider | OAuthClientProvider | undefined;
  /** The server says that a list of it is another one now. */
  readonly changed: () => void;
  /** The connection is gone, and nobody closed it. */
  readonly lost: (why: string) => void;
}

/** Time that a server may take to answer the probe; older ones may say nothing at all. */
const PROBE_MS = 3_000;
/** The longest the SDK can wait. */
const NO_LIMIT_MS = 2 ** 31 - 1;
const MOST_PROBLEMS = 10;

/** An answer to the question for completions of an argument. */
export interface CompletionQuery {
  readonly ref: { readonly prompt: string } | { readonly template: string };
  readonly argument: string;
  readonly value: string;
}

interface ConnectionParts {
  readonly options: ConnectionOptions;
  readonly clock: CallClock;
  readonly problems: Set<string>;
}

/** A connection to one server, of either era. All methods reject with a ReasonixError, or for an abort. */
export class Connection {
  readonly #client: Client;
  readonly #transport: Transport;
  readonly #options: ConnectionOptions;
  readonly #clock: CallClock;
  /** What had to be mended in the lists. */
  readonly #problems: Set<string>;
  #closing = false;

  private constructor(
    client: Client,
    transport: Transport,
    parts: ConnectionParts,
  ) {
    this.#client = client;
    this.#transport = transport;
    this.#options = parts.options;
    this.#clock = parts.clock;
    this.#problems = parts.problems;
  }

  /** Starts and greets a server. A process that stops at the probe of its era is started once more. */
  static async open(options: ConnectionOptions, signal: AbortSignal): Promise<Connection> {
    const { spec, era } = options;
    if (spec.type !== "stdio" || era === "legacy") return await Connection.#attempt(options, era, signal);
    const first = await Connection.#attempt(options, era, signal).catch((error: unknown) => error);
    if (first instanceof Connection) return first;
    // A program that is not there is not there for the other era either.
    if (signal.aborted || isMissing(first)) throw first;
    options.log.note(`no answer to the probe (${errorMessage(first)}); started again as an older server`);
    return await Connection.#attempt(options, "legacy", signal);
  }

  static async #attempt(options: ConnectionOptions, era: Era | undefined, signal: AbortSignal) {
    const { Client } = await loadSdk();
    const { spec, questions } = options;
    const clock = new CallClock();
    const client = new Client({ name: "reasonix", version: VERSION }, {
      capabilities: {
        roots: {},
        ...(questions.elicit ? { elicitation: { form: {}, url: {} } } : {}),
        ...(questions.sample ? { sampling: {} } : {}),
      },
      versionNegotiation: { mode: "auto", probe: { timeoutMs: PROBE_MS } },
      // Results are shown to the model as they are; a schema that cannot be read must not stop a call.
      jsonSchemaValidator: {
        getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
      },
      listChanged: {
        tools: { autoRefresh: false, debounceMs: 50, onChanged: options.changed },
        prompts: { autoRefresh: false, debounceMs: 50, onChanged: options.changed },
        resources: { autoRefresh: false, debounceMs: 50, onChanged: options.changed },
      },
    });
    answerQuestions(client, { server: spec.name, questions, clock });
    client.onerror = (error) => options.log.note(error.message);
    const problems = new Set<string>();
    const transport = await transportOf(options, (problem) => problems.add(problem));
    const connection = new Connection(client, transport, { options, clock, problems });
    client.onclose = () => connection.#lost();
    try {
      await client.connect(transport, {
        signal,
        timeout: spec.startupMs || NO_LIMIT_MS,
        ...(era === "legacy" ? { prior: { kind: "legacy" } } : {}),
      });
    } catch (error) {
      connection.#closing = true;
      await client.close().catch(() => {});
      await transport.close().catch(() => {});
      throw connection.#explained(error);
    }
    return connection;
  }

  get era(): Era {
    return this.#client.getProtocolEra() === "modern" ? "modern" : "legacy";
  }

  get protocol(): string {
    return this.#client.getNegotiatedProtocolVersion() ?? "";
  }

  /** The server's own name, version and words for the model. */
  get about(): { readonly name: string; readonly version: string; readonly instructions: string } {
    const { name = "", version = "" } = this.#client.getServerVersion() ?? {};
    return { name, version, instructions: this.#client.getInstructions() ?? "" };
  }

  async list(signal: AbortSignal): Promise<Listing> {
    this.#problems.clear();
    const listing = await this.#asked(() =>
      listEverything(this.#client, { signal, timeout: this.#options.spec.startupMs || NO_LIMIT_MS })
    );
    return {
      ...listing,
      problems: [...new Set([...this.#problems, ...listing.problems])].slice(0, MOST_PROBLEMS),
    };
  }

  /** Calls a tool by its raw name. `limitMs` counts only while nobody is asked anything. */
  async call(
    name: string,
    args: Record<string, unknown>,
    options: { signal: AbortSignal; limitMs: number | undefined; progress: (text: string) => void },
  ): Promise<CallToolResult> {
    const { limitMs } = options;
    const limit = this.#clock.limit(limitMs, options.signal);
    try {
      return await this.#asked(() =>
        this.#client.callTool({ name, arguments: args }, {
          signal: limit.signal,
          timeout: NO_LIMIT_MS,
          onprogress: ({ progress, total, message }) => {
            const share = total === undefined ? `${progress}` : `${progress}/${total}`;
            options.progress(`${[share, message].filter(Boolean).join(" ")}\n`);
          },
        })
      );
    } catch (error) {
      if (options.signal.aborted) throw error;
      if (!limit.signal.aborted) throw this.#uncertain(error);
      throw new ReasonixError(
        `No answer within ${(limitMs ?? 0) / 1000} s; the call was cancelled, and it may have taken effect`,
        { remedy: "raise call_timeout_seconds or tool_timeout_seconds of the server" },
      );
    } finally {
      limit.clear();
    }
  }

  async prompt(name: string, args: Record<string, string>, signal: AbortSignal): Promise<GetPromptResult> {
    const limit = this.#clock.limit(this.#options.spec.callMs(""), signal);
    return await this.#asked(() =>
      this.#client.getPrompt({ name, arguments: args }, { signal: limit.signal, timeout: NO_LIMIT_MS })
    ).finally(limit.clear);
  }

  async read(uri: string, signal: AbortSignal): Promise<ReadResourceResult> {
    const limit = this.#clock.limit(this.#options.spec.callMs(""), signal);
    return await this.#asked(() =>
      this.#client.readResource({ uri }, { signal: limit.signal, timeout: NO_LIMIT_MS })
    ).finally(limit.clear);
  }

  /** Values that an argument of a prompt or of a template could have; none where the server has no advice. */
  async complete({ ref, argument, value }: CompletionQuery, signal: AbortSignal): Promise<readonly string[]> {
    if (!this.#client.getServerCapabilities()?.completions) return [];
    const about = "prompt" in ref
      ? { type: "ref/prompt" as const, name: ref.prompt }
      : { type: "ref/resource" as const, uri: ref.template };
    const { completion } = await this.#asked(() =>
      this.#client.complete({ ref: about, argument: { name: argument, value } }, {
        signal,
        timeout: PROBE_MS,
      })
    );
    return completion.values;
  }

  /** Ends the connection: a process with its group, a session over HTTP with its DELETE. */
  async close(): Promise<void> {
    this.#closing = true;
    if ("terminateSession" in this.#transport) {
      const { terminateSession } = this.#transport as StreamableHTTPClientTransport;
      const limit = new Promise((resolve) => setTimeout(resolve, PROBE_MS));
      await Promise.race([terminateSession.call(this.#transport).catch(() => {}), limit]);
    }
    await this.#client.close().catch(() => {});
    await this.#transport.close();
  }

  /** A call that was under way when the server ended is never repeated. */
  #uncertain(error: unknown): unknown {
    const ended = error instanceof UndeliveredError ? undefined : this.#howItEnded();
    if (ended === undefined) return error;
    return new ReasonixError(`${ended}; the call was not repeated, since it may have taken effect`);
  }

  #lost(): void {
    if (this.#closing) return;
    this.#closing = true;
    this.#options.lost(this.#howItEnded() ?? "the connection was closed");
  }

  #howItEnded(): string | undefined {
    const ended = this.#transport instanceof StdioTransport ? this.#transport.ended : undefined;
    if (!ended) return undefined;
    const how = ended.signal
      ? `the server was ended by ${ended.signal}`
      : `the server ended with exit code ${ended.code}`;
    const last = this.#options.log.last.slice(-3).join(" | ");
    return last === "" ? how : `${how}: ${last}`;
  }

  async #asked<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.#explained(error);
    }
  }

  /** Says in one line what went wrong, and for a process that is gone how it ended. */
  #explained(error: unknown): unknown {
    if (error instanceof ReasonixError || (error instanceof DOMException && error.name === "AbortError")) {
      return error;
    }
    const ended = this.#howItEnded();
    if (ended !== undefined) return new ReasonixError(ended, { cause: error });
    const text = errorMessage(error);
    const cause = error instanceof Error && error.cause instanceof ReasonixError ? error.cause : undefined;
    return cause ?? new ReasonixError(oneLine(text, 300), { cause: error });
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof ReasonixError && error.remedy !== undefined;
}

async function transportOf(
  { spec, log, spawn, headers, auth }: ConnectionOptions,
  tell: (problem: string) => void,
): Promise<Transport> {
  if (spec.type === "stdio") {
    return new StdioTransport({ spawn: await serverSpawner(spec, spawn), log, tell });
  }
  if (spec.type === "http") return await httpTransport({ spec, headers, auth, tell });
  throw new ReasonixError(`The transport "sse" is an older one that is not supported`, {
    remedy: `set type = "http" for it: most servers speak streamable HTTP at the same or a near address`,
  });
}
