import type { ProviderEntry } from "../config/mod.ts";
import { type Fetch, programFetch } from "../util/network/fetch.ts";
import { after, unlessAborted } from "../util/timer.ts";
import type { ImageLimits } from "../util/image/fit_image.ts";
import type { ModelInfo, Provider } from "./provider.ts";
import type { RemoteServers } from "./remote/remote_server.ts";

/** The time of the package; tests pass their own. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Runs `task` once after `ms` milliseconds; the returned function cancels it. */
  after(ms: number, task: () => void): () => void;
  /** Waits; settles early, without an error, when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export interface ProviderDeps {
  readonly fetch: Fetch;
  readonly clock: Clock;
  /** Number in [0, 1) for jitter. */
  readonly random: () => number;
}

export interface Connection {
  readonly fetch: Fetch;
  readonly apiKey?: string | undefined;
  readonly now?: () => number;
}

export interface KindOptions {
  /** Includes the `model_settings` of the model. */
  readonly entry: ProviderEntry;
  readonly model: ModelInfo;
  readonly apiKey?: string;
  readonly version: string;
  /** The level to send, one that the model has; absent: none. `entry.effort` is the requested one. */
  readonly effort?: string;
  /** MCP servers that the model's server is to call, for kinds whose wire supports them. */
  readonly remote?: RemoteServers;
  /**
   * Values that differ between runs, by name, such as the workspace path; cassettes keep their names instead.
   */
  readonly values: Readonly<Record<string, string>>;
  readonly deps: ProviderDeps;
  /** Another kind by its name, for kinds that speak the wire of one. */
  readonly kind: (name: string) => Promise<ProviderKind>;
}

/** One wire format or source of replies: what a directory under kinds/ exports. */
export interface ProviderKind {
  create(options: KindOptions): Provider | Promise<Provider>;
  /** Its replies have calls already, whatever `tool_mode` is. */
  readonly hasCalls?: true;
  /** A field `stream` of the request decides whether a reply streams. */
  readonly streamField?: true;
  /** Limits of images; absent = those of nearly all servers. */
  readonly images?: ImageLimits;
  /** Identifiers of the models the endpoint offers. Rejects with a ReasonixError. */
  models?(options: KindOptions, signal?: AbortSignal): Promise<readonly string[]>;
}

export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  // Unlike the limit of a pending read, nothing else keeps the process alive while it waits.
  const timer = setTimeout(resolve, ms);
  await unlessAborted(promise, signal).catch(() => {});
  clearTimeout(timer);
}

export const systemDeps: ProviderDeps = {
  fetch: programFetch,
  clock: { now: Date.now, after, sleep },
  random: Math.random,
};
