import {
  clauses,
  clausesOf,
  detailFields,
  errorMessage,
  message,
  ReasonixError,
  type Text,
  textOf,
  writtenFields,
  type WrittenMessage,
} from "../core/mod.ts";
import type { Connection, ConnectionOptions } from "./connection.ts";
import { MissingProgramError, SignInNeeded, signInNeeded, statusOf, UndeliveredError } from "./failures.ts";
import { EMPTY_LISTING, knownEra, type Listing, type ListingCache, type ServerRecord } from "./listing.ts";
import { ServerLog } from "./server_log.ts";
import type { HttpAccess } from "./oauth/http_access.ts";
import { type McpServerSpec, misnamedTools } from "./server_spec.ts";
import { canonicalJson } from "../util/json.ts";
import { unlessAborted } from "../util/timer.ts";

interface ServerDeps extends Pick<ConnectionOptions, "spawn" | "questions"> {
  readonly spec: McpServerSpec;
  readonly home: string;
  readonly cache: ListingCache;
  readonly connection: () => Promise<HttpAccess>;
  readonly onChange: (change: ServerChange) => void;
}

/** Age at which the record of an unchanged server is written again. */
const RECORD_AGE_MS = 86_400_000;

/** One configured server: started when needed, restarted when lost, ended with the run. */
export class McpServer {
  readonly spec: McpServerSpec;
  readonly log: ServerLog;
  readonly #deps: ServerDeps;
  readonly #restarts: Restarts;
  readonly #ended = new AbortController();
  #record: ServerRecord;
  #state: ServerState;
  #detail: Text | undefined;
  #times: Pick<ServerStatus, "greetedMs" | "listedMs"> = {};
  #connection: Connection | undefined;
  #starting: Promise<void> | undefined;
  #listing: Promise<void> | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(deps: ServerDeps) {
    this.spec = deps.spec;
    this.#deps = deps;
    this.log = new ServerLog(deps.home, deps.spec.name);
    this.#record = deps.spec.enabled ? deps.cache.read(deps.spec.definition) : {};
    this.#state = deps.spec.enabled ? "idle" : "disabled";
    this.#restarts = new Restarts(() => void this.start());
  }

  /** False: the configuration or the user disabled it. */
  get enabled(): boolean {
    return this.#state !== "disabled";
  }

  get listing(): Listing {
    return this.#record.listing ?? EMPTY_LISTING;
  }

  /** Its offer is known, or that its last start failed. */
  get isKnown(): boolean {
    return this.#state === "disabled" || this.#record.listing !== undefined ||
      this.#record.failure !== undefined;
  }

  get status(): ServerStatus {
    const { tools, prompts, resources, templates, problems } = this.listing;
    const open = this.#connection;
    return {
      name: this.spec.name,
      type: this.spec.type,
      state: this.#state,
      ...(this.#detail === undefined ? {} : detailFields(this.#detail)),
      ...(open ? { protocol: open.protocol, about: open.about, capabilities: open.capabilities } : {}),
      ...this.#times,
      isKnown: this.isKnown,
      ...(this.#record.failure === undefined ? {} : { lastFailure: this.#record.failure }),
      ...(this.#record.said ? { lastFailureSaid: this.#record.said } : {}),
      tools: tools.filter(({ name }) => this.spec.offers(name)).length,
      prompts: prompts.length,
      resources: resources.length + templates.length,
      problems: this.#record.listing ? [...problems, ...misnamedTools(this.spec, tools)] : problems,
      restarts: this.#restarts.count,
      log: this.log.path,
    };
  }

  /** Starts it unless it runs. Never rejects: the state has the outcome. */
  start(): Promise<void> {
    // A start has a connection before it has the list.
    if (this.#starting) return this.#starting;
    if (this.#state === "disabled" || this.#state === "stopped" || this.#connection) return Promise.resolve();
    return this.#starting = this.#start().finally(() => this.#starting = undefined);
  }

  async restart(): Promise<void> {
    await this.#starting;
    this.#restarts.forgive();
    const old = this.#connection;
    this.#connection = undefined;
    await old?.close();
    await this.start();
  }

  async setEnabled(enabled: boolean): Promise<void> {
    await this.#starting;
    if (this.#state === "stopped" || enabled === this.enabled) return;
    if (enabled) {
      this.#record = this.#deps.cache.read(this.spec.definition);
      this.#restarts.forgive();
      this.#change("idle", { listed: true });
      return await this.start();
    }
    this.#restarts.close();
    this.#change("disabled", { listed: true });
    if (this.#connection) await this.#drop(this.#connection);
  }

  /**
   * Runs `work` with the connection of a started server. When the server has forgotten the session, or ended
   * before it received the work, the work is repeated in a new session: it had no effect. Rejects with a
   * ReasonixError when the server cannot be used, or for an abort.
   */
  async use<T>(work: (connection: Connection) => Promise<T>, signal: AbortSignal): Promise<T> {
    const connection = await this.#ready(signal);
    try {
      return await work(connection);
    } catch (error) {
      if (error instanceof SignInNeeded) {
        void this.#drop(connection);
        this.#change("needs-auth", {}, error.texts.remedy ?? "");
        throw this.#unusable();
      }
      const gone = error instanceof UndeliveredError;
      // Servers of the older era do not know a session any more.
      if (!gone && statusOf(error) !== 404) throw error;
      this.log.note(
        gone ? "ended unnoticed; started again" : "the server has forgotten the session; started again",
      );
      await this.#drop(connection);
      return await work(await this.#ready(signal)).catch((again) => {
        if (gone || statusOf(again) !== 404) throw again;
        throw this.#unusable([], message`it has forgotten the session twice in a row (404)`);
      });
    }
  }

  async #drop(connection: Connection): Promise<void> {
    if (this.#connection === connection) this.#connection = undefined;
    await connection.close();
  }

  /** Records that the server was too slow, so that the next run does not wait for it. */
  async overdue(seconds: number): Promise<void> {
    if (!this.isKnown) await this.#failedLast(message`it was not ready after ${seconds} s`);
  }

  async close(): Promise<void> {
    if (this.#state !== "disabled") this.#state = "stopped";
    this.#restarts.close();
    this.#ended.abort(new DOMException("The session has ended", "AbortError"));
    await this.#starting;
    await this.#connection?.close();
    await this.#listing;
    await this.#writing;
    this.log.close();
  }

  async #ready(signal: AbortSignal): Promise<Connection> {
    signal.throwIfAborted();
    const { spec: { name } } = this;
    if (this.#state === "disabled") throw new ReasonixError(`MCP server ${name} is disabled`);
    if (!this.#connection) {
      const wait = this.#restarts.blockedMs();
      if (wait > 0) throw this.#unusable([message`it is tried again in ${Math.ceil(wait / 1000)} s`]);
      await unlessAborted(this.start(), signal);
    }
    if (this.#connection) return this.#connection;
    throw this.#unusable();
  }

  #unusable(more: readonly Text[] = [], problem = this.#detail ?? this.#state): ReasonixError {
    const { spec: { name } } = this;
    const signIn = this.#state === "needs-auth" ? this.#detail : undefined;
    const why = clausesOf([signIn === undefined ? problem : signInNeeded(), ...more]);
    const { path } = this.log;
    return new ReasonixError(message`MCP server ${name} cannot be used: ${why}`, {
      remedy: signIn ?? message`look at ${path}, or try \`reasonix mcp test ${name}\``,
    });
  }

  async #start(): Promise<void> {
    const begun = performance.now();
    this.#times = {};
    this.#change("starting");
    const timeout = this.spec.startupMs > 0 ? [AbortSignal.timeout(this.spec.startupMs)] : [];
    const signal = AbortSignal.any([this.#ended.signal, ...timeout]);
    try {
      // The tools of servers that are known are offered without it.
      const { Connection } = await import("./connection.ts");
      const connection = await Connection.open({
        spec: this.spec,
        era: knownEra(this.#record),
        log: this.log,
        spawn: this.#deps.spawn,
        questions: this.#deps.questions,
        ...await this.#deps.connection(),
        changed: () => this.#listAgain(),
        lost: (why) => this.#lost(why),
      }, signal);
      this.#connection = connection;
      const greetedMs = Math.round(performance.now() - begun);
      this.#times = { greetedMs };
      const listed = await this.#list(connection, signal);
      this.#times = { greetedMs, listedMs: Math.round(performance.now() - begun) - greetedMs };
      this.#restarts.worked();
      const durationMs = Math.round(performance.now() - begun);
      this.#change("ready", { durationMs, tools: this.status.tools, listed });
    } catch (error) {
      await this.#failed(error, signal.aborted && !this.#ended.signal.aborted);
    }
  }

  async #failed(error: unknown, late: boolean): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.close();
    if (this.#ended.signal.aborted) return;
    const { message: what, remedy }: { message: Text; remedy?: Text } = late
      ? { message: message`it did not start within ${this.spec.startupMs / 1000} s: ${stepText(connection)}` }
      : error instanceof ReasonixError
      ? error.texts
      : { message: errorMessage(error) };
    const detail = clauses({ message: what, ...(remedy === undefined ? {} : { remedy }) });
    this.log.note(`failed: ${textOf(detail)}`);
    await this.#failedLast(what);
    // A sign-in may be made at any time, elsewhere.
    if (error instanceof SignInNeeded) return this.#change("needs-auth", {}, remedy ?? "");
    const isFinal = error instanceof MissingProgramError ||
      (error instanceof ReasonixError && error.exit === "config");
    this.#restarts.failed(!isFinal);
    this.#change("failed", {}, detail);
  }

  async #failedLast(why: Text): Promise<void> {
    const { said: _said, ...record } = this.#record;
    await this.#remember({ ...record, failure: textOf(why), ...writtenFields(why) });
  }

  #lost(why: Text): void {
    this.#connection = undefined;
    if (this.#ended.signal.aborted) return;
    this.log.note(`lost: ${textOf(why)}`);
    this.#change("failed", {}, why);
    this.#restarts.lost();
  }

  async #list(connection: Connection, signal: AbortSignal): Promise<boolean> {
    const listing = await connection.list(signal);
    const before = this.#record.listing;
    // The same in another order stays as it was, byte for byte.
    const same = before !== undefined && canonicalJson(before) === canonicalJson(listing);
    await this.#remember({ listing: same ? before : listing, era: connection.era });
    return !same;
  }

  #listAgain(): void {
    const connection = this.#connection;
    if (!connection || this.#listing || this.#ended.signal.aborted) return;
    this.#listing = this.#list(connection, this.#ended.signal).then((listed) => {
      if (listed) this.#change("ready", { tools: this.status.tools, listed });
    }).catch((error) => this.log.note(`cannot list again: ${errorMessage(error)}`)).finally(() =>
      this.#listing = undefined
    );
  }

  async #remember(record: ServerRecord): Promise<void> {
    const before = this.#record;
    const age = Date.now() - Date.parse(before.checked ?? "");
    const same = before.listing === record.listing && before.era === record.era &&
      before.failure === record.failure;
    if (same && age < RECORD_AGE_MS) return;
    this.#record = { ...record, checked: new Date().toISOString() };
    // One after the other, so that the last one stays.
    this.#writing = this.#writing.then(() => this.#deps.cache.write(this.spec.definition, this.#record));
    await this.#writing;
  }

  #change(
    state: ServerState,
    change: Omit<ServerChange, "server" | "state" | "detail" | "said"> = {},
    detail?: Text,
  ): void {
    if (this.#state === "stopped") return;
    this.#state = state;
    this.#detail = detail;
    const why = detail === undefined ? {} : detailFields(detail);
    this.#deps.onChange({ server: this.spec.name, state, ...why, ...change });
  }
}

function stepText(connection: Connection | undefined): Text {
  return connection ? message`it did not list what it offers` : message`it did not answer the greeting`;
}

const FIRST_MS = 1_000;
const FACTOR = 4;
const MAX_RESTARTS = 5;
/** A server that ran this long gets all restarts again. */
const STABLE_MS = 60_000;

/** The backoff of restarts: 1, 4, 16, 64, 256 s. */
class Restarts {
  count = 0;
  readonly #start: () => void;
  #failures = 0;
  #workedAt = 0;
  #notBefore = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(start: () => void) {
    this.#start = start;
  }

  blockedMs(): number {
    return Math.max(0, this.#notBefore - performance.now());
  }

  worked(): void {
    this.#workedAt = performance.now();
    this.#notBefore = 0;
    this.close();
  }

  /** The start failed: no start before the wait is over; `plan` schedules one. */
  failed(plan: boolean): void {
    this.#notBefore = performance.now() + this.#schedule(plan);
  }

  /** The server was lost. A call may start it at once; only the automatic start waits. */
  lost(): void {
    if (performance.now() - this.#workedAt > STABLE_MS) this.#failures = 0;
    this.#schedule(true);
  }

  /** Schedules the next start, unless there were too many; returns its wait. */
  #schedule(plan: boolean): number {
    const wait = FIRST_MS * FACTOR ** Math.min(this.#failures, MAX_RESTARTS - 1);
    this.close();
    if (this.#failures++ >= MAX_RESTARTS || !plan) return wait;
    this.#timer = setTimeout(() => {
      this.count += 1;
      this.#start();
    }, wait);
    // It does not keep the process.
    Deno.unrefTimer(this.#timer);
    return wait;
  }

  forgive(): void {
    this.#failures = 0;
    this.#notBefore = 0;
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}

/** `idle`: known, and not needed yet. */
type ServerState = "disabled" | "idle" | "starting" | "ready" | "failed" | "needs-auth" | "stopped";

/** `provider`: the model's provider connects to it, so that nothing of it is known here. */
export type ShownState = ServerState | "provider";

/** The status of a server for front ends. Plain data. */
export interface ServerStatus {
  readonly name: string;
  readonly type: McpServerSpec["type"];
  readonly state: ShownState;
  readonly detail?: string;
  /** The detail for other languages. */
  readonly said?: readonly WrittenMessage[];
  readonly protocol?: string;
  readonly about?: Connection["about"];
  readonly capabilities?: readonly string[];
  /** Duration of the last start until the greeting, and from there until the lists. */
  readonly greetedMs?: number;
  readonly listedMs?: number;
  readonly isKnown: boolean;
  readonly lastFailure?: string;
  readonly lastFailureSaid?: readonly WrittenMessage[];
  readonly tools: number;
  readonly prompts: number;
  readonly resources: number;
  readonly problems: readonly string[];
  readonly restarts: number;
  readonly log: string;
}

export function statusElsewhere({ name, type, enabled }: McpServerSpec): ServerStatus {
  const state = enabled ? "provider" : "disabled";
  const none = { tools: 0, prompts: 0, resources: 0, problems: [], restarts: 0 };
  return { name, type, state, isKnown: true, log: "", ...none };
}

export interface ServerChange {
  readonly server: string;
  readonly state: ServerState;
  readonly detail?: string;
  readonly said?: readonly WrittenMessage[];
  readonly tools?: number;
  readonly durationMs?: number;
  readonly listed?: boolean;
}
