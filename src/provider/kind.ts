import type { ProviderEntry } from "../config/mod.ts";
import { type Fetch, programFetch } from "../util/network/fetch.ts";
import { after } from "../util/timer.ts";
import type { ImageLimits } from "../util/image/fit_image.ts";
import type { ModelInfo, Provider } from "./provider.ts";
import type { RemoteServers } from "./remote/remote_server.ts";

/** Time as the room sees it; tests hand in their own. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Runs `task` once after `ms` milliseconds; the returned function calls it off. */
  after(ms: number, task: () => void): () => void;
  /** Waits; settles early, without an error, when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** The parts of the outside world that a provider uses. */
export interface ProviderDeps {
  readonly fetch: Fetch;
  readonly clock: Clock;
  /** Number in [0, 1) for jitter. */
  readonly random: () => number;
}

/** The way to the server of an entry. */
export interface Connection {
  readonly fetch: Fetch;
  /** The key to send; absent for servers that want none. */
  readonly apiKey?: string | undefined;
  /** Milliseconds since 1970; for keys that get old. */
  readonly now?: () => number;
}

/** Everything a kind needs to build a provider. */
export interface KindOptions {
  /** As it counts for the model: its `model_settings` are in it. */
  readonly entry: ProviderEntry;
  readonly model: ModelInfo;
  /** Absent for servers that want none. */
  readonly apiKey?: string;
  /** Version of the program, for the user agent. */
  readonly version: string;
  /** The level to send, one that the model has; absent: none. `entry.effort` is only what was wanted. */
  readonly effort?: string;
  /** MCP servers that the model's server is to call, for kinds whose wire knows such a thing. */
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
  /** Its replies come as the agent gets them: calls are calls, whatever `tool_mode` says. */
  readonly hasCalls?: true;
  /** A field `stream` of the request decides whether a reply comes piece by piece. */
  readonly streamField?: true;
  /** Limits of images; absent = those of nearly all servers. */
  readonly images?: ImageLimits;
  /** Identifiers of the models the endpoint offers. Rejects with a ReasonixError. */
  models?(options: KindOptions, signal?: AbortSignal): Promise<readonly string[]>;
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    // Unlike the limit of a pending read, nothing else keeps the process alive while it waits.
    const timer = setTimeout(end, ms);
    const cancel = () => clearTimeout(timer);
    signal.addEventListener("abort", end);
  });
}

export const systemDeps: ProviderDeps = {
  fetch: programFetch,
  clock: { now: () => Date.now(), after, sleep },
  random: Math.random,
};
