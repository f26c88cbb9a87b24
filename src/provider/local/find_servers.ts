import { LOCAL_VENDORS, type LocalVendor, parseProvider, type ProviderTable } from "../../config/mod.ts";
import { parseJson } from "../../util/json.ts";
import { type Fetch, programFetch } from "../../util/network/fetch.ts";
import { connect } from "../network/connection.ts";
import { boundedText } from "../wire/whole/bounded_text.ts";
import { readLoadedWindow, readModelList, readProps, readShown, type ServedModel } from "./pages.ts";

/** One that answers now. */
export interface LocalServer extends LocalVendor {
  readonly baseUrl: string;
  /** Models to talk to, as far as it lists them. */
  readonly models: readonly ServedModel[];
}

const LIMIT_MS = 300;
const LONGEST_PAGE = 2 * 1024 * 1024;
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

/** What servers tell on pages of their own, beside the list that all have. */
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
      const text = await boundedText(response, LONGEST_PAGE);
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
