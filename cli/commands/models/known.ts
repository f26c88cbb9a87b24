import { type LoadedConfig, type ProviderEntry, withModelSettings } from "../../../src/config/mod.ts";
import type { Price, Rates } from "../../../src/core/mod.ts";
import type { Texts } from "../../../src/i18n/mod.ts";
import { factsOf, type FoundFacts, type ModelInfo, modelInfo } from "../../../src/provider/mod.ts";

/** A model with what is known of it. */
export interface KnownModel {
  /** `provider/model`. */
  readonly name: string;
  /** As it counts for the model. */
  readonly entry: ProviderEntry;
  readonly info: ModelInfo;
  /** What the tables say; absent: nothing. */
  readonly facts?: FoundFacts;
}

/** Gathers what the settings and the tables say of a model. */
export async function knownModel(
  loaded: LoadedConfig,
  whole: ProviderEntry,
  model: string,
): Promise<KnownModel> {
  const entry = withModelSettings(whole, model);
  const { home } = loaded;
  const facts = await factsOf(entry, model, home);
  const info = await modelInfo({ entry, model, home });
  return { name: `${entry.name}/${model}`, entry, info, ...(facts ? { facts } : {}) };
}

/** The levels of effort that a model has, for people; undefined where nobody knows. */
export function effortText({ reasoning }: ModelInfo, texts: Texts["models"]): string | undefined {
  if (!reasoning) return undefined;
  const { thinks, levels = [], budget, toggle } = reasoning;
  if (!thinks) return texts.thinksNot;
  const off = (toggle || budget?.min === 0) && !levels.includes("none") ? ["none"] : [];
  if (levels.length > 0) return [...off, ...levels].join(" ");
  if (budget) return off.length > 0 ? texts.anyEffort : texts.anyButNone;
  return toggle ? texts.toggle : texts.asItLikes;
}

/** "2.50 in, 0.25 cached, 3.13 written, 15 out". */
export function ratesText(
  { input, cachedInput, cacheWrite, output }: Rates,
  texts: Texts["models"],
): string {
  const cached = cachedInput === input ? "" : String(cachedInput);
  return texts.rates(String(input), cached, String(cacheWrite ?? ""), String(output));
}

/** The day of a price, as it stands behind it. */
export function dayText({ date }: Pick<Price, "date">): string {
  return date === undefined ? "" : ` (${date})`;
}

/** The same as data. */
export function knownModelJson({ name, entry, info, facts }: KnownModel): Record<string, unknown> {
  const { contextWindow, outputLimit, vision, reasoning, price } = info;
  return {
    name,
    kind: entry.kind,
    window: contextWindow ?? null,
    output: outputLimit ?? null,
    vision,
    tools: facts?.tools ?? null,
    reasoning: reasoning ?? null,
    price: price ?? null,
    facts: facts ? { date: facts.date, source: facts.source } : null,
  };
}
