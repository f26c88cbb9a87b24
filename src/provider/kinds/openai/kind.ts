import { ReasonixError } from "../../../core/mod.ts";
import type { Endpoint } from "../../failure.ts";
import type { KindOptions, ProviderKind } from "../../kind.ts";
import type { ModelRequest, Provider } from "../../provider.ts";
import { withRetry } from "../../retry.ts";
import { RequestWriter } from "./request.ts";
import { streamReply } from "./stream.ts";

/** A reply that comes from no server. The runtime makes its HTTP client for it as for any other. */
const NOWHERE = `data:text/event-stream,${
  encodeURIComponent(
    'data: {"choices":[{"index":0,"delta":{"content":"."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
  )
}`;

/** Chat completions, as spoken by OpenAI and everybody who is compatible with it. */
export const openai: ProviderKind = {
  create: createOpenAi,
  models: async (options, signal) => {
    const { listModels } = await import("./models.ts");
    return await listModels({
      url: endpointUrl(options.entry, "/models"),
      headers: requestHeaders(options),
      endpoint: endpointOf(options),
      fetch: options.deps.fetch,
    }, signal);
  },
};

function createOpenAi(options: KindOptions): Provider {
  const { entry, model, deps, effort } = options;
  const url = endpointUrl(entry, "/chat/completions");
  const endpoint = endpointOf(options);
  const headers = requestHeaders(options);
  const writer = new RequestWriter({ entry, model, ...(effort === undefined ? {} : { effort }) });
  const policy = { maxAttempts: entry.max_attempts, maxWaitMs: entry.max_wait_seconds * 1000 };
  const streamTo = (target: string) => (request: ModelRequest, signal: AbortSignal) => {
    const attempt = () => {
      const body = writer.body(request);
      const reply = {
        endpoint,
        thinkTags: entry.compat.think_tags,
        ...(entry.compat.text_calls ? { textCalls: toolNames(request) } : {}),
        callIds: writer.callIds(request),
        callIdPrefix: `call_${request.messages.length}`,
        ...(request.onCall ? { onCall: request.onCall } : {}),
      };
      const firstByteMs = entry.first_byte_timeout_seconds * 1000;
      const idleMs = entry.idle_timeout_seconds * 1000;
      return streamReply({ url: target, headers, body, reply, firstByteMs, idleMs }, deps, signal);
    };
    return withRetry(attempt, policy, deps, signal);
  };
  return { name: entry.name, model, stream: streamTo(url), rehearse: streamTo(NOWHERE) };
}

function toolNames({ prefix, toolChoice }: ModelRequest): ReadonlySet<string> {
  return new Set(toolChoice === "none" ? [] : prefix.tools.map(({ name }) => name));
}

function parseBase(entry: KindOptions["entry"]): URL {
  const base = URL.canParse(entry.base_url) ? new URL(entry.base_url) : undefined;
  if (base?.protocol === "http:" || base?.protocol === "https:") return base;
  throw new ReasonixError(
    `Provider "${entry.name}" has no usable base_url: ${JSON.stringify(entry.base_url)}`,
    {
      exit: "config",
      remedy: 'set base_url to an address such as "https://api.example.com/v1"',
    },
  );
}

/**
 * Keeps the query of the base URL, which some gateways need; a base URL may already name the completion path.
 */
function endpointUrl(entry: KindOptions["entry"], path: string): string {
  const url = parseBase(entry);
  url.pathname = url.pathname.replace(/\/+$/, "").replace(/\/chat\/completions$/, "") + path;
  url.hash = "";
  return url.href;
}

function endpointOf({ entry, model, apiKey }: KindOptions): Endpoint {
  const secrets = [apiKey ?? "", ...Object.values(entry.headers)].filter((text) => text.length >= 6);
  return {
    provider: entry.name,
    host: parseBase(entry).host,
    model: model.id,
    keyName: entry.api_key_env,
    keyed: apiKey !== undefined && apiKey !== "",
    secrets,
  };
}

function requestHeaders({ entry, apiKey, version }: KindOptions): Record<string, string> {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "accept": "text/event-stream, application/json",
    "user-agent": `reasonix/${version}`,
  };
  if (apiKey) headers["authorization"] = `Bearer ${apiKey}`;
  for (const [name, value] of Object.entries(entry.headers)) headers[name.toLowerCase()] = value;
  return headers;
}
