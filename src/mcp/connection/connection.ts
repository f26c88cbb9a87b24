import type {
  CallToolResult,
  Client,
  GetPromptResult,
  ReadResourceResult,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { errorMessage, ReasonixError } from "../../core/mod.ts";
import { after } from "../../util/timer.ts";
import { CallClock } from "./call_clock.ts";
import { type ClientOptions, createClient, type EraHint, NO_LIMIT_MS, reportedLists } from "./client.ts";
import { explain } from "./explain.ts";
import type { Listing } from "../listing/listing.ts";
import type { Era } from "../listing/listing_cache.ts";
import { listEverything } from "../listing/list_all.ts";
import { openTransport, type ServerTransport, type TransportOptions } from "../transport/transport.ts";
import { AnsweredLate, causes, SignInNeeded, statusOf, UndeliveredError } from "./refusals.ts";

export interface ConnectionOptions extends TransportOptions, ClientOptions {
  /** The era of the last connection; absent: the server is asked. */
  readonly era: Era | undefined;
  /** The server wants rights that nobody gave it. */
  readonly wanted?: ((scope: string) => Promise<void>) | undefined;
  /** The connection is gone, and nobody closed it. */
  readonly lost: (why: string) => void;
}

/** Time for a server over HTTP to end its session; it ends it by itself some day. */
const GOODBYE_MS = 1_000;
/** Time for a server to confirm that it reports changes of its lists. */
const LISTEN_MS = 2_000;
/** Completions that take longer are for a text that has changed meanwhile. */
const COMPLETION_MS = 3_000;
/** What the SDK says while it answers questions of the server, which are shown anyway. */
const OWN_PROGRESS = /^Fulfilling input required by '[^']+' \(round \d+\)$/;

/** An answer to the question for completions of an argument. */
export interface CompletionQuery {
  readonly ref: { readonly prompt: string } | { readonly template: string };
  readonly argument: string;
  readonly value: string;
}

/** A connection to one server, of either era. All methods reject with a ReasonixError, or for an abort. */
export class Connection {
  readonly #client: Client;
  readonly #server: ServerTransport;
  readonly #options: ConnectionOptions;
  readonly #clock: CallClock;
  /** Its end is no loss: it is not open yet, or being closed. */
  #closing = true;

  private constructor(
    client: Client,
    server: ServerTransport,
    parts: { options: ConnectionOptions; clock: CallClock },
  ) {
    this.#client = client;
    this.#server = server;
    this.#options = parts.options;
    this.#clock = parts.clock;
  }

  /**
   * Starts and greets a server. One that says nothing to the probe of its era, or a process that stops at it,
   * is greeted in the older way. Where that is refused and the server only needed longer to wake up or to
   * start, it is asked once more.
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
    if (spec.type === "stdio" ? isMissing(first) : !isSilence(first)) throw first;
    log.note(`no answer to the probe (${errorMessage(first)}); started again as an older server`);
    const second = await Connection.#attempt(options, "legacy", signal).catch((error: unknown) => error);
    if (second instanceof Connection) return second;
    if (signal.aborted || spec.type === "stdio" || second instanceof SignInNeeded) throw second;
    log.note(`the older greeting was refused (${errorMessage(second)}); asked once more`);
    return await Connection.#attempt(options, undefined, signal).catch(() => Promise.reject(second));
  }

  static async #attempt(options: ConnectionOptions, hint: EraHint, signal: AbortSignal) {
    const clock = new CallClock();
    const client = await createClient(options, { clock, hint });
    const server = await openTransport(options);
    const { transport } = server;
    const connection = new Connection(client, server, { options, clock });
    client.onclose = () => connection.#lost();
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
      if (server.answeredLate()) throw new AnsweredLate(errorMessage(error), { cause: error });
      // That a message did not arrive says nothing; how the server ended does.
      throw connection.#explained(error instanceof UndeliveredError ? new Error(error.message) : error);
    } finally {
      signal.removeEventListener("abort", stop);
    }
    return connection;
  }

  /**
   * Asks a server of the newer era to report changes. The lists are read once it has answered, so that no
   * change is missed; one that does not answer is listed all the same.
   */
  async #listen(): Promise<void> {
    const lists = reportedLists(this.#client);
    if (lists === undefined) return;
    const { spec: { startupMs }, log, changed } = this.#options;
    const limitMs = Math.min(LISTEN_MS, (startupMs || NO_LIMIT_MS) / 3);
    const { promise, resolve } = Promise.withResolvers<void>();
    let late = false;
    const clear = after(limitMs, () => {
      late = true;
      log.note(
        `no answer to subscriptions/listen within ${limitMs / 1000} s; changes of its lists may be missed`,
      );
      resolve();
    });
    this.#client.listen(lists, { timeout: NO_LIMIT_MS }).then(() => {
      if (late) changed();
    }).catch((error) => {
      if (!this.#closing) log.note(`subscriptions/listen failed: ${errorMessage(this.#explained(error))}`);
    }).finally(() => {
      clear();
      resolve();
    });
    await promise;
  }

  /** The newest era that the server speaks, also where it said so too late for this connection. */
  get era(): Era {
    const isModern = this.#client.getProtocolEra() === "modern" || this.#server.answeredLate();
    return isModern ? "modern" : "legacy";
  }

  get protocol(): string {
    return this.#client.getNegotiatedProtocolVersion() ?? "";
  }

  /** The server's own name, version and words for the model. */
  get about(): { readonly name: string; readonly version: string; readonly instructions: string } {
    const { name = "", version = "" } = this.#client.getServerVersion() ?? {};
    return { name, version, instructions: this.#client.getInstructions() ?? "" };
  }

  /** What the server says that it can do, sorted. */
  get capabilities(): readonly string[] {
    return Object.keys(this.#client.getServerCapabilities() ?? {}).sort();
  }

  async list(signal: AbortSignal): Promise<Listing> {
    const timeout = this.#options.spec.startupMs || NO_LIMIT_MS;
    const options = { signal, timeout, refused: this.#server.refused };
    return await this.#asked(() => listEverything(this.#client, options));
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
            if (OWN_PROGRESS.test(message ?? "")) return;
            const share = total === undefined ? `${progress}` : `${progress}/${total}`;
            options.progress(`${[share, message].filter(Boolean).join(" ")}\n`);
          },
        })
      );
    } catch (error) {
      options.signal.throwIfAborted();
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
        timeout: COMPLETION_MS,
      })
    );
    return completion.values;
  }

  /** Ends the connection: a process with its group, a session over HTTP with its DELETE. */
  async close(): Promise<void> {
    this.#closing = true;
    const { transport } = this.#server;
    if ("terminateSession" in transport) {
      const { terminateSession } = transport as StreamableHTTPClientTransport;
      const late = Promise.withResolvers<void>();
      const clear = after(GOODBYE_MS, late.resolve);
      await Promise.race([terminateSession.call(transport).catch(() => {}), late.promise]);
      clear();
    }
    await this.#client.close().catch(() => {});
    await transport.close();
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
    const ended = this.#server.ended();
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
      await this.#noteScope(error);
      throw this.#explained(error);
    }
  }

  /** Keeps the rights that the server misses, for the next sign-in. */
  async #noteScope(error: unknown): Promise<void> {
    const scope = causes(error).map((one) => "requiredScope" in one ? one.requiredScope : undefined)
      .find((one) => typeof one === "string");
    if (scope !== undefined) await this.#options.wanted?.(scope);
  }

  /** Says in one line what went wrong, and for a process that is gone how it ended. */
  #explained(error: unknown): unknown {
    const waitSeconds = this.#server.waits.get(statusOf(error) ?? 0);
    return explain(error, {
      spec: this.#options.spec,
      ended: this.#howItEnded(),
      waitSeconds,
      answered: !this.#closing,
    });
  }
}

/** Nothing came back in time, though something was there. */
function isSilence(error: unknown): boolean {
  return /\bprobe timed out\b/.test(errorMessage(error));
}

function isMissing(error: unknown): boolean {
  return error instanceof ReasonixError && error.remedy !== undefined;
}
