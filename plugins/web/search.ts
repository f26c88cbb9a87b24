/** Search services: an entry each, with exactly the request and the answer of its documented interface. */
import { cleanLine } from "../common/material.ts";
import { PluginError } from "../common/plugin.ts";

export interface SearchHit {
  readonly title: string;
  readonly url: string;
  readonly description: string;
}

export interface SearchSettings {
  readonly service: string;
  /** Base URL of the server, for SearXNG. */
  readonly server?: string | undefined;
  /** Name of the environment variable with the key, and its value. */
  readonly keyVariable?: string | undefined;
  readonly key?: string | undefined;
}

interface SearchRequest {
  readonly url: string;
  readonly method?: "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface SearchReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly bytes: Uint8Array;
}

interface SearchService {
  /** Its name for people. */
  readonly title: string;
  /** The default name of the environment variable with the key; absent: it takes no key. */
  readonly key?: string;
  request(query: string, count: number, key: string, server: string): SearchRequest;
  /** The list of results within an answer. */
  results(answer: Fields): unknown;
  /** The name of the field with the text of a result; the first that is there counts. */
  readonly text: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

const post = (headers: Readonly<Record<string, string>>, body: unknown) => ({
  method: "POST" as const,
  headers: { ...headers, "content-type": "application/json", accept: "application/json" },
  body: JSON.stringify(body),
});

export const SEARCH_SERVICES: Readonly<Record<string, SearchService>> = {
  brave: {
    title: "Brave Search",
    key: "BRAVE_API_KEY",
    request: (query, count, key) => ({
      url: `https://api.search.brave.com/res/v1/web/search?${new URLSearchParams({
        q: query,
        count: `${count}`,
      })}`,
      headers: { accept: "application/json", "x-subscription-token": key },
    }),
    // An answer without results has no `web`.
    results: ({ web, type }) => fields(web).results ?? (type === "search" ? [] : undefined),
    text: ["description"],
  },
  tavily: {
    title: "Tavily",
    key: "TAVILY_API_KEY",
    request: (query, count, key) => ({
      url: "https://api.tavily.com/search",
      ...post({ authorization: `Bearer ${key}` }, { query, max_results: count }),
    }),
    results: ({ results }) => results,
    text: ["content"],
  },
  exa: {
    title: "Exa",
    key: "EXA_API_KEY",
    request: (query, count, key) => ({
      url: "https://api.exa.ai/search",
      ...post({ "x-api-key": key }, { query, numResults: count, contents: { highlights: true } }),
    }),
    results: ({ results }) => results,
    text: ["highlights", "text"],
  },
  searxng: {
    title: "SearXNG",
    request: (query, _count, _key, server) => ({
      url: `${server.replace(/\/+$/, "")}/search?${new URLSearchParams({ q: query, format: "json" })}`,
      headers: { accept: "application/json" },
    }),
    results: ({ results }) => results,
    text: ["content"],
  },
};

/** The default name of the variable with the key of a service. */
export function searchKey(service: unknown): string | undefined {
  return typeof service === "string" ? SEARCH_SERVICES[service]?.key : undefined;
}

const MAX_TITLE = 200;
const MAX_URL = 2000;
const MAX_DESCRIPTION = 500;
const MAX_DETAIL = 200;

/** Asks the service; `send` may reach the configured SearXNG server at any address. */
export async function search(
  { service, server = "", keyVariable, key = "" }: SearchSettings,
  query: string,
  count: number,
  send: (request: SearchRequest) => Promise<SearchReply>,
): Promise<SearchHit[]> {
  const found = SEARCH_SERVICES[service];
  if (!found) throw new PluginError(`There is no search service ${service}`);
  const { title } = found;
  if (found.key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
    const state = key === "" ? "is not set" : "has characters that no key has";
    throw new PluginError(
      `Cannot search with ${title}: the environment variable ${keyVariable} ${state}`,
      `set ${keyVariable} to a key of ${title}`,
    );
  }
  const { status, headers, bytes } = await send(found.request(query, count, key, server));
  const answer = parsed(bytes);
  if (status !== 200) {
    const detail = detailOf(answer);
    const [problem, remedy] = refusal(status, headers["retry-after"], found, keyVariable);
    throw new PluginError(`${title} ${problem} (${status}${detail === "" ? "" : `: ${detail}`})`, remedy);
  }
  const results = found.results(fields(answer));
  if (!Array.isArray(results)) {
    throw new PluginError(`${title} answers with something else than search results`);
  }
  return results.map(fields).filter(({ url }) => typeof url === "string").slice(0, count).map((result) => {
    const text = found.text.map((name) => result[name]).find((value) =>
      value !== undefined && value !== null
    );
    return {
      title: plain(result.title, MAX_TITLE),
      url: cleanLine(String(result.url), MAX_URL),
      description: plain(Array.isArray(text) ? text.join(" … ") : text, MAX_DESCRIPTION),
    };
  });
}

function refusal(
  status: number,
  retryAfter: unknown,
  { title, key }: SearchService,
  keyVariable = "",
): [string, string?] {
  const isKeyless = key === undefined;
  if (status === 401 || status === 403) {
    return isKeyless
      ? ["refuses the request", "its settings.yml must list json under search.formats"]
      : [`refuses the key in ${keyVariable}`, `check the key, or name another variable with key_env`];
  }
  if (status === 402 || status === 432 || status === 433) {
    return ["says that the plan of this key is used up", `see the account at ${title}`];
  }
  if (status === 429) {
    const when = typeof retryAfter === "string" && /^\d{1,6}$/.test(retryAfter)
      ? ` in ${retryAfter} s`
      : " later";
    return ["gets too many requests or its quota is used up", `try again${when}`];
  }
  return [status >= 500 ? "has a failure" : "does not accept the request"];
}

function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? value as Fields : {};
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

/** The first text that an answer gives as its reason. */
function detailOf(answer: unknown): string {
  if (typeof answer === "string") return plain(answer, MAX_DETAIL);
  const { detail, error, message } = fields(answer);
  for (const value of [detail, error, message]) {
    const text = value === undefined ? "" : detailOf(value);
    if (text !== "") return text;
  }
  return "";
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  "#x27": "'",
  "#39": "'",
};

/** One line without the marks of matched words. */
function plain(value: unknown, max: number): string {
  const text = (typeof value === "string" ? value : "")
    .replace(/<\/?(strong|b|em|mark)>/g, "")
    .replace(/&(\w+|#\w+);/g, (found, name: string) => ENTITIES[name] ?? found);
  return cleanLine(text, max);
}
