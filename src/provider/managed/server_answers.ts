import { isRecord, parseJson } from "../../util/json.ts";
import type { Fetch } from "../../util/network/fetch.ts";

/** The way to a server that may still be loading. */
export interface ServerAddress {
  /** Such as `http://127.0.0.1:18400`. */
  readonly origin: string;
  readonly key: string;
  readonly fetch: Fetch;
}

const LIMIT_MS = 3000;
const LONGEST_REPLY = 1024 * 1024;

/**
 * - "silent": nobody answers, or not in time.
 * - "loading": it reads the model.
 * - "ready": it takes requests.
 */
export type Health = "silent" | "loading" | "ready";

/** Asks a server how far it is; very old ones have no page for that, but list their models. */
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
  const props = parseJson((await get(address, "/props"))?.text ?? "");
  const settings = isRecord(props) ? props.default_generation_settings : undefined;
  const window = isRecord(settings) ? settings.n_ctx : undefined;
  return typeof window === "number" && Number.isInteger(window) && window > 0 ? window : undefined;
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
    let text = "";
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      if (text.length > LONGEST_REPLY) break;
    }
    return { status: response.status, text };
  } catch {
    return undefined;
  }
}
