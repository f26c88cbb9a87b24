import { type ProviderEntry, withModelSettings } from "../config/mod.ts";
import { message, ReasonixError } from "../core/mod.ts";
import type { RecordOptions } from "./cassette/record.ts";
import { type KindOptions, type ProviderDeps, type ProviderKind, systemDeps } from "./kind.ts";
import { PROVIDER_KINDS } from "./kinds.ts";
import { modelInfo } from "./model/model_info.ts";
import type { Provider } from "./provider.ts";
import type { RemoteServers } from "./remote/remote_server.ts";
import { connect } from "./wire/endpoint.ts";
import { defined } from "../util/json.ts";
import type { Fetch } from "../util/network/fetch.ts";

export interface CreateOptions {
  readonly entry: ProviderEntry;
  readonly model: string;
  readonly apiKey?: string;
  readonly version: string;
  readonly effort?: string;
  /** Reasonix home, which holds the tables of models that the user fetched. */
  readonly home?: string;
  /** MCP servers that the model's server is to call, where it can. */
  readonly remote?: RemoteServers | undefined;
  /** Values that differ between runs, by name (`workspace`, `home`, …); cassettes hold `{{name}}` instead. */
  readonly values?: Readonly<Record<string, string>>;
  readonly deps?: Partial<ProviderDeps>;
  /** Kinds in addition to those of the program, by the value of `kind` in an entry. */
  readonly kinds?: Readonly<Record<string, () => Promise<ProviderKind>>>;
  /** Gets the raw body of each reply as it grows. Replies do not stream then, where the wire allows that. */
  readonly onReply?: (body: string) => void;
  readonly record?: Omit<RecordOptions, "values">;
}

/** Builds the provider for one model of a configured entry. Rejects with a ReasonixError of exit "config". */
export async function createProvider(options: CreateOptions): Promise<Provider> {
  const [kind, resolved] = await Promise.all([loadKind(options), resolve(options)]);
  const { images = resolved.model.images } = kind;
  const seen = { ...resolved, model: defined({ ...resolved.model, images }) };
  const kindOptions = options.onReply ? capturing(seen, kind, options.onReply) : seen;
  const plain = await kind.create(kindOptions);
  const provider = kind.hasCalls ? plain : await inToolMode(plain, kindOptions.entry);
  if (options.record === undefined) return provider;
  const { recordProvider } = await import("./cassette/record.ts");
  return await recordProvider(provider, { ...options.record, values: kindOptions.values });
}

/** Reports the raw body of each reply as it grows, and turns off streaming where the wire allows that. */
function capturing(
  options: KindOptions,
  { streamField }: ProviderKind,
  onReply: (body: string) => void,
): KindOptions {
  const { entry, deps } = options;
  const fetch: Fetch = async (input, init) => {
    const response = await deps.fetch(input, init);
    if (!response.ok || !response.body) return response;
    const decoder = new TextDecoder();
    let body = "";
    const passing = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        body += decoder.decode(chunk, { stream: true });
        onReply(body);
        controller.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(passing), response);
  };
  // Servers refuse options of a stream that is none.
  const compat = { ...entry.compat, stream_usage: false };
  const whole = { ...entry, extra: { ...entry.extra, stream: false }, compat };
  return { ...options, entry: streamField ? whole : entry, deps: { ...deps, fetch } };
}

async function inToolMode(provider: Provider, { tool_mode, compat }: ProviderEntry): Promise<Provider> {
  const mode = tool_mode ?? "official";
  if (mode === "official" && !compat.text_calls) return provider;
  const { withTextTools } = await import("./tool_modes/text_tools.ts");
  return withTextTools(provider, mode === "official" ? "official with text" : mode);
}

/** Models that the endpoint offers; empty for kinds without a list. Rejects with a ReasonixError. */
export async function listModels(
  options: Omit<CreateOptions, "model" | "record">,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const kind = await loadKind(options);
  return await kind.models?.(await resolve({ ...options, model: "" }), signal) ?? [];
}

async function resolve(options: CreateOptions): Promise<KindOptions> {
  const { entry, version } = options;
  const deps = { ...systemDeps, ...options.deps };
  const given = { fetch: deps.fetch, apiKey: options.apiKey, now: () => deps.clock.now() };
  const [{ fetch, apiKey }, model] = await Promise.all([connect(entry, given), modelInfo(options)]);
  const settled = withModelSettings(entry, options.model);
  return defined({
    entry: settled,
    model,
    version,
    values: options.values ?? {},
    deps: { ...deps, fetch },
    kind: (name: string) => loadKind({ ...options, entry: { ...entry, kind: name } }),
    apiKey,
    effort: model.effort?.level,
    // Calls as text do not go through the model's server.
    remote: (settled.tool_mode ?? "official") === "official" ? options.remote : undefined,
  });
}

async function loadKind({ entry, kinds }: Pick<CreateOptions, "entry" | "kinds">): Promise<ProviderKind> {
  const all = { ...PROVIDER_KINDS, ...kinds };
  const load = Object.hasOwn(all, entry.kind) ? all[entry.kind] : undefined;
  if (load !== undefined) return await load();
  throw new ReasonixError(
    message`Provider "${entry.name}" is of the unknown kind ${JSON.stringify(entry.kind)}`,
    {
      exit: "config",
      remedy: message`set kind to one of ${Object.keys(all).join(", ")}`,
    },
  );
}
