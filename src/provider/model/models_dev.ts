import { message, ReasonixError, usageError } from "../../core/mod.ts";
import { saveFile } from "../../util/atomic_write.ts";
import { defined, isRecord, parseJson, recordOf } from "../../util/json.ts";
import {
  type FactPrice,
  type FactRates,
  FETCHED,
  type FetchedHeader,
  levelRank,
  type ModelFacts,
} from "./model_info.ts";
import type { ReasoningFacts } from "../provider.ts";

type Json = Readonly<Record<string, unknown>>;

interface ListedProvider {
  readonly host?: string;
  readonly models: Readonly<Record<string, ModelFacts>>;
}

/** Vendors with another name at models.dev. */
const NAMES: Readonly<Record<string, string>> = {
  "alibaba-cn": "dashscope",
  moonshotai: "moonshot",
  "siliconflow-cn": "siliconflow",
  xiaomi: "mimo",
  zhipuai: "zhipu",
};

export interface CachedList {
  readonly file: string;
  readonly providers: number;
  readonly models: number;
  readonly skipped: number;
}

/** Saves a list of models as tables below the Reasonix home. Rejects with a ReasonixError. */
export async function keepModelList(
  home: string,
  text: string,
  { date, source }: Pick<FetchedHeader, "date" | "source">,
): Promise<CachedList> {
  const { providers, skipped } = readModelList(text, source);
  const encoder = new TextEncoder();
  const tables: Record<string, [number, number]> = {};
  const hosts: Record<string, string> = {};
  const lines: string[] = [];
  let at = 0;
  for (const [name, { host, models }] of providers) {
    const line = JSON.stringify(models);
    const { length } = encoder.encode(line);
    tables[name] = [at, length];
    if (host !== undefined) hosts[host] ??= name;
    lines.push(line);
    at += length + 1;
  }
  const header: FetchedHeader = { date, source, tables, hosts };
  const file = `${home}/${FETCHED}`;
  await saveFile(file, `${[JSON.stringify(header), ...lines].join("\n")}\n`);
  const counts = [...providers.values()].map(({ models }) => Object.keys(models).length);
  return { file, providers: providers.size, models: counts.reduce((sum, count) => sum + count, 0), skipped };
}

/** Reads a list in the format of `https://models.dev/api.json`: providers by name, each with its models. */
function readModelList(text: string, source: string) {
  const list = parseJson(text);
  if (!isRecord(list)) throw noList(source, "it is not a JSON object");
  const providers = new Map<string, ListedProvider>();
  let skipped = 0;
  for (const [name, provider] of Object.entries(list)) {
    if (!isRecord(provider) || !isRecord(provider.models)) continue;
    const models: Record<string, ModelFacts> = {};
    for (const [id, model] of Object.entries(provider.models)) {
      const facts = isRecord(model) ? readModel(model, name) : undefined;
      if (facts) models[id] = facts;
      else skipped += 1;
    }
    const host = URL.parse(String(provider.api ?? ""))?.host;
    if (Object.keys(models).length === 0) continue;
    const known = Object.hasOwn(NAMES, name) ? NAMES[name] ?? name : name;
    providers.set(known, { models, ...(host === undefined ? {} : { host }) });
  }
  if (providers.size === 0) throw noList(source, "it names no provider with models");
  return { providers, skipped };
}

function noList(source: string, reason: string): ReasonixError {
  return usageError(
    message`Cannot use ${source} as a list of models: ${reason}`,
    message`give the format of https://models.dev/api.json; the tables that are there stay as they are`,
  );
}

/** Undefined for what lacks the sizes that every model has. */
function readModel(model: Json, provider: string): ModelFacts | undefined {
  const { context, input, output } = recordOf(model.limit);
  const window = tokens(input) ?? tokens(context);
  const limit = tokens(output);
  const price = isRecord(model.cost) ? readPrice(model.cost, provider) : undefined;
  const kinds = isRecord(model.modalities) ? model.modalities.input : undefined;
  const reasoning = readReasoning(model);
  if (window === undefined && limit === undefined && price === undefined) return undefined;
  return defined({
    window,
    output: limit,
    vision: Array.isArray(kinds) ? kinds.includes("image") : undefined,
    tools: typeof model.tool_call === "boolean" ? model.tool_call : undefined,
    reasoning,
    price,
  });
}

/** A limit of 0 tokens means an unknown one. */
function tokens(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && Number(value) > 0 ? Number(value) : undefined;
}

function readPrice(cost: Json, provider: string): FactPrice | undefined {
  const rates = readRates(cost, provider);
  // Two zeros are plans and free offers as well as unknown prices.
  if (!rates || rates.input + rates.output === 0) return undefined;
  const tiers = (Array.isArray(cost.tiers) ? cost.tiers : []).flatMap((tier) => {
    const above = isRecord(tier) && isRecord(tier.tier) ? tokens(tier.tier.size) : undefined;
    const own = isRecord(tier) ? readRates(tier, provider) : undefined;
    return above === undefined || !own ? [] : [{ above, ...own }];
  });
  const long = tiers.length === 0 && isRecord(cost.context_over_200k)
    ? readRates(cost.context_over_200k, provider)
    : undefined;
  const all = long ? [{ above: 200_000, ...long }] : tiers;
  return { ...rates, ...(all.length > 0 ? { tiers: all } : {}) };
}

function readRates(cost: Json, provider: string): FactRates | undefined {
  const input = money(cost.input);
  const output = money(cost.output);
  const read = money(cost.cache_read);
  const written = money(cost.cache_write) || undefined;
  if (input === undefined || output === undefined) return undefined;
  return defined({
    input,
    output,
    cachedInput: read,
    cacheWrite: written,
    // The list has the price of five minutes only; an hour costs twice the input at this vendor.
    cacheWrite1h: written !== undefined && provider === "anthropic" ? input * 2 : undefined,
  });
}

function money(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

function readReasoning({ reasoning, reasoning_options }: Json): ReasoningFacts | undefined {
  if (typeof reasoning !== "boolean") return undefined;
  if (!reasoning) return { thinks: false };
  // Nothing is known of how to ask, which is not the same as that one cannot.
  if (!Array.isArray(reasoning_options)) return undefined;
  const options = reasoning_options.filter(isRecord);
  const levels = options.find(({ type }) => type === "effort")?.values;
  const budget = options.find(({ type }) => type === "budget_tokens");
  const named = Array.isArray(levels) ? levels.filter((level) => typeof level === "string") : [];
  return defined({
    thinks: true,
    toggle: options.some(({ type }) => type === "toggle") || undefined,
    levels: named.length > 0 ? named.sort((a, b) => levelRank(a) - levelRank(b)) : undefined,
    budget: budget && defined({ min: money(budget.min), max: money(budget.max) }),
  });
}
