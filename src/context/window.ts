import type { ProviderEntry } from "../config/mod.ts";
import { connect } from "../provider/mod.ts";
import { isRecord } from "../util/json.ts";

export interface WindowOptions {
  readonly entry: ProviderEntry;
  readonly model: string;
  readonly apiKey?: string | undefined;
  readonly fetch: typeof fetch;
  readonly signal?: AbortSignal;
  /** Longest wait for one answer, 3,000 ms when absent. */
  readonly timeoutMs?: number;
}

/** Tokens a server really accepts, and where that is known from. */
export interface WindowFound {
  readonly tokens: number;
  readonly source: "declared" | "models" | "props" | "ollama";
}

type Json = Readonly<Record<string, unknown>>;

/** Field names of model lists (vLLM, OpenRouter, Groq, LM Studio, Mistral and others), surest first. */
const LIST_FIELDS = [
  "max_model_len",
  "loaded_context_length",
  "context_window",
  "context_length",
  "max_context_length",
  "max_input_tokens",
];

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
  const body = await ask(options, `${options.entry.base_url.replace(/\/+$/, "")}/models`);
  const list = Array.isArray(body) ? body : record(body).data ?? record(body).models;
  if (!Array.isArray(list)) return undefined;
  const all = list.map(record);
  const mine = all.find((model) => [model.id, model.name, model.model].includes(options.model)) ??
    (all.length === 1 ? all[0] : undefined);
  if (!mine) return undefined;
  const places = [mine, record(mine.top_provider), record(mine.limits)];
  for (const field of LIST_FIELDS) {
    for (const place of places) {
      const tokens = positive(place[field]);
      if (tokens !== undefined) return tokens;
    }
  }
  return undefined;
}

/**
 * Reads the window that one slot of a llama.cpp server was started with; the model's training length says
 * nothing about that.
 */
async function fromProps(options: WindowOptions): Promise<number | undefined> {
  const body = record(await ask(options, `${root(options)}/props`));
  return positive(record(body.default_generation_settings).n_ctx) ?? positive(body.n_ctx);
}

/** Ollama cuts silently at what the model was loaded with, so that counts before what it could take. */
async function fromOllama(options: WindowOptions): Promise<number | undefined> {
  const running = record(await ask(options, `${root(options)}/api/ps`)).models;
  if (Array.isArray(running)) {
    const mine = running.map(record).find((model) => [model.name, model.model].includes(options.model));
    const loaded = positive(mine?.context_length);
    if (loaded !== undefined) return loaded;
  }
  const shown = record(
    await ask(options, `${root(options)}/api/show`, JSON.stringify({ model: options.model })),
  );
  const set = /^num_ctx\s+(\d+)/m.exec(typeof shown.parameters === "string" ? shown.parameters : "");
  if (set) return positive(Number(set[1]));
  const length = Object.entries(record(shown.model_info)).find(([key]) => key.endsWith(".context_length"));
  return positive(length?.[1]);
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
    const text = await response.text();
    return response.ok ? JSON.parse(text) : undefined;
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

function record(value: unknown): Json {
  return isRecord(value) ? value : {};
}

function positive(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.floor(value) : undefined;
}
