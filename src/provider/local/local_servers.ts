import {
  LOCAL_VENDORS,
  type LocalVendor,
  parseProvider,
  type ProviderEntry,
  type ProviderTable,
} from "../../config/mod.ts";
import { ProviderFailure } from "../errors.ts";
import { connect } from "../wire/endpoint.ts";
import { boundedText } from "../wire/bounded_text.ts";
import { defined, parseJson, recordOf } from "../../util/json.ts";
import { type Fetch, programFetch } from "../../util/network/fetch.ts";

export interface LocalServer extends LocalVendor {
  readonly baseUrl: string;
  readonly models: readonly ServedModel[];
}

const LIMIT_MS = 300;
const LONGEST_LOCAL_PAGE = 2 * 1024 * 1024;
/** Lists of vendors with many models have a few megabytes. */
const LONGEST_PAGE = 16 * 1024 * 1024;
/** Models that are requested one by one where the list does not describe them. */
const MOST_SHOWN = 12;

/**
 * Finds model servers on this machine and the facts they give of their models. Nothing else is asked, no
 * longer than the limit, and no redirect is followed; answers that are late are left out.
 */
export async function findLocalServers(
  known: readonly LocalVendor[] = LOCAL_VENDORS,
  limitMs = LIMIT_MS,
): Promise<LocalServer[]> {
  const limit = AbortSignal.timeout(limitMs);
  const found = await Promise.all(known.map((server) => look(server, limit)));
  return found.filter((server) => server !== undefined);
}

/** The `[[providers]]` entry for a server that was found, with its first model; undefined without one. */
export function proposedEntry({ name, baseUrl, models }: LocalServer): ProviderTable | undefined {
  const [model] = models;
  return model && defined({
    name,
    base_url: baseUrl,
    model: model.id,
    context_window: model.window,
    vision: model.vision || undefined,
  });
}

async function look(server: LocalVendor, signal: AbortSignal): Promise<LocalServer | undefined> {
  if (!await listens(server.port)) return undefined;
  const origin = `http://127.0.0.1:${server.port}`;
  const baseUrl = `${origin}/v1`;
  // A proxy of the environment is not asked for it.
  const { fetch } = await connect(parseProvider({ name: server.name, base_url: baseUrl }), {
    fetch: programFetch,
  });
  const headers = { "content-type": "application/json" };
  const ask: Ask = (path, body) =>
    askPage(fetch, origin + path, { signal, body, headers, longest: LONGEST_LOCAL_PAGE });
  const describe = DESCRIBERS[server.name] ?? (() => Promise.resolve(() => ({})));
  const [listed, described] = await Promise.all([ask("/v1/models"), describe(ask)]);
  const models = readModelList(listed.body);
  // One that wants a key is there all the same.
  if (models === undefined) return listed.status === 401 ? { ...server, baseUrl, models: [] } : undefined;
  // A page without a fact does not take it back from another page.
  const full = await Promise.all(
    models.map(async (model, at) => ({ ...defined(model), ...defined(await described(model.id, at)) })),
  );
  return { ...server, baseUrl, models: full.filter(({ chat }) => chat !== false) };
}

type ModelDetails = Omit<ServedModel, "id">;

/** Returns more facts of a model than the list has. */
type Describe = (model: string, index: number) => ModelDetails | Promise<ModelDetails>;

/** Pages of single servers, in addition to the list that all have. */
const DESCRIBERS: Readonly<Record<string, (ask: Ask) => Promise<Describe>>> = {
  async ollama(ask) {
    const { body: running } = await ask("/api/ps");
    return async (model, index) => {
      if (index >= MOST_SHOWN) return {};
      const shown = readShown((await ask("/api/show", { model })).body);
      return { ...shown, window: readLoadedWindow(running, model) ?? shown.window };
    };
  },
  async llamacpp(ask) {
    const props = readProps((await ask("/props")).body);
    return () => props;
  },
  async lmstudio(ask) {
    const rows = readModelList((await ask("/api/v0/models")).body) ?? [];
    return (model) => rows.find(({ id }) => id === model) ?? {};
  },
};

interface Page {
  /** 0: no answer in time. */
  readonly status: number;
  readonly body: unknown;
}

type Ask = (path: string, body?: unknown) => Promise<Page>;

/** Asks a server for a page, with POST where there is a body. Rejects only without a key to ask with. */
async function askPage(
  fetch: Fetch,
  url: string,
  { signal, body, headers, longest }: {
    readonly signal: AbortSignal;
    readonly body?: unknown;
    readonly headers: Readonly<Record<string, string>>;
    readonly longest: number;
  },
): Promise<Page> {
  try {
    const post = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const all: Record<string, string> = { ...headers, accept: "application/json" };
    if (body !== undefined) all["content-type"] = "application/json";
    const response = await fetch(url, { headers: all, signal, ...post });
    const text = await boundedText(response, longest);
    return { status: response.status, body: response.ok && text !== undefined ? parseJson(text) : undefined };
  } catch (error) {
    // The command that prints none would run again for each page.
    if (error instanceof ProviderFailure) throw error;
    return { status: 0, body: undefined };
  }
}

/** A closed port costs no request. */
async function listens(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch {
    return false;
  }
}

export interface WindowOptions {
  readonly entry: ProviderEntry;
  readonly model: string;
  readonly apiKey?: string | undefined;
  readonly fetch: Fetch;
  readonly signal?: AbortSignal;
  /** Longest wait for one answer, 3,000 ms when absent. */
  readonly timeoutMs?: number;
}

/** Tokens that a server really accepts, and the source of the number. */
export interface WindowFound {
  readonly tokens: number;
  readonly source: "declared" | "models" | "props" | "ollama";
}

/**
 * The context window of a model: the declared one, else the one that the server reports. A server's own pages
 * (llama.cpp `/props`, Ollama `/api`) are asked only on this machine or in its network.
 *
 * Contract: never rejects; undefined when the window is not known.
 */
export async function discoverWindow(options: WindowOptions): Promise<WindowFound | undefined> {
  const { entry, model, signal, timeoutMs = 3_000 } = options;
  const declared = entry.context_window ?? 0;
  if (declared > 0) return { tokens: declared, source: "declared" };
  try {
    const base = new URL(entry.base_url);
    const { fetch, apiKey } = await connect(entry, options);
    const headers = { ...entry.headers, ...(apiKey ? { authorization: `Bearer ${apiKey}` } : {}) };
    const ask = async (url: string, body?: unknown) => {
      const limit = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]);
      return (await askPage(fetch, url, { signal: limit, body, headers, longest: LONGEST_PAGE })).body;
    };
    const listed = readModelList(await ask(`${entry.base_url.replace(/\/+$/, "")}/models`)) ?? [];
    const mine = listed.find(({ id }) => id === model) ?? (listed.length === 1 ? listed[0] : undefined);
    if (mine?.window !== undefined) return { tokens: mine.window, source: "models" };
    if (!isNear(entry.base_url)) return undefined;
    const props = readProps(await ask(`${base.origin}/props`)).window;
    if (props !== undefined) return { tokens: props, source: "props" };
    // Ollama cuts silently at the size that the model was loaded with, which may be below its own.
    const ollama = readLoadedWindow(await ask(`${base.origin}/api/ps`), model) ??
      readShown(await ask(`${base.origin}/api/show`, { model })).window;
    return ollama === undefined ? undefined : { tokens: ollama, source: "ollama" };
  } catch {
    return undefined;
  }
}

/** This machine, or a private network. */
function isNear(url: string): boolean {
  const host = URL.parse(url)?.hostname ?? "";
  return host !== "" &&
    (!/[.:]/.test(host) || /\.(?:local|lan|internal|home\.arpa)$/.test(host) ||
      /^(?:127|10)\.|^192\.168\.|^172\.(?:1[6-9]|2\d|3[01])\.|^\[(?:f[cd]|::1\]$)/.test(host));
}

type Json = Readonly<Record<string, unknown>>;

/** Fields of model lists (vLLM, OpenRouter, Groq, LM Studio, Mistral and others), the surest first. */
const LIST_FIELDS = [
  "max_model_len",
  "loaded_context_length",
  "context_window",
  "context_length",
  "max_context_length",
  "max_input_tokens",
];

export interface ServedModel {
  readonly id: string;
  /** Tokens. */
  readonly window?: number | undefined;
  readonly vision?: boolean | undefined;
  readonly tools?: boolean | undefined;
  /** False for models that only embed or rank texts. */
  readonly chat?: boolean | undefined;
}

/** The models of `GET …/models` or of LM Studio's `/api/v0/models`; undefined when it is no such list. */
export function readModelList(body: unknown): readonly ServedModel[] | undefined {
  const list = Array.isArray(body) ? body : recordOf(body).data ?? recordOf(body).models;
  if (!Array.isArray(list)) return undefined;
  return list.map(recordOf).flatMap((row): ServedModel[] => {
    const id = [row.id, row.name, row.model].find((each) => typeof each === "string" && each !== "");
    if (typeof id !== "string") return [];
    const { type } = row;
    const abilities = listIn(row.capabilities);
    return [defined({
      id,
      window: windowOf(row),
      vision: type === "vlm" ? true : type === "llm" ? false : undefined,
      chat: type === "embeddings" || type === "embedding" ? false : undefined,
      tools: abilities && (abilities.includes("tool_use") || abilities.includes("tools")),
    })];
  });
}

function windowOf(row: Json): number | undefined {
  const tables = [row, recordOf(row.top_provider), recordOf(row.limits)];
  return LIST_FIELDS.flatMap((field) => tables.map((table) => positive(table[field])))
    .find((tokens) => tokens !== undefined);
}

/**
 * llama.cpp's `/props`: the window that one slot was started with (the model's training length says nothing
 * about that), and what the loaded model can do.
 */
export function readProps(body: unknown): ModelDetails {
  const props = recordOf(body);
  const { vision } = recordOf(props.modalities);
  const { supports_tools: tools } = recordOf(props.chat_template_caps);
  return {
    window: positive(recordOf(props.default_generation_settings).n_ctx) ?? positive(props.n_ctx),
    vision: typeof vision === "boolean" ? vision : undefined,
    tools: typeof tools === "boolean" ? tools : undefined,
  };
}

/** Ollama's `/api/ps`: the window that a model was loaded with; undefined when it is not loaded. */
function readLoadedWindow(body: unknown, model: string): number | undefined {
  const running = listIn(recordOf(body).models) ?? [];
  const mine = running.map(recordOf).find((row) => [row.name, row.model].includes(model));
  return positive(mine?.context_length);
}

/** Ollama's `/api/show`: the window that is set for a model or that it was made for, and what it can do. */
function readShown(body: unknown): ModelDetails {
  const shown = recordOf(body);
  const set = /^num_ctx\s+(\d+)/m.exec(typeof shown.parameters === "string" ? shown.parameters : "");
  const length = Object.entries(recordOf(shown.model_info)).find(([key]) => key.endsWith(".context_length"));
  const abilities = listIn(shown.capabilities);
  return {
    window: set ? positive(Number(set[1])) : positive(length?.[1]),
    vision: abilities?.includes("vision"),
    tools: abilities?.includes("tools"),
    chat: abilities && (abilities.includes("completion") || abilities.length === 0),
  };
}

function listIn(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

function positive(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.floor(value) : undefined;
}
