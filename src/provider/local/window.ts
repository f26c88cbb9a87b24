import type { ProviderEntry } from "../../config/mod.ts";
import type { Fetch } from "../../util/network/fetch.ts";
import { connect } from "../network/connection.ts";
import { boundedText } from "../wire/whole/bounded_text.ts";
import { readLoadedWindow, readModelList, readProps, readShown } from "./pages.ts";

export interface WindowOptions {
  readonly entry: ProviderEntry;
  readonly model: string;
  readonly apiKey?: string | undefined;
  readonly fetch: Fetch;
  readonly signal?: AbortSignal;
  /** Longest wait for one answer, 3,000 ms when absent. */
  readonly timeoutMs?: number;
}

/** Lists of vendors with many models have a few megabytes. */
const LONGEST_PAGE = 16 * 1024 * 1024;

/** Tokens a server really accepts, and where that is known from. */
export interface WindowFound {
  readonly tokens: number;
  readonly source: "declared" | "models" | "props" | "ollama";
}

/**
 * The context window of a model: as declared, else as the server tells. A server's own pages beside the API
 * (llama.cpp `/props`, Ollama `/api`) are asked only on this machine or in its network.
 *
 * Contract: never rejects; undefined when nobody knows.
 */
export async function discoverWindow(options: WindowOptions): Promise<WindowFound | undefined> {
  const declared = options.entry.context_window ?? 0;
  if (declared > 0) return { tokens: declared, source: "declared" };
  if (options.entry.base_url === "") return undefined;
  try {
    return await askServer({ ...options, ...await connect(options.entry, options) });
  } catch {
    return undefined;
  }
}

async function askServer(options: WindowOptions): Promise<WindowFound | undefined> {
  const listed = await fromModelList(options);
  if (listed !== undefined) return { tokens: listed, source: "models" };
  if (!isNear(options.entry.base_url)) return undefined;
  const props = await fromProps(options);
  if (props !== undefined) return { tokens: props, source: "props" };
  const ollama = await fromOllama(options);
  return ollama === undefined ? undefined : { tokens: ollama, source: "ollama" };
}

async function fromModelList(options: WindowOptions): Promise<number | undefined> {
  const all = readModelList(await ask(options, `${options.entry.base_url.replace(/\/+$/, "")}/models`)) ?? [];
  const mine = all.find(({ id }) => id === options.model) ?? (all.length === 1 ? all[0] : undefined);
  return mine?.window;
}

async function fromProps(options: WindowOptions): Promise<number | undefined> {
  return readProps(await ask(options, `${root(options)}/props`)).window;
}

/** Ollama cuts silently at what the model was loaded with, so that counts before what it could take. */
async function fromOllama(options: WindowOptions): Promise<number | undefined> {
  const { model } = options;
  const loaded = readLoadedWindow(await ask(options, `${root(options)}/api/ps`), model);
  if (loaded !== undefined) return loaded;
  return readShown(await ask(options, `${root(options)}/api/show`, JSON.stringify({ model }))).window;
}

/** The parsed answer, or undefined for anything but a JSON answer in time. */
async function ask(options: WindowOptions, url: string, body?: string): Promise<unknown> {
  const { entry, apiKey, fetch, signal, timeoutMs = 3_000 } = options;
  const limits = [AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])];
  const headers = {
    ...entry.headers,
    accept: "application/json",
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    ...(body === undefined ? {} : { "content-type": "application/json" }),
  };
  try {
    const request = body === undefined ? { headers } : { headers, method: "POST", body };
    const response = await fetch(url, { ...request, signal: AbortSignal.any(limits) });
    const text = await boundedText(response, LONGEST_PAGE);
    return response.ok && text !== undefined ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

function root({ entry }: WindowOptions): string {
  return new URL(entry.base_url).origin;
}

/** This machine, or a private network. */
function isNear(url: string): boolean {
  const host = URL.parse(url)?.hostname ?? "";
  if (host === "") return false;
  if (host === "[::1]" || !/[.:]/.test(host) || /\.(?:local|lan|internal|home\.arpa)$/.test(host)) {
    return true;
  }
  return /^(?:127|10)\.|^192\.168\.|^172\.(?:1[6-9]|2\d|3[01])\.|^\[f[cd]/.test(host);
}
