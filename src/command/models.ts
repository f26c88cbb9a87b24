import type { ArgumentValue, Choice, CommandHost } from "./command.ts";
import type { Assembly } from "../run/mod.ts";
import {
  effortLevels,
  keyNamesOf,
  type LoadedConfig,
  lookUpSecret,
  modelsOf,
  namedVendorEntry,
  parseProvider,
  type ProviderEntry,
  type ProviderTable,
  resolveKey,
  resolveModel,
  saveProvider,
  userConfigFile,
  vendorEntry,
  VENDORS,
  withModelSettings,
} from "../config/mod.ts";
import { continueSession } from "./asking.ts";
import { errorMessage, ReasonixError } from "../core/mod.ts";
import { loadTexts, type Texts } from "../i18n/mod.ts";
import { checkProvider, effortsOf, modelInfo } from "../provider/mod.ts";
import { defined } from "../util/json.ts";
import { oneLine } from "../util/terminal_text.ts";
import { VERSION } from "../util/version.ts";
import { grouped } from "../view/mod.ts";

/** A model of a provider that the files may not have yet. */
export interface OfferedModel {
  readonly name: string;
  /** The provider with this model, where the configuration does not have both. */
  readonly provider?: ProviderEntry;
}

type Picked = OfferedModel | { readonly list: ProviderEntry };

const LIMIT_MS = 15_000;

/** Every model that is known without asking: the configured ones, then those of vendors with a key. */
export function knownModels(loaded: LoadedConfig): readonly OfferedModel[] {
  return [
    ...loaded.config.providers.flatMap((entry) =>
      modelsOf(entry).map((model) => ({ name: `${entry.name}/${model}` }))
    ),
    ...vendorsWithKey(loaded).flatMap((provider) =>
      modelsOf(provider).map((model) => ({ name: `${provider.name}/${model}`, provider }))
    ),
  ];
}

/** Values that can follow `/model`. */
export async function modelValues(
  loaded: LoadedConfig,
  current: string,
  texts: Texts["setting_commands"],
): Promise<readonly ArgumentValue[]> {
  return await Promise.all(
    knownModels(loaded).map(async (offered) => ({
      value: offered.name,
      ...await detailOf(offered, { loaded, current, texts }),
    })),
  );
}

/** A model of a vendor that no file names, as `openrouter/…`; undefined when none is meant. */
function vendorModel({ config, keys }: LoadedConfig, reference: string): OfferedModel | undefined {
  const entry = namedVendorEntry(reference, (name) => lookUpSecret(name, keys) !== undefined);
  if (!entry || !reference.includes("/") || config.providers.some(({ name }) => name === entry.name)) {
    return undefined;
  }
  return { name: reference, provider: parseProvider(entry) };
}

/** The model that a reference such as `provider/model` means. Throws ReasonixError for an unknown one. */
export function namedModel(reference: string, loaded: LoadedConfig): OfferedModel {
  const offered = knownModels(loaded).find(({ name, provider }) => provider && name === reference) ??
    vendorModel(loaded, reference);
  if (offered) return offered;
  const { entry, model } = resolveModel(loaded.config, reference);
  return { name: `${entry.name}/${model}` };
}

/** The effort levels that can be typed; a level that the model lacks becomes its nearest one. */
export function effortLevelsOf({ loaded, provider: { model } }: Assembly): readonly string[] {
  const entry = loaded.config.providers.find(({ name }) => name === model.provider);
  return effortLevels(entry && withModelSettings(entry, model.id).efforts);
}

/** The effort levels that the model has, where that is known. */
export function offeredEfforts(assembly: Assembly): readonly string[] {
  const { reasoning } = assembly.provider.model;
  const levels = reasoning ? effortsOf(reasoning) : [];
  return levels.length > 0 ? levels : effortLevelsOf(assembly);
}

/** Continues the session with another model or effort; an empty effort is the one that the vendor chooses. */
export async function continueWith(
  host: CommandHost,
  { model, effort }: { readonly model?: string; readonly effort?: string },
): Promise<void> {
  const { loaded } = await host.session();
  const { name, provider } = model === undefined ? {} : namedModel(model, loaded);
  await continueSession(host, defined({ model: name, offered: provider, effort }));
}

/** Vendors whose key there is, and that no file names. */
export function vendorsWithKey({ config, keys }: LoadedConfig): ProviderEntry[] {
  const named = new Set(config.providers.map(({ name }) => name));
  const hasKey = (name: string) => lookUpSecret(name, keys) !== undefined;
  return VENDORS.filter(({ name }) => !named.has(name))
    .filter((vendor) => keyNamesOf(vendor).some(hasKey))
    .map((vendor) => parseProvider(vendorEntry(vendor, hasKey)));
}

/** Lets the user choose a model; providers list theirs only on request. */
export async function chooseModel(
  host: CommandHost,
  current: string,
  signal: AbortSignal | undefined,
): Promise<OfferedModel | undefined> {
  const texts = await loadTexts("setting_commands", host.locale);
  const { loaded } = await host.session();
  const known = knownModels(loaded);
  const providers = [...loaded.config.providers.filter(hasList), ...vendorsWithKey(loaded)];
  const picked = await host.choose<Picked>(texts.whichModel, [
    ...await Promise.all(known.map(async (offered) => ({
      label: offered.name,
      value: offered,
      ...await detailOf(offered, { loaded, current, texts }),
    }))),
    ...providers.map((entry) => ({ label: texts.listModels(entry.name), value: { list: entry } })),
  ], { filter: true, current: Math.max(0, known.findIndex(({ name }) => name === current)) });
  if (!picked || "name" in picked) return picked;
  return await chooseListed(host, picked.list, { known, texts, signal });
}

function hasList({ kind }: ProviderEntry): boolean {
  return kind !== "replay";
}

interface DetailParts {
  readonly loaded: LoadedConfig;
  readonly current: string;
  readonly texts: Texts["setting_commands"];
}

async function detailOf(
  { name, provider }: OfferedModel,
  { loaded, current, texts }: DetailParts,
): Promise<{ detail?: string }> {
  const known = await factsText(name, { loaded, provider, texts });
  const parts = [
    ...(name === current ? [texts.current] : provider ? [texts.keyFound(provider.api_key_env)] : []),
    ...known,
  ];
  return parts.length === 0 ? {} : { detail: parts.join(texts.comma) };
}

/** The window and the price of a model, as far as they are known. */
async function factsText(
  name: string,
  { loaded, provider, texts }: Pick<DetailParts, "loaded" | "texts"> & {
    readonly provider: ProviderEntry | undefined;
  },
): Promise<readonly string[]> {
  const owner = provider ?? loaded.config.providers.find((entry) => name.startsWith(`${entry.name}/`));
  if (!owner) return [];
  const model = name.slice(owner.name.length + 1);
  const { contextWindow, price } = await modelInfo({ entry: owner, model, home: loaded.home });
  return [
    ...(contextWindow ? [texts.window(grouped(contextWindow))] : []),
    ...(price ? [texts.price(`${price.input}/${price.output} ${price.currency}`, price.date ?? "")] : []),
  ];
}

interface ListingParts {
  readonly known: readonly OfferedModel[];
  readonly texts: Texts["setting_commands"];
  readonly signal: AbortSignal | undefined;
}

async function chooseListed(
  host: CommandHost,
  entry: ProviderEntry,
  { known, texts, signal }: ListingParts,
): Promise<OfferedModel | undefined> {
  const models = await listOf(entry, (await host.session()).loaded, { texts, signal });
  const choices = models.map((model): Choice<OfferedModel> => {
    const name = `${entry.name}/${model}`;
    const same = known.find((offered) => offered.name === name);
    return { label: oneLine(model, 200), value: same ?? { name, provider: withModel(entry, model) } };
  });
  return await host.choose(texts.whichListed(entry.name, models.length), choices, { filter: true });
}

async function listOf(
  entry: ProviderEntry,
  loaded: LoadedConfig,
  { texts, signal }: Pick<ListingParts, "texts" | "signal">,
): Promise<readonly string[]> {
  const apiKey = resolveKey(entry, loaded.keys);
  const limit = AbortSignal.timeout(LIMIT_MS);
  const { models, failure } = await checkProvider(
    { entry, version: VERSION, ...(apiKey === undefined ? {} : { apiKey }) },
    signal ? AbortSignal.any([signal, limit]) : limit,
  ).catch((error) => ({ models: undefined, failure: { message: errorMessage(error) } }));
  signal?.throwIfAborted();
  if (models !== undefined && models.length > 0) return [...models].sort();
  throw new ReasonixError(texts.noModelList(entry.name, failure?.message ?? texts.emptyList), {
    exit: "provider",
    remedy: texts.writeModel(entry.name),
  });
}

/** The provider with one model more, by which its default one does not change. */
function withModel({ model: _, ...entry }: ProviderEntry, model: string): ProviderEntry {
  const models = modelsOf({ ...entry, ..._ === undefined ? {} : { model: _ } });
  return { ...entry, models: [...new Set([...models, model])], default: models[0] ?? model };
}

/** Saves a provider that the configuration has not, or not with this model; returns the file. */
export async function saveOffered(host: CommandHost, provider: ProviderEntry): Promise<string> {
  const { loaded, paths } = await host.session();
  const file = userConfigFile(paths);
  const written = loaded.layers.flatMap(({ table }) => Array.isArray(table.providers) ? table.providers : [])
    .find((each): each is ProviderTable => each?.name === provider.name);
  const vendor = VENDORS.find(({ name }) => name === provider.name);
  const { model: _, ...table } = written ?? (vendor ? vendorEntry(vendor) : { name: provider.name });
  const entry = { ...table, name: provider.name, models: provider.models ?? [], default: provider.default };
  await saveProvider(file, entry as ProviderTable, { isDefault: false });
  return file;
}
