import { type ProviderEntry, withModelSettings } from "../config/mod.ts";
import { ReasonixError } from "../core/mod.ts";
import type { RecordOptions } from "./cassette/record.ts";
import { type KindOptions, type ProviderDeps, type ProviderKind, systemDeps } from "./kind.ts";
import { PROVIDER_KINDS } from "./kinds.ts";
import { modelInfo } from "./model/model_info.ts";
import type { Provider } from "./provider.ts";
import type { RemoteServers } from "./remote/remote_server.ts";
import { connect } from "./wire/endpoint.ts";
import type { Fetch } from "../util/network/fetch.ts";

export interface CreateOptions {
  readonly entry: ProviderEntry;
  /** Identifier of one of the entry's models. */
  readonly model: string;
  /** Value of the variable named by `api_key_env`. */
  readonly apiKey?: string;
  /** Version of the program, sent as user agent. */
  readonly version: string;
  /** Overrides the effort of the entry. */
  readonly effort?: string;
  /** Reasonix home, where tables of models lie that were fetched. */
  readonly home?: string;
  /** MCP servers that the model's server is to call, where it can. */
  readonly remote?: RemoteServers | undefined;
  /** Values that differ between runs, by name (`workspace`, `home`, …); cassettes hold `{{name}}` instead. */
  readonly values?: Readonly<Record<string, string>>;
  readonly deps?: Partial<ProviderDeps>;
  /** Kinds beside those of the program, by the name that an entry has under `kind`. */
  readonly kinds?: Readonly<Record<string, () => Promise<ProviderKind>>>;
  /** Gets each reply word for word, as far as it has come; where the wire can, it comes in one piece then. */
  readonly onReply?: (body: string) => void;
  /** Writes a cassette of everything the provider says. */
  readonly record?: Omit<RecordOptions, "values" | "clock">;
}

/** Builds the provider for one model of a configured entry. Rejects with a ReasonixError of exit "config". */
export async function createProvider(options: CreateOptions): Promise<Provider> {
  const [kind, resolved] = await Promise.all([loadKind(options), resolve(options)]);
  const { images } = kind;
  const seen = images ? { ...resolved, model: { ...resolved.model, images } } : resolved;
  const kindOptions = options.onReply ? capturing(seen, kind, options.onReply) : seen;
  const plain = await kind.create(kindOptions);
  const provider = kind.hasCalls ? plain : await inToolMode(plain, kindOptions.entry);
  if (options.record === undefined) return provider;
  const { values, deps } = kindOptions;
  return await recordTo(provider, { ...options.record, values, clock: deps.clock });
}

/** Reports the body of each reply whenever more of it has come; where the wire can, replies do not stream. */
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
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(passing), { status, statusText, headers });
  };
  // Servers refuse options of a stream that is none.
  const compat = { ...entry.compat, stream_usage: false };
  const whole = { ...entry, extra: { ...entry.extra, stream: false }, compat };
  return { ...options, entry: streamField ? whole : entry, deps: { ...deps, fetch } };
}

/** Wraps a provider whose model is to call tools in another way than the wire has it. */
async function inToolMode(provider: Provider, { tool_mode, compat }: ProviderEntry): Promise<Provider> {
  const mode = tool_mode ?? "official";
  if (mode === "official" && !compat.text_calls) return provider;
  const { withTextTools } = await import("./tool_modes/text_tools.ts");
  return withTextTools(provider, mode === "official" ? "official with text" : mode);
}

/** Wraps a provider so that a cassette of everything it says is written, line by line as replies end. */
async function recordTo(provider: Provider, options: RecordOptions): Promise<Provider> {
  const { recordProvider } = await import("./cassette/record.ts");
  return await recordProvider(provider, options);
}

/**
 * Identifiers of the models the entry's endpoint offers; empty for kinds without a list. Rejects with a
 * ReasonixError.
 */
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
  const level = model.effort?.level;
  const settled = withModelSettings(entry, options.model);
  // Calls that are text, or none, go through nobody's server.
  const remote = (settled.tool_mode ?? "official") === "official" ? options.remote : undefined;
  return {
    entry: settled,
    model,
    version,
    values: options.values ?? {},
    deps: { ...deps, fetch },
    kind: (name) => loadKind({ ...options, entry: { ...entry, kind: name } }),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(level === undefined ? {} : { effort: level }),
    ...(remote === undefined ? {} : { remote }),
  };
}

async function loadKind({ entry, kinds }: Pick<CreateOptions, "entry" | "kinds">): Promise<ProviderKind> {
  const all = { ...PROVIDER_KINDS, ...kinds };
  const load = Object.hasOwn(all, entry.kind) ? all[entry.kind] : undefined;
  if (load !== undefined) return await load();
  throw new ReasonixError(`Provider "${entry.name}" is of the unknown kind ${JSON.stringify(entry.kind)}`, {
    exit: "config",
    remedy: `set kind to one of ${Object.keys(all).join(", ")}`,
  });
}
