import { message } from "../../core/mod.ts";
import {
  type Endpoint,
  errorOf,
  protocolFailure,
  type Reported,
  reportedFailure,
  requestFailure,
} from "../errors.ts";
import type { ProviderDeps } from "../kind.ts";
import { isRecord, parseJson } from "../../util/json.ts";

const LONGEST_WAIT_MS = 15_000;
const MOST_PAGES = 50;

export interface ModelQuery {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly endpoint: Endpoint;
  readonly fetch: ProviderDeps["fetch"];
  /** The paging of a list: the size of a page, and the parameter of the next one. */
  readonly pages?: { readonly size: readonly [name: string, value: string]; readonly next: string };
  /** The identifier of a model of the list; undefined for one that is of no use here. */
  readonly name?: (model: Readonly<Record<string, unknown>>) => string | undefined;
  /** Reads more out of a refusal than its status and words say. */
  readonly reported?: (reported: Reported) => Reported;
}

/** Identifiers of the models the endpoint offers, in its order. Rejects with a ReasonixError. */
export async function listModels(query: ModelQuery, signal?: AbortSignal): Promise<readonly string[]> {
  try {
    return await ask(
      query,
      AbortSignal.any([AbortSignal.timeout(LONGEST_WAIT_MS), ...(signal ? [signal] : [])]),
    );
  } catch (error) {
    throw errorOf(requestFailure(error, query.endpoint));
  }
}

async function ask(query: ModelQuery, signal: AbortSignal): Promise<readonly string[]> {
  const url = new URL(query.url);
  if (query.pages) url.searchParams.set(...query.pages.size);
  const names: string[] = [];
  for (let page = 0; page < MOST_PAGES; page++) {
    const { models, last } = await askPage(query, url, signal);
    names.push(...models);
    if (query.pages === undefined || last === undefined) break;
    url.searchParams.set(query.pages.next, last);
  }
  return names;
}

/** One page of a list; `last` is where the next one goes on, if there is one. */
async function askPage(
  { headers, endpoint, fetch, name = nameOf, reported = (as) => as }: ModelQuery,
  url: URL,
  signal: AbortSignal,
): Promise<{ readonly models: readonly string[]; readonly last?: string }> {
  const response = await fetch(url, { headers: { ...headers, accept: "application/json" }, signal });
  const text = await response.text();
  if (!response.ok) throw reportedFailure(reported({ status: response.status, text }), endpoint);
  const body = parseJson(text);
  const fields = isRecord(body) ? body : { data: body };
  const { data, models, has_more: more, last_id: lastId, nextPageToken: token } = fields;
  const last = more === true ? lastId : token;
  const list = data ?? models;
  if (!Array.isArray(list)) {
    throw protocolFailure(message`did not answer with a list of models; check base_url`, endpoint);
  }
  return {
    models: list.filter(isRecord).map(name).filter(isString),
    ...(isString(last) && last !== "" ? { last } : {}),
  };
}

function nameOf({ id, name }: Readonly<Record<string, unknown>>): string | undefined {
  const known = id ?? name;
  return isString(known) ? known : undefined;
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}
