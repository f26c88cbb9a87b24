import type { FetchLike } from "@modelcontextprotocol/client";
import { isSameServer, programFetch } from "../../util/network/fetch.ts";

export interface ServerFetchOptions {
  readonly server: URL;
  /** Headers of the moment, for the server alone. */
  readonly headers: () => Promise<Readonly<Record<string, string>>>;
  /** The server refused a request and says when to come back. */
  readonly notNow?: (status: number, seconds: number) => void;
}

/** The longest that a request waits by itself because the server asks it to. */
const PATIENCE_SECONDS = 10;
const MOST_WAITS = 2;
/** Statuses that say that nothing was done: too many requests, and not available now. */
const NOT_NOW: ReadonlySet<number> = new Set([429, 503]);

/**
 * Sends requests to a server and to its authorization server. The server's headers go to its own origin only.
 * A short wait that the server asks for is kept. A redirect to another server is a RedirectError, except
 * where the SDK reads metadata, which it looks for in several places: there it is an answer without metadata.
 */
export function serverFetch({ server, headers, notNow }: ServerFetchOptions): FetchLike {
  return async (input, init) => {
    const isOwn = isSameServer(server, new URL(input));
    const reads = (init?.method ?? "GET") === "GET";
    const redirect = reads ? init?.redirect ?? "follow" : "follow";
    for (let waits = 0;; waits++) {
      const own = new Headers(init?.headers);
      if (isOwn) {
        for (const [name, value] of Object.entries(await headers())) if (!own.has(name)) own.set(name, value);
      }
      const response = await programFetch(input, { ...init, headers: own, redirect });
      const seconds = secondsToWait(response);
      if (seconds === undefined) return response;
      if (!NOT_NOW.has(response.status) || seconds > PATIENCE_SECONDS || waits === MOST_WAITS) {
        notNow?.(response.status, seconds);
        return response;
      }
      await response.body?.cancel();
      await pause(seconds * 1000, init?.signal ?? undefined);
    }
  };
}

/** What a response that is no success says about when to come back, in seconds. */
function secondsToWait({ ok, status, headers }: Response): number | undefined {
  const text = headers.get("retry-after");
  if (ok || status < 400 || text === null) return undefined;
  const seconds = /^\s*\d+\s*$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : undefined;
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, ms);
  const stop = () => over.reject(signal?.reason);
  signal?.addEventListener("abort", stop, { once: true });
  try {
    await over.promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}
