import { type LoadedConfig, modelsOf, type ProviderEntry, resolveKey } from "../../../src/config/mod.ts";
import { loadWindow } from "../../../src/context/mod.ts";
import { errorMessage } from "../../../src/core/mod.ts";
import { checkProvider } from "../../../src/provider/mod.ts";
import { VERSION } from "../../../src/util/version.ts";

const LIMIT_MS = 15_000;

/** What a provider said when it was asked, in a few words, and what is wrong with it. */
export interface OnlineFinding {
  readonly summary: string;
  readonly problems: readonly string[];
}

/** Asks a provider for its models (a model for a word where there is no list) and compares with its entry. */
export async function askProvider(entry: ProviderEntry, loaded: LoadedConfig): Promise<OnlineFinding> {
  try {
    return await ask(entry, resolveKey(entry, loaded.keys));
  } catch (error) {
    return { summary: "not asked", problems: [`${entry.name}: ${errorMessage(error)}`] };
  }
}

async function ask(entry: ProviderEntry, apiKey: string | undefined): Promise<OnlineFinding> {
  const fetch = fetchOnce();
  const [model] = modelsOf(entry);
  const key = apiKey === undefined ? {} : { apiKey };
  const { models, failure } = await checkProvider(
    { entry, version: VERSION, deps: { fetch }, ...key, ...(model === undefined ? {} : { model }) },
    AbortSignal.timeout(LIMIT_MS),
  );
  if (failure) {
    const summary = failure.reached ? "reached, but refused" : "NOT reachable";
    return { summary, problems: [failure.message] };
  }
  const problems = await windowProblem(entry, fetch, apiKey);
  if (models === undefined) return { summary: `${model ?? "it"} answers; no list of models`, problems };
  const missing = modelsOf(entry).filter((name) => !isListed(name, models));
  if (models.length > 0 && missing.length > 0) problems.push(notListed(entry, missing, models));
  return { summary: `reachable, ${models.length === 1 ? "1 model" : `${models.length} models`}`, problems };
}

/** Some lists add a default tag, others a directory. */
function isListed(name: string, models: readonly string[]): boolean {
  return models.some((listed) =>
    listed === name || listed === `${name}:latest` || listed === `models/${name}`
  );
}

const LONGEST_LIST = 8;

function notListed({ name }: ProviderEntry, missing: readonly string[], models: readonly string[]): string {
  const more = models.length > LONGEST_LIST ? ` and ${models.length - LONGEST_LIST} more` : "";
  return `${name}: the server does not list ${missing.join(", ")}; ` +
    `choose one of ${models.slice(0, LONGEST_LIST).join(", ")}${more}`;
}

/**
 * A server of one's own usually starts with a small window, and then drops the beginning of what it is sent.
 */
async function windowProblem(
  entry: ProviderEntry,
  fetch: typeof globalThis.fetch,
  apiKey: string | undefined,
): Promise<string[]> {
  const [model] = modelsOf(entry);
  if (model === undefined || entry.context_window === 0) return [];
  const { discoverWindow } = await loadWindow();
  const found = await discoverWindow({
    entry: { ...entry, context_window: 0 },
    model,
    fetch,
    ...(apiKey === undefined ? {} : { apiKey }),
  });
  if (found === undefined || found.tokens >= entry.context_window) return [];
  return [
    `${entry.name}: the server gives ${model} a window of ${found.tokens} tokens, but context_window is ` +
    `${entry.context_window}; set context_window = ${found.tokens}, or have the server give it more`,
  ];
}

/** Returns a fetch that asks every address once: a second GET is answered from memory. */
function fetchOnce(): typeof fetch {
  const answers = new Map<string, Promise<{ text: string; status: number }>>();
  return async (input, init) => {
    if (typeof input !== "string" || (init?.method ?? "GET") !== "GET") return await fetch(input, init);
    const address = new URL(input).href;
    const answer = answers.get(address) ?? fetch(input, init).then(async (response) => ({
      text: await response.text(),
      status: response.status,
    }));
    answers.set(address, answer);
    const { text, status } = await answer;
    return new Response(text === "" ? null : text, { status });
  };
}
