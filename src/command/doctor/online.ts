import {
  type LoadedConfig,
  modelsOf,
  type ProviderEntry,
  resolveKey,
  withModelSettings,
} from "../../config/mod.ts";
import { errorMessage } from "../../core/mod.ts";
import type { Texts } from "../../i18n/mod.ts";
import { checkProvider, loadWindow } from "../../provider/mod.ts";
import { type Fetch, programFetch } from "../../util/network/fetch.ts";
import { VERSION } from "../../util/version.ts";

const LIMIT_MS = 15_000;

/** What a provider said when it was asked, in a few words, and what is wrong with it. */
export interface OnlineFinding {
  readonly summary: string;
  readonly problems: readonly string[];
}

/** Asks a provider for its models (a model for a word where there is no list) and compares with its entry. */
export async function askProvider(
  entry: ProviderEntry,
  loaded: LoadedConfig,
  texts: Texts["doctor"],
): Promise<OnlineFinding> {
  try {
    return await ask(entry, resolveKey(entry, loaded.keys), texts);
  } catch (error) {
    return { summary: texts.notAsked, problems: [`${entry.name}: ${errorMessage(error)}`] };
  }
}

async function ask(
  entry: ProviderEntry,
  apiKey: string | undefined,
  texts: Texts["doctor"],
): Promise<OnlineFinding> {
  const fetch = fetchOnce();
  const [model] = modelsOf(entry);
  const key = apiKey === undefined ? {} : { apiKey };
  const { models, failure } = await checkProvider(
    { entry, version: VERSION, deps: { fetch }, ...key, ...(model === undefined ? {} : { model }) },
    AbortSignal.timeout(LIMIT_MS),
  );
  if (failure) {
    const summary = failure.reached ? texts.refused : texts.notReachable;
    return { summary, problems: [failure.message] };
  }
  const problems = await windowProblem(entry, { fetch, apiKey, texts });
  if (models === undefined) {
    const summary = model === undefined ? texts.itAnswersWithoutList : texts.answersWithoutList(model);
    return { summary, problems };
  }
  const missing = modelsOf(entry).filter((name) => !isListed(name, models));
  if (models.length > 0 && missing.length > 0) {
    const shown = models.slice(0, LONGEST_LIST);
    const more = models.length - shown.length;
    problems.push(texts.notListed(entry.name, missing.join(", "), shown.join(", "), more));
  }
  return { summary: texts.reachable(models.length), problems };
}

/** Some lists add a default tag, others a directory. */
function isListed(name: string, models: readonly string[]): boolean {
  return models.some((listed) =>
    listed === name || listed === `${name}:latest` || listed === `models/${name}`
  );
}

const LONGEST_LIST = 8;

/**
 * A server of one's own usually starts with a small window, and then drops the beginning of what it is sent.
 */
async function windowProblem(
  entry: ProviderEntry,
  { fetch, apiKey, texts }: {
    readonly fetch: Fetch;
    readonly apiKey: string | undefined;
    readonly texts: Texts["doctor"];
  },
): Promise<string[]> {
  const [model] = modelsOf(entry);
  const { context_window: declared = 0 } = model === undefined ? entry : withModelSettings(entry, model);
  if (model === undefined || declared === 0) return [];
  const { discoverWindow } = await loadWindow();
  const found = await discoverWindow({
    entry: { ...entry, context_window: 0 },
    model,
    fetch,
    ...(apiKey === undefined ? {} : { apiKey }),
  });
  if (found === undefined || found.tokens >= declared) return [];
  return [texts.smallWindow(entry.name, model, found.tokens, declared)];
}

/** Returns a fetch that asks every address once: a second GET is answered from memory. */
function fetchOnce(): Fetch {
  const answers = new Map<string, Promise<{ text: string; status: number; headers: Headers }>>();
  return async (url, init) => {
    if ((init?.method ?? "GET") !== "GET") return await programFetch(url, init);
    const address = new URL(url).href;
    const answer = answers.get(address) ?? programFetch(url, init).then(async (response) => ({
      text: await response.text(),
      status: response.status,
      headers: response.headers,
    }));
    answers.set(address, answer);
    const { text, status, headers } = await answer;
    return new Response(text === "" ? null : text, { status, headers });
  };
}
