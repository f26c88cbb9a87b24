import {
  type Config,
  effortLevels,
  type LoadedConfig,
  type ModelChoice,
  placeOf,
  type ProviderEntry,
  resolveKey,
  resolveModel,
  sourceOf,
} from "../config/mod.ts";
import { localDate } from "../context/mod.ts";
import { message, ReasonixError, textFields, usageError } from "../core/mod.ts";
import { type CreateOptions, createProvider, type Provider } from "../provider/mod.ts";
import { suggestNames } from "../util/suggest.ts";
import { VERSION } from "../util/version.ts";
import type { Warning } from "./access/access_scope.ts";
import type { SystemModel } from "./context/prompt_inputs.ts";
import type { Fallback } from "./fallback.ts";
import type { RemotePlugins } from "./run_features.ts";
import { type AssemblyOptions, PLATFORM } from "./run_options.ts";
import { defined } from "../util/json.ts";

/** The model of a run, and how the configuration names it, unless the options of the run have one. */
export interface RunModel {
  /** With a fallback the one that answers at the moment. */
  readonly provider: Provider;
  readonly choice?: ModelChoice;
  /** Absent: no other model answers when it fails. */
  readonly fallback?: Fallback;
}

/** Builds the session's model; `remote` are the MCP servers that its provider is to speak to. */
export async function buildModel(options: AssemblyOptions, remote?: RemotePlugins): Promise<RunModel> {
  const { config } = options.loaded;
  const model = options.provider ? { provider: options.provider } : await configuredModel(options, remote);
  if (config.agent.max_cost > 0 && !model.provider.model.price) throw unknownPrice(model.provider);
  const chain = await fallbackChain(options.loaded, model);
  if (chain.length === 0) return model;
  const { Fallback } = await import("./fallback.ts");
  const create = (choice: ModelChoice) =>
    createProvider({ ...createOptions(options, choice), remote: remote?.servedBy(choice.entry.name) });
  const fallback = new Fallback({ loaded: options.loaded, first: model.provider, chain, create });
  return { ...model, provider: fallback.provider, fallback };
}

/** The models that answer when the one of the run fails, in order; what names none is an error at once. */
async function fallbackChain(
  loaded: LoadedConfig,
  { provider: { model }, choice }: RunModel,
): Promise<readonly ModelChoice[]> {
  const own = choice?.entry.fallback;
  const references = own ?? loaded.config.agent.fallback;
  const key = own ? `${providerKey(model.provider)}.fallback` : "agent.fallback";
  const chain = new Map<string, ModelChoice>();
  for (const reference of references) {
    const found = await placed(loaded, key, () => namedModel(loaded, reference));
    chain.set(`${found.entry.name}/${found.model}`, found);
  }
  chain.delete(`${model.provider}/${model.id}`);
  return [...chain.values()];
}

/** The model that a reference names; what a project names without being trusted is said to be that. */
export function namedModel({ config, needsTrust }: LoadedConfig, reference: string): ModelChoice {
  const untrusted = needsTrust.filter(({ kind }) => kind === "provider").map(({ name }) => name);
  return resolveModel(config, reference, untrusted);
}

async function configuredModel(
  given: AssemblyOptions,
  remote: RemotePlugins | undefined,
): Promise<RunModel> {
  const { loaded, record } = given;
  const { default_model, agent_model, providers } = loaded.config;
  const named = providers.some(({ name }) => name === default_model);
  const setting = default_model !== "" && default_model === agent_model ? "agent_model" : "default_model";
  const choice = await placed(
    loaded,
    named ? providerKey(default_model) : setting,
    () => namedModel(loaded, ""),
  );
  const { vision_model } = loaded.config;
  if (vision_model !== "") {
    await placed(loaded, "vision_model", () => namedModel(loaded, vision_model));
  }
  checkEffort(given.effort, choice.entry);
  const options = {
    ...createOptions(given, choice),
    remote: remote?.servedBy(choice.entry.name),
    ...(record === undefined ? {} : { record: { file: record } }),
  };
  const provider = await placed(loaded, providerKey(choice.entry.name), () => createProvider(options));
  return { provider, choice };
}

function createOptions(
  { paths, loaded, effort, onReply }: AssemblyOptions,
  { entry, model }: ModelChoice,
): CreateOptions {
  const apiKey = resolveKey(entry, loaded.keys);
  return {
    entry: withAgentSettings(entry, loaded.config.agent),
    model,
    version: VERSION,
    values: {
      workspace: paths.cwd,
      home: paths.home,
      date: localDate(new Date()),
      platform: PLATFORM,
    },
    home: paths.home,
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(effort === undefined ? {} : { effort }),
    ...(onReply ? { onReply } : {}),
  };
}

/** The configured model, as far as it decides about the system prompt. */
export function chosenModel(loaded: LoadedConfig): SystemModel {
  const { entry: { name, tool_mode }, model } = namedModel(loaded, "");
  return { provider: name, id: model, ...(tool_mode === undefined ? {} : { toolMode: tool_mode }) };
}

/** The model that a setting names, as `provider/model`. Throws a ReasonixError with its place. */
export async function settingModel(loaded: LoadedConfig, key: string, reference: string): Promise<string> {
  const { entry, model } = await placed(loaded, key, () => namedModel(loaded, reference));
  return `${entry.name}/${model}`;
}

function providerKey(name: string): string {
  return `providers.${JSON.stringify(name)}`;
}

/** Returns what only shows when a setting is put to use still names the place it was set at. */
async function placed<T>(loaded: LoadedConfig, key: string, use: () => T | Promise<T>): Promise<T> {
  try {
    return await use();
  } catch (error) {
    if (!(error instanceof ReasonixError) || error.exit !== "config" || error.place) throw error;
    const place = placeOf(sourceOf(loaded, error.setting ? `${key}.${error.setting}` : key));
    if (place?.column === undefined) throw error;
    const { texts: { message, remedy }, exit, cause } = error;
    throw new ReasonixError(message, { exit, place, cause, ...defined({ remedy }) });
  }
}

/** Applies the settings of the agent where the entry has none. */
function withAgentSettings(entry: ProviderEntry, agent: Config["agent"]): ProviderEntry {
  return {
    ...entry,
    ...(agent.temperature === undefined ? {} : { temperature: entry.temperature ?? agent.temperature }),
    ...(agent.top_p === undefined ? {} : { top_p: entry.top_p ?? agent.top_p }),
    // The model learns that only one call of a message will be executed.
    ...(agent.max_calls_per_step === 1 ? { compat: { parallel_tool_calls: false, ...entry.compat } } : {}),
  };
}

/** Checks the effort of a flag: a level or a word of the vendor. Files are checked when they are read. */
function checkEffort(effort: string | undefined, { efforts }: ProviderEntry): void {
  const levels = effortLevels(efforts);
  if (effort === undefined || effort === "" || levels.includes(effort)) return;
  const near = suggestNames(effort, levels, 1)[0];
  throw usageError(
    message`Cannot use ${JSON.stringify(effort)} as effort: the levels are ${levels}`,
    near ? message`did you mean "${near}"?` : message`use one of them`,
  );
}

function unknownPrice(provider: Provider): ReasonixError {
  return new ReasonixError(
    message`Cannot limit the cost: the price of ${provider.model.provider}/${provider.model.id} is unknown`,
    {
      exit: "config",
      remedy: message`add price = { input = …, output = … } to its provider entry, or leave --max-cost out`,
    },
  );
}

/** Another configured model, as `--model` names it; `assumed` counts where its entry says nothing. */
export async function providerOf(
  loaded: LoadedConfig,
  reference: string,
  assumed: Pick<ProviderEntry, "vision"> = {},
): Promise<Provider> {
  const { entry, model } = namedModel(loaded, reference);
  const apiKey = resolveKey(entry, loaded.keys);
  return await createProvider({
    entry: { ...assumed, ...entry },
    model,
    version: VERSION,
    values: { workspace: loaded.cwd, home: loaded.home },
    home: loaded.home,
    ...(apiKey === undefined ? {} : { apiKey }),
  });
}

/** Says what of the model's settings, and of what its provider is to speak to, is not as it was wanted. */
export function modelWarnings(provider: Provider, remote: RemotePlugins | undefined): Warning[] {
  const { model } = provider;
  const { id, effort, unsent = [] } = model;
  return [
    ...effort?.fellFrom === undefined ? [] : [effortWarning(id, effort.fellFrom, effort.level)],
    ...unsent.length === 0 ? [] : [textFields(
      unsent.length === 1
        ? message`${unsent} is not sent: ${id} would refuse the request`
        : message`${unsent} are not sent: ${id} would refuse the request`,
    )],
    ...toollessWarning(model),
    ...remote?.warnings(provider) ?? [],
  ];
}

function toollessWarning({ provider, id, toolMode }: Provider["model"]): Warning[] {
  if (toolMode !== "none") return [];
  const name = `${provider}/${id}`;
  return [{
    ...textFields(
      message`${name} has no tools here (tool_mode = "none"): it can only talk, and changes or runs nothing`,
    ),
  }];
}

function effortWarning(id: string, wanted: string, level = ""): Warning {
  return textFields(
    level === ""
      ? message`${id} has no effort levels: the effort "${wanted}" is not sent`
      : message`${id} does not have the effort "${wanted}": "${level}" is used instead`,
  );
}
