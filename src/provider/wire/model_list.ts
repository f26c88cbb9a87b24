import { ReasonixError } from "../../core/mod.ts";
import { connectionFailure, protocolFailure, reportedFailure } from "../errors.ts";
import { type Endpoint, ProviderFailure } from "../failure.ts";
import type { ProviderDeps } from "../kind.ts";

const LONGEST_WAIT_MS = 15_000;

export interface ModelQuery {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly endpoint: Endpoint;
  readonly fetch: ProviderDeps["fetch"];
}

/** Identifiers of the models the endpoint offers, in its order. Rejects with a ReasonixError. */
export async function listModels(query: ModelQuery, signal?: AbortSignal): Promise<readonly string[]> {
  try {
    return await ask(
      query,
      AbortSignal.any([AbortSignal.timeout(LONGEST_WAIT_MS), ...(signal ? [signal] : [])]),
    );
  } catch (error) {
    const failure = error instanceof ProviderFailure
      ? error
      : connectionFailure(error, query.endpoint, false);
    throw new ReasonixError(failure.message, { exit: "provider", cause: error });
  }
}

async function ask(
  { url, headers, endpoint, fetch }: ModelQuery,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const response = await fetch(url, { headers: { ...headers, accept: "application/json" }, signal });
  const text = await response.text();
  if (!response.ok) throw reportedFailure({ status: response.status, text }, endpoint);
  try {
    const body = JSON.parse(text) as { data?: unknown; models?: unknown } | unknown[];
    const list = Array.isArray(body) ? body : body.data ?? body.models;
    if (Array.isArray(list)) {
      return list.map((model: { id?: unknown; name?: unknown }) => model.id ?? model.name).filter(isString);
    }
  } catch { /* said below */ }
  throw protocolFailure("did not answer with a list of models; check base_url", endpoint);
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}
