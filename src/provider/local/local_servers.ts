import {
  LOCAL_VENDORS,
  type LocalVendor,
  parseProvider,
  type ProviderEntry,
  type ProviderTable,
} from "../../config/mod.ts";
import { connect } from "../wire/endpoint.ts";
import { boundedText } from "../wire/bounded_text.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import { type Fetch, programFetch } from "../../util/network/fetch.ts";

/** One that answers now. */
export interface LocalServer extends LocalVendor {
  readonly baseUrl: string;
  /** Models to talk to, as far as it lists them. */
  readonly models: readonly ServedModel[];
}

const LIMIT_MS = 300;
const LONGEST_LOCAL_PAGE = 2 * 1024 * 1024;
/** Lists of vendors with many models have a few megabytes. */
const LONGEST_PAGE = 16 * 1024 * 1024;
/** Models that are asked for one by one where the list does not describe them. */
const MOST_SHOWN = 12;

/**
 * Finds model servers on this machine and what they say of their models. Nothing else is asked, no longer
 * than the limit, and no redirect is followed; what has not come by then is left out.
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
  return model && {
    name,
    base_url: baseUrl,
    model: model.id,
    ...(model.window === undefined ? {} : { context_window: model.window }),
    ...(model.vision ? { vision: true } : {}),
  };
}

async function look(server: LocalVendor, signal: AbortSignal): Promise<LocalServer | undefined> {
  if (!await listens(server.port)) return undefined;
  const baseUrl = `http://127.0.0.1:${server.port}/v1`;
  // A proxy of the environment is not asked for it.
  const { fetch } = await connect(parseProvider({ name: server.name, base_url: baseUrl }), {
    fetch: programFetch,
  });
  const pages = new Pages(server.port, fetch, signal);
  const [listed, described] = await Promise.all([pages.ask("/v1/models"), describer(server.name)(pages)]);
  const models = readModelList(listed.body);
  // One that wants a key is there all the same.
  if (models === undefined) return listed.status === 401 ? { ...server, baseUrl, models: [] } : undefined;
  const full = await Promise.all(models.map(async ({ id, ...listed }, index) => ({
    id,
    ...withoutGaps(listed),
    ...withoutGaps(await described(id, index)),
  })));
  return { ...server, baseUrl, models: full.filter(({ chat }) => chat !== false) };
}

/** A page that says nothing of a thing does not take back what another one says. */
function withoutGaps(facts: Omit<ServedModel, "id">): Omit<ServedModel, "id"> {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
}

/** Says more of a model of the list than the list does. */
type Describe = (model: string, index: number) => Promise<Omit<ServedModel, "id">>;

/** Pages of single servers, in addition to the list that all have. */
const DESCRIBERS: Readonly<Record<string, (pages: Pages) => Promise<Describe>>> = {
  async ollama(pages) {
    const { body: running } = await pages.ask("/api/ps");
    return async (model, index) => {
      if (index >= MOST_SHOWN) return {};
      const shown = readShown((await pages.ask("/api/show", { model })).body);
      return { ...shown, window: readLoadedWindow(running, model) ?? shown.window };
    };
  },
  async llamacpp(pages) {
    const props = readProps((await pages.ask("/props")).body);
    return () => Promise.resolve(props);
  },
  async lmstudio(pages) {
    const rows = readModelList((await pages.ask("/api/v0/models")).body) ?? [];
    return (model) => {
      const { id: _, ...facts } = rows.find(({ id }) => id === model) ?? { id: model };
      return Promise.resolve(facts);
    };
  },
};

function describer(name: string): (pages: Pages) => Promise<Describe> {
  return DESCRIBERS[name] ?? (() => Promise.resolve(() => Promise.resolve({})));
}

interface Page {
  readonly status: number;
  /** Parsed JSON of a success; undefined for anything else. */
  readonly body: unknown;
}

/** The pages of one server on this machine. */
class Pages {
  readonly #origin: string;
  readonly #fetch: Fetch;
  readonly #signal: AbortSignal;

  constructor(port: number, fetch: Fetch, signal: AbortSignal) {
    this.#origin = `http://127.0.0.1:${port}`;
    this.#fetch = fetch;
    this.#signal = signal;
  }

  /** Status 0 stands for no answer in time. */
  async ask(path: string, body?: unknown): Promise<Page> {
    try {
      const response = await this.#fetch(`${this.#origin}${path}`, {
        headers: { accept: "application/json", "content-type": "application/json" },
        signal: this.#signal,
        ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      });
      const text = await boundedText(response, LONGEST_LOCAL_PAGE);
      return {
        status: response.status,
        body: response.ok && text !== undefined ? parseJson(text) : undefined,
      };
    } catch {
      return { status: 0, body: undefined };
    }
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

/** Everything in the pages of model servers may be missing or of another form. */

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

/** A model as a server describes it; what it does not say is undefined. */
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
  const list = Array.isArray(body) ? body : record(body).data ?? record(body).models;
  if (!Array.isArray(list)) return undefined;
  return list.map(record).flatMap((row): ServedModel[] => {
    const id = [row.id, row.name, row.model].find((each) => typeof each === "string" && each !== "");
    if (typeof id !== "string") return [];
    const { type } = row;
    const abilities = words(row.capabilities);
    return [{
      id,
      window: windowOf(row),
      ...(type === "vlm" ? { vision: true } : type === "llm" ? { vision: false } : {}),
      ...(type === "embeddings" || type === "embedding" ? { chat: false } : {}),
      ...(abilities ? { tools: abilities.includes("tool_use") || abilities.includes("tools") } : {}),
    }];
  });
}

function windowOf(row: Json): number | undefined {
  const places = [row, record(row.top_provider), record(row.limits)];
  for (const field of LIST_FIELDS) {
    for (const place of places) {
      const tokens = positive(place[field]);
      if (tokens !== undefined) return tokens;
    }
  }
  return undefined;
}

/**
 * llama.cpp's `/props`: the window that one slot was started with (the model's training length says nothing
 * about that), and what the loaded model can do.
 */
export function readProps(body: unknown): Omit<ServedModel, "id"> {
  const props = record(body);
  const { vision } = record(props.modalities);
  const { supports_tools: tools } = record(props.chat_template_caps);
  return {
    window: positive(record(props.default_generation_settings).n_ctx) ?? positive(props.n_ctx),
    ...(typeof vision === "boolean" ? { vision } : {}),
    ...(typeof tools === "boolean" ? { tools } : {}),
  };
}

/** Ollama's `/api/ps`: the window that a model was loaded with; undefined when it is not loaded. */
export function readLoadedWindow(body: unknown, model: string): number | undefined {
  const running = record(body).models;
  if (!Array.isArray(running)) return undefined;
  const mine = running.map(record).find((row) => [row.name, row.model].includes(model));
  return positive(mine?.context_length);
}

/** Ollama's `/api/show`: the window that is set for a model or that it was made for, and what it can do. */
export function readShown(body: unknown): Omit<ServedModel, "id"> {
  const shown = record(body);
  const set = /^num_ctx\s+(\d+)/m.exec(typeof shown.parameters === "string" ? shown.parameters : "");
  const length = Object.entries(record(shown.model_info)).find(([key]) => key.endsWith(".context_length"));
  const abilities = words(shown.capabilities);
  return {
    window: set ? positive(Number(set[1])) : positive(length?.[1]),
    ...(abilities
      ? {
        vision: abilities.includes("vision"),
        tools: abilities.includes("tools"),
        chat: abilities.includes("completion") || abilities.length === 0,
      }
      : {}),
  };
}

function words(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

function record(value: unknown): Json {
  return isRecord(value) ? value : {};
}

function positive(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.floor(value) : undefined;
}
