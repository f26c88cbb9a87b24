import { message } from "../../core/mod.ts";
import {
  type Endpoint,
  errorOf,
  protocolFailure,
  type Reported,
  reportedFailure,
  requestFailure,
} from "../errors.ts";
import type { KindOptions, ProviderDeps } from "../kind.ts";
import { endpointOf, requestHeaders } from "./endpoint.ts";
import type { Fields } from "./message_parts.ts";
import { isRecord, parseJson } from "../../util/json.ts";

const LIST_MS = 15_000;
const COUNT_MS = 30_000;
const MOST_PAGES = 50;

interface Query {
  readonly url: string | URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly endpoint: Endpoint;
  readonly fetch: ProviderDeps["fetch"];
  /** Reads more out of a refusal than its status and words say. */
  readonly reported?: (reported: Reported) => Reported;
}

interface ModelQuery extends Pick<Query, "headers" | "reported"> {
  readonly url: string;
  /** The paging of a list: the size of a page, and the parameter of the next one. */
  readonly pages?: { readonly size: readonly [name: string, value: string]; readonly next: string };
  /** The identifier of a model of the list; undefined for one that is of no use here. */
  readonly name?: (model: Fields) => string | undefined;
}

/** Identifiers of the models the endpoint offers, in its order. Rejects with a ReasonixError. */
export async function listModels(
  options: KindOptions,
  { headers, pages, name = nameOf, ...query }: ModelQuery,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const endpoint = endpointOf(options);
  const limit = AbortSignal.any([AbortSignal.timeout(LIST_MS), ...(signal ? [signal] : [])]);
  const server = { ...query, headers: requestHeaders(options, headers), endpoint, fetch: options.deps.fetch };
  return await orError(endpoint, async () => {
    const url = new URL(query.url);
    if (pages) url.searchParams.set(...pages.size);
    const names: string[] = [];
    for (let page = 0; page < MOST_PAGES; page++) {
      const body = await ask({ ...server, url }, { signal: limit });
      const fields = isRecord(body) ? body : { data: body };
      const list = fields.data ?? fields.models;
      if (!Array.isArray(list)) {
        throw protocolFailure(message`did not answer with a list of models; check base_url`, endpoint);
      }
      names.push(...list.filter(isRecord).map(name).filter(isString));
      const next = fields.has_more === true ? fields.last_id : fields.nextPageToken;
      if (pages === undefined || !isString(next) || next === "") break;
      url.searchParams.set(pages.next, next);
    }
    return names;
  });
}

/** Fields of a request that its count depends on; Anthropic's server refuses others. */
const COUNTED = ["model", "system", "tools", "tool_choice", "thinking", "output_config", "messages"];

/** Input tokens of a request with this body, as the server counts them. Rejects with a ReasonixError. */
export async function countTokens(query: Query, body: Uint8Array, signal: AbortSignal): Promise<number> {
  const limit = AbortSignal.any([AbortSignal.timeout(COUNT_MS), signal]);
  return await orError(query.endpoint, async () => {
    const request: Record<string, unknown> = JSON.parse(new TextDecoder().decode(body));
    const counted = Object.fromEntries(Object.entries(request).filter(([name]) => COUNTED.includes(name)));
    const answer = await ask(query, { method: "POST", body: JSON.stringify(counted), signal: limit });
    if (isRecord(answer) && typeof answer.input_tokens === "number") return answer.input_tokens;
    throw protocolFailure(message`did not answer with a count of tokens; check base_url`, query.endpoint);
  });
}

async function ask(
  { url, headers, endpoint, fetch, reported = (as) => as }: Query,
  init: RequestInit,
): Promise<unknown> {
  const response = await fetch(url, { ...init, headers: { ...headers, accept: "application/json" } });
  const text = await response.text();
  if (response.ok) return parseJson(text);
  throw reportedFailure(reported({ status: response.status, text }), endpoint);
}

async function orError<T>(endpoint: Endpoint, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw errorOf(requestFailure(error, endpoint));
  }
}

function nameOf({ id, name }: Fields): string | undefined {
  const known = id ?? name;
  return isString(known) ? known : undefined;
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}
