import { errorMessage, type LocalizedMessage, message, type ProviderErrorKind } from "../../core/mod.ts";
import { baseName } from "../../path/lexical.ts";
import { providerError, ProviderFailure } from "../errors.ts";
import { sleep } from "../kind.ts";
import { readProps } from "../local/local_servers.ts";
import { endGroup, endOrphan, makePipe, openPipe, startSupervisor } from "./server_process.ts";
import {
  boundLog,
  exitCode,
  isRunning,
  isSameRunning,
  lastLines,
  logSize,
  ownName,
  running,
  saysPortTaken,
  type ServerLease,
} from "./server_files.ts";
import type { ServerPlan } from "./server_plan.ts";
import { defined, parseJson } from "../../util/json.ts";
import { boundedText } from "../wire/bounded_text.ts";
import { FileLock } from "../../util/lock.ts";
import type { Fetch } from "../../util/network/fetch.ts";
import { processStart } from "../../util/process.ts";
import { learnSecret } from "../../util/redact.ts";

export interface ReadyServer extends ServerAddress {
  readonly lease: ServerLease;
  /** Tokens that a conversation can have; absent when the server does not say. */
  readonly window?: number;
}

/** A lease on a server: it runs while the pipe is open. */
interface Held {
  readonly lease: ServerLease;
  readonly pipe: Deno.FsFile;
  readonly key: string;
}

const FIRST_POLL_MS = 20;
const LONGEST_POLL_MS = 400;
/** Longest wait for the end of a server that cannot be shared any more. */
const GONE_MS = 5000;
/** Limit of ports that other servers took first. */
const MOST_LOST_PORTS = 20;

const servers = new Map<string, ManagedServer>();

/**
 * The server of a plan: one for all providers of this process with its name, and for all processes of the
 * user.
 */
export function managedServer(plan: ServerPlan): ManagedServer {
  const id = JSON.stringify([plan.files.directory, plan.provider, plan.model, plan.startupMs]);
  const known = servers.get(id) ?? new ManagedServer(plan);
  servers.set(id, known);
  return known;
}

export class ManagedServer {
  readonly #plan: ServerPlan;
  #held: Held | undefined;
  #ready: ReadyServer | undefined;
  #starting: Promise<ReadyServer> | undefined;

  constructor(plan: ServerPlan) {
    this.#plan = plan;
  }

  /** The server, when it took requests the last time. */
  get current(): ReadyServer | undefined {
    return this.#ready && isRunning(this.#ready.lease) ? this.#ready : undefined;
  }

  /**
   * Attaches to the server, or starts it, and waits until it takes requests. Rejects with a ProviderFailure.
   * It continues when no request waits any more: the next one will need it.
   */
  async ready(fetch: Fetch): Promise<ReadyServer> {
    boundLog(this.#plan.log);
    const { current } = this;
    if (current) return current;
    this.#starting ??= this.#start(fetch).finally(() => this.#starting = undefined);
    return await this.#starting;
  }

  /** The failure of a server that ended during a request; undefined when it runs. */
  async failureOf(server: ReadyServer): Promise<ProviderFailure | undefined> {
    const { lease } = server;
    if (isRunning(lease) && await askHealth(server) !== "silent") return undefined;
    // The connection breaks a moment before the process is gone.
    for (let wait = FIRST_POLL_MS; wait < LONGEST_POLL_MS && isRunning(lease); wait *= 2) await sleep(wait);
    return isRunning(lease) ? undefined : endedFailure(this.#plan, lease);
  }

  async #start(fetch: Fetch): Promise<ReadyServer> {
    const lost = new Set<number>();
    this.#release();
    try {
      for (;;) {
        const held = this.#held = await this.#attach(lost);
        const address = { origin: originOf(this.#plan.host, held.lease.port), key: held.key, fetch };
        if (await this.#load(held, address) === "ready" || lost.size === MOST_LOST_PORTS) {
          const window = await askWindow(address);
          return this.#ready = defined({ ...address, lease: held.lease, window });
        }
        lost.add(held.lease.port);
        await this.#end(held);
      }
    } catch (error) {
      this.#release();
      throw error;
    }
  }

  async #load({ lease }: Held, address: ServerAddress): Promise<"ready" | "port taken"> {
    const plan = this.#plan;
    const { startupMs } = plan;
    const began = performance.now();
    for (let wait = FIRST_POLL_MS;; wait = Math.min(wait * 1.5, LONGEST_POLL_MS)) {
      if (!isRunning(lease)) {
        if (saysPortTaken(lease.log, lease.logStart)) return "port taken";
        throw endedFailure(this.#plan, lease);
      }
      const isOurs = await askHealth(address) === "ready" ? await knowsKey(address) : undefined;
      if (isOurs !== undefined) return isOurs ? "ready" : "port taken";
      if (startupMs > 0 && performance.now() - began > startupMs) {
        const limit = `startup_timeout_seconds = ${startupMs / 1000}`;
        throw failed(
          "timeout",
          plan,
          message`${plan.binary} did not load ${plan.modelName} within ${limit}`,
          lease,
        );
      }
      boundLog(lease.log);
      await sleep(wait);
    }
  }

  /** Attaches to the running server, or starts one. */
  async #attach(lost: ReadonlySet<number>): Promise<Held> {
    const { files } = this.#plan;
    await files.prepare();
    using _lock = await FileLock.acquire(files.lock);
    const found = files.lease();
    if (found && isSameRunning(found) && !lost.has(found.port)) {
      const pipe = openPipe(found.pipe);
      const key = files.readKey();
      if (pipe && key !== "") {
        learnSecret(key);
        const lease = { ...found, users: [...running(found.users), ownName()] };
        await files.write(lease);
        return { lease, pipe, key };
      }
      pipe?.close();
      await gone(found);
    }
    if (found) endOrphan(found.supervisor.pid, files.key);
    await files.clear();
    return await this.#startNew(lost);
  }

  async #startNew(lost: ReadonlySet<number>): Promise<Held> {
    const { files, binary, args, log, provider, model } = this.#plan;
    const port = freePort(this.#plan, lost);
    const key = await files.writeKey();
    learnSecret(key);
    const path = files.newPipe();
    let pipe: Deno.FsFile | undefined;
    try {
      await makePipe(path);
      pipe = openPipe(path);
      if (!pipe) throw new Error(`${path} is no pipe`);
      boundLog(log);
      const logStart = logSize(log);
      const command = [binary, ...args, "--port", String(port), "--api-key-file", files.key];
      const pid = startSupervisor({ command, pipe: path, log });
      const supervisor = { pid, start: processStart(pid) ?? "" };
      const since = new Date().toISOString();
      const lease = {
        supervisor,
        port,
        pipe: path,
        log,
        logStart,
        since,
        provider,
        model,
        users: [ownName()],
      };
      await files.write(lease);
      return { lease, pipe, key };
    } catch (error) {
      pipe?.close();
      throw notStartedFailure(this.#plan, port, error);
    }
  }

  /** Ends a server that cannot be used, and waits until it is gone. */
  async #end(held: Held): Promise<void> {
    this.#release();
    endGroup(held.lease.supervisor.pid);
    await gone(held.lease);
  }

  #release(): void {
    this.#held?.pipe.close();
    this.#held = undefined;
    this.#ready = undefined;
  }
}

async function gone(lease: ServerLease): Promise<void> {
  const end = performance.now() + GONE_MS;
  while (isRunning(lease) && performance.now() < end) await sleep(FIRST_POLL_MS);
}

/** A free port. Each server begins at another one, so that servers that start together do not collide. */
function freePort(plan: ServerPlan, lost: ReadonlySet<number>): number {
  const [first, last] = plan.ports;
  const count = last - first + 1;
  const offset = Number.parseInt(baseName(plan.files.directory).slice(0, 8), 16) || 0;
  for (let step = 0; step < count; step++) {
    const port = first + (offset + step) % count;
    if (!lost.has(port) && isFree(plan, port)) return port;
  }
  throw failed(
    "connection",
    plan,
    message`${plan.binary} has no port: ${first} to ${last} are all taken; set another port_range`,
  );
}

function isFree(plan: ServerPlan, port: number): boolean {
  try {
    Deno.listen({ hostname: plan.host, port }).close();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse || error instanceof Deno.errors.PermissionDenied) return false;
    throw notStartedFailure(plan, port, error);
  }
}

/** The address, on this machine, of a server that listens on `host`. */
function originOf(host: string, port: number): string {
  const near = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${near.includes(":") ? `[${near}]` : near}:${port}`;
}

/** The address and key of a server that may still be loading. */
export interface ServerAddress {
  readonly origin: string;
  readonly key: string;
  readonly fetch: Fetch;
}

const LIMIT_MS = 3000;
const LONGEST_REPLY = 1024 * 1024;

/**
 * - "silent": no answer in time.
 * - "loading": it reads the model.
 * - "ready": it takes requests.
 */
export type Health = "silent" | "loading" | "ready";

/** Asks a server for its state; very old ones have no page for that, but list their models. */
export async function askHealth(address: ServerAddress): Promise<Health> {
  const status = (await get(address, "/health"))?.status;
  if (status === 404) return (await get(address, "/v1/models"))?.status === 200 ? "ready" : "loading";
  return status === undefined ? "silent" : status === 200 ? "ready" : "loading";
}

/**
 * Reports whether the server is the one that was started: it takes the key, and no other. A different one may
 * have been faster to get the port. Undefined when it does not answer in time.
 */
export async function knowsKey(address: ServerAddress): Promise<boolean | undefined> {
  const [own, other] = await Promise.all([
    get(address, "/props"),
    get({ ...address, key: "rx-none" }, "/props"),
  ]);
  if (own === undefined || other === undefined) return undefined;
  return !isRefusal(own.status) && isRefusal(other.status);
}

function isRefusal(status: number): boolean {
  return status === 401 || status === 403;
}

/** Tokens that one conversation can have there; undefined when it does not say. */
export async function askWindow(address: ServerAddress): Promise<number | undefined> {
  return readProps(parseJson((await get(address, "/props"))?.text ?? "")).window;
}

async function get(
  { origin, key, fetch }: ServerAddress,
  path: string,
): Promise<{ readonly status: number; readonly text: string } | undefined> {
  try {
    const response = await fetch(origin + path, {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    return { status: response.status, text: await boundedText(response, LONGEST_REPLY) ?? "" };
  } catch {
    return undefined;
  }
}

function endedFailure(plan: ServerPlan, lease: ServerLease): ProviderFailure {
  const { binary } = plan;
  const code = exitCode(lease);
  const how = code === undefined
    ? message`${binary} was killed`
    : code === 137
    ? message`${binary} was ended by signal 9, which happens when memory runs out`
    : code > 128
    ? message`${binary} was ended by signal ${code - 128}`
    : message`${binary} ended with exit code ${code}`;
  return failed("server", plan, how, lease);
}

function notStartedFailure(plan: ServerPlan, port: number, error: unknown): ProviderFailure {
  const reason = errorMessage(error);
  const how = message`${plan.binary} could not be started for ${`${plan.host}:${port}`}: ${reason}`;
  return failed("connection", plan, how);
}

function failed(
  kind: ProviderErrorKind,
  { provider }: ServerPlan,
  how: LocalizedMessage,
  lease?: ServerLease,
): ProviderFailure {
  const lines = lease ? lastLines(lease.log, lease.logStart) : "";
  const what = message`Provider "${provider}": ${lines === "" ? how : message`${how}: ${lines}`}`;
  const text = lease?.log ? message`${what}; its log is ${lease.log}` : what;
  return new ProviderFailure(providerError(kind, text), false);
}
