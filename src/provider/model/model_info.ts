import { type ProviderEntry, withModelSettings } from "../../config/mod.ts";
import type { Price } from "../../core/mod.ts";
import type { ModelInfo } from "../provider.ts";
import { type ReasoningFacts, resolveEffort } from "./effort.ts";
import { factsOf, type FoundFacts } from "./facts.ts";
import { declaredPrice, knownPrice } from "./price.ts";

export interface ModelInfoOptions {
  readonly entry: ProviderEntry;
  readonly model: string;
  /** Overrides the effort of the entry. */
  readonly effort?: string | undefined;
  /** Reasonix home, where fetched tables lie; absent: only those that come with the program count. */
  readonly home?: string | undefined;
}

/**
 * Returns what is known of a model of an entry: what `model_settings` says, else the entry, else the tables
 * of facts. What nobody says is absent. Rejects like {@linkcode factsOf}.
 */
export async function modelInfo(
  { entry: whole, model, effort, home }: ModelInfoOptions,
): Promise<ModelInfo> {
  const entry = withModelSettings(whole, model);
  const wanted = effort ?? entry.effort;
  const facts = isDeclared(entry, wanted) ? undefined : await factsOf(entry, model, home);
  const price = entry.price ? declaredPrice(entry.price) : priceOf(facts, entry);
  const reasoning = reasoningOf(entry, facts);
  const window = entry.context_window ?? facts?.window;
  const outputLimit = entry.max_output_tokens ?? facts?.output;
  return {
    provider: entry.name,
    id: model,
    vision: entry.vision ?? facts?.vision ?? false,
    effort: resolveEffort(wanted, reasoning),
    ...(entry.tool_mode === undefined ? {} : { toolMode: entry.tool_mode }),
    ...(window === undefined ? {} : { contextWindow: window }),
    ...(entry.max_output_tokens === undefined ? {} : { maxOutputTokens: entry.max_output_tokens }),
    ...(outputLimit === undefined ? {} : { outputLimit }),
    ...(price === undefined ? {} : { price }),
    ...(reasoning === undefined ? {} : { reasoning }),
  };
}

/** Reports whether the user said everything that the tables could. */
function isDeclared(entry: ProviderEntry, effort: string | undefined): boolean {
  const { context_window, max_output_tokens, price, vision, efforts } = entry;
  const thinks = effort === undefined || effort === "" || efforts !== undefined;
  return thinks && [context_window, max_output_tokens, price, vision].every((value) => value !== undefined);
}

function reasoningOf(
  { efforts }: Pick<ProviderEntry, "efforts">,
  facts: FoundFacts | undefined,
): ReasoningFacts | undefined {
  if (efforts === undefined) return facts?.reasoning;
  return { ...facts?.reasoning, thinks: efforts.length > 0, levels: efforts };
}

function priceOf(facts: FoundFacts | undefined, { cache_ttl }: ProviderEntry): Price | undefined {
  return facts?.price && knownPrice(facts.price, { ttl: cache_ttl, date: facts.date });
}
