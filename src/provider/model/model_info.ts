import { EFFORT_LEVELS, type ProviderEntry, vendorAt, VENDORS, withModelSettings } from "../../config/mod.ts";
import { message, type Price, type Rates, ReasonixError } from "../../core/mod.ts";
import type { ModelInfo, ReasoningFacts, ResolvedEffort } from "../provider.ts";
import { defined, isRecord } from "../../util/json.ts";

export interface ModelInfoOptions {
  readonly entry: ProviderEntry;
  readonly model: string;
  readonly effort?: string | undefined;
  /** Reasonix home, which holds fetched tables; absent: only the built-in ones are used. */
  readonly home?: string | undefined;
}

/** Facts of a model from its `model_settings`, the entry or the tables. Rejects as {@linkcode factsOf}. */
export async function modelInfo(
  { entry: whole, model, effort, home }: ModelInfoOptions,
): Promise<ModelInfo> {
  const entry = withModelSettings(whole, model);
  const wanted = effort ?? entry.effort;
  const facts = isDeclared(entry, wanted) ? undefined : await factsOf(entry, model, home);
  const known = entry.price ? declaredPrice(entry.price) : facts?.price;
  const price = known && priceOf(known, entry.cache_ttl, entry.price ? entry.price.date : facts?.date);
  const reasoning = entry.efforts === undefined
    ? facts?.reasoning
    : { ...facts?.reasoning, thinks: entry.efforts.length > 0, levels: entry.efforts };
  return defined({
    provider: entry.name,
    id: model,
    vision: entry.vision ?? facts?.vision ?? false,
    effort: resolveEffort(wanted, reasoning),
    toolMode: entry.tool_mode,
    contextWindow: entry.context_window ?? facts?.window,
    maxOutputTokens: entry.max_output_tokens,
    outputLimit: entry.max_output_tokens ?? facts?.output,
    price,
    reasoning,
  });
}

/** Reports whether the settings make the tables unnecessary. */
function isDeclared(entry: ProviderEntry, effort: string | undefined): boolean {
  const { context_window, max_output_tokens, price, vision, efforts } = entry;
  const thinks = effort === undefined || effort === "" || efforts !== undefined;
  return thinks && [context_window, max_output_tokens, price, vision].every((value) => value !== undefined);
}

type FactsOwner = Pick<ProviderEntry, "name" | "base_url" | "facts">;

export interface FoundFacts extends ModelFacts {
  readonly date: string;
  readonly source: string;
}

/**
 * Returns the facts of a model from the tables that the user fetched (below `home`), else from those of the
 * program. Rejects with a ReasonixError of exit "config" when the entry names a table that does not exist.
 */
export async function factsOf(
  entry: FactsOwner,
  model: string,
  home?: string,
): Promise<FoundFacts | undefined> {
  const table = await tableOf(entry, home);
  return table && findIn(table, model);
}

/** Names of all models in the table that counts for an entry. */
export async function tableModels(entry: FactsOwner, home: string): Promise<readonly string[]> {
  return Object.keys((await tableOf(entry, home))?.models ?? {});
}

async function tableOf(entry: FactsOwner, home: string | undefined): Promise<FactsTable | undefined> {
  const found = vendorAt(entry.base_url);
  const vendor = entry.facts || found?.facts || found?.name;
  const builtIn = vendor !== undefined && Object.hasOwn(FACT_TABLES, vendor)
    ? FACT_TABLES[vendor]
    : undefined;
  const fetched = home === undefined ? undefined : readFetched(`${home}/${FETCHED}`, vendor, entry.base_url);
  const table = fetched ?? (await builtIn?.())?.default;
  if (table === undefined && entry.facts !== "") throw noTable(entry);
  return table;
}

/** Date that vendors append to the name of an unchanged model. */
const DAY = /-(?:\d{8}|\d{4}-\d{2}-\d{2})$/;

function findIn({ date, source, models }: FactsTable, model: string): FoundFacts | undefined {
  const names = [model, model.replace(DAY, "")];
  const name = names.find((each) => Object.hasOwn(models, each));
  const facts = name === undefined ? undefined : models[name];
  return facts && { ...facts, date, source };
}

function noTable({ name, facts }: Pick<ProviderEntry, "name" | "facts">): ReasonixError {
  const known = VENDORS.map((vendor) => vendor.name).filter((vendor) => Object.hasOwn(FACT_TABLES, vendor));
  return new ReasonixError(
    message`Provider "${name}" names facts of "${facts}", of which there is no table`,
    {
      exit: "config",
      remedy: message`set facts to one of ${known}, or to a provider of a list that was fetched`,
    },
  );
}

/** Prices of a million tokens. */
export interface FactRates {
  readonly input: number;
  readonly output: number;
  /** Absent: as `input`. */
  readonly cachedInput?: number | undefined;
  /** Absent: as `input`. */
  readonly cacheWrite?: number | undefined;
  /** The same for a cache that is kept for an hour. */
  readonly cacheWrite1h?: number | undefined;
}

/** Prices, those of long requests included. */
export interface FactPrice extends FactRates {
  /** USD when absent. */
  readonly currency?: string;
  readonly tiers?: readonly (FactRates & { readonly above: number })[] | undefined;
}

export interface ModelFacts {
  readonly window?: number;
  readonly output?: number;
  readonly vision?: boolean;
  readonly tools?: boolean;
  readonly reasoning?: ReasoningFacts;
  readonly price?: FactPrice;
}

interface FactsTable {
  /** `YYYY-MM-DD`. */
  readonly date: string;
  readonly source: string;
  readonly models: Readonly<Record<string, ModelFacts>>;
}

/** Name of the file below the Reasonix home that holds the tables which the user fetched. */
export const FETCHED = "models.jsonl";

type LoadTable = () => Promise<{ readonly default: FactsTable }>;

/** The models of each vendor that is known by name, a file each; loaded when one of its models is used. */
export const FACT_TABLES: Readonly<Record<string, LoadTable>> = {
  anthropic: () => import("./tables/anthropic.json", { with: { type: "json" } }),
  dashscope: () => import("./tables/dashscope.json", { with: { type: "json" } }),
  deepseek: () => import("./tables/deepseek.json", { with: { type: "json" } }),
  google: () => import("./tables/google.json", { with: { type: "json" } }),
  groq: () => import("./tables/groq.json", { with: { type: "json" } }),
  mistral: () => import("./tables/mistral.json", { with: { type: "json" } }),
  moonshot: () => import("./tables/moonshot.json", { with: { type: "json" } }),
  openai: () => import("./tables/openai.json", { with: { type: "json" } }),
  openrouter: () => import("./tables/openrouter.json", { with: { type: "json" } }),
  xai: () => import("./tables/xai.json", { with: { type: "json" } }),
  zhipu: () => import("./tables/zhipu.json", { with: { type: "json" } }),
};

/** The first line of the file of fetched tables; it has the byte offset of each provider's line. */
export interface FetchedHeader {
  readonly date: string;
  readonly source: string;
  readonly tables: Readonly<Record<string, readonly [at: number, length: number]>>;
  readonly hosts: Readonly<Record<string, string>>;
}

/** The fetched table of a vendor or of this address; undefined when there is none or the file is damaged. */
function readFetched(file: string, vendor: string | undefined, url: string): FactsTable | undefined {
  try {
    const bytes = Deno.readFileSync(file);
    const end = bytes.indexOf(10);
    const read = (from: number, to: number) => JSON.parse(new TextDecoder().decode(bytes.subarray(from, to)));
    const { date, source, tables, hosts }: FetchedHeader = read(0, end);
    const name = vendor ?? hosts[URL.parse(url)?.host ?? ""];
    if (name === undefined || !Object.hasOwn(tables, name)) return undefined;
    const [at, length] = tables[name] ?? [0, 0];
    const models = read(end + 1 + at, end + 1 + at + length);
    return isRecord(models) ? { date, source, models: models as FactsTable["models"] } : undefined;
  } catch {
    return undefined;
  }
}

type Declared = NonNullable<ProviderEntry["price"]>;

/** A price of the configuration, as tables have it. */
function declaredPrice({ cache_hit, tiers, currency, ...rates }: Declared): FactPrice {
  return {
    ...declaredRates({ ...rates, cached_input: rates.cached_input ?? cache_hit }),
    currency,
    tiers: tiers?.map(({ above, ...each }) => ({ above, ...declaredRates(each) })),
  };
}

function declaredRates(
  { input, output, cached_input, cache_write }:
    | Omit<Declared, "tiers">
    | Omit<NonNullable<Declared["tiers"]>[number], "above">,
): FactRates {
  return { input, output, cachedInput: cached_input, cacheWrite: cache_write };
}

/** The price of requests with this lifetime of the cache. */
function priceOf(
  { currency = "USD", tiers, ...rates }: FactPrice,
  ttl: ProviderEntry["cache_ttl"],
  date: string | undefined,
): Price {
  const settled = ({ input, output, cachedInput, cacheWrite, cacheWrite1h }: FactRates): Rates =>
    defined({
      input,
      cachedInput: cachedInput ?? input,
      output,
      cacheWrite: ttl === "1h" ? cacheWrite1h ?? cacheWrite : cacheWrite,
    });
  return defined({
    ...settled(rates),
    currency,
    date,
    tiers: tiers?.map(({ above, ...each }) => ({ above, ...settled(each) })),
  });
}

/**
 * Returns the level that a model has for the one that is wanted: that one, else the nearest lower one, else
 * its lowest. Only `none` and `minimal` switch thinking off. Where nothing is known of the model (`facts`
 * absent) the level is taken as it is.
 */
export function resolveEffort(wanted: string | undefined, facts: ReasoningFacts | undefined): ResolvedEffort {
  if (wanted === undefined || wanted === "") return {};
  if (facts === undefined) return { level: wanted };
  if (!facts.thinks) return wanted === "none" ? {} : { fellFrom: wanted };
  const levels = effortsOf(facts);
  if (levels.includes(wanted)) return { level: wanted };
  const level = nearest(wanted, levels);
  return level === undefined ? { fellFrom: wanted } : { level, fellFrom: wanted };
}

/** Every level that a model takes, least first; empty where a request cannot set one. */
export function effortsOf({ thinks, levels = [], budget, toggle }: ReasoningFacts): readonly string[] {
  if (!thinks) return [];
  const off = toggle || budget?.min === 0 ? ["none"] : [];
  if (levels.length > 0) return [...new Set([...off, ...levels])];
  // A number of tokens and a switch serve any level; between "some" and "more" a switch knows no difference.
  if (budget || toggle) return [...off, ...EFFORT_LEVELS.filter((level) => level !== "none")];
  return [];
}

function nearest(wanted: string, levels: readonly string[]): string | undefined {
  const at = levelRank(wanted);
  const known = levels.filter((level) => levelRank(level) >= 0);
  const lower = known.filter((level) => levelRank(level) < at && (level !== "none" || wanted === "minimal"));
  return lower.at(-1) ?? known.find((level) => level !== "none");
}

export function levelRank(level: string): number {
  return EFFORT_LEVELS.findIndex((known) => known === level);
}

/** Tokens to think with at each level, before the bounds of a model. */
const BUDGETS: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 1024,
  low: 4096,
  medium: 10_000,
  high: 24_000,
  xhigh: 48_000,
  max: 64_000,
};

/**
 * Returns the tokens that a level is for a model that takes a number; undefined for a word that is no level.
 * `limit` is what the reply may have in all: a quarter of it stays for the answer.
 */
export function thinkingBudget(
  level: string,
  { min = 0, max = Infinity }: NonNullable<ReasoningFacts["budget"]>,
  limit = Infinity,
): number | undefined {
  const tokens = BUDGETS[level];
  if (tokens === undefined || tokens === 0) return tokens;
  return Math.max(min, Math.min(tokens, max, Math.floor(limit * 0.75)));
}
