import type { ReasoningFacts } from "./effort.ts";

/** Prices of a million tokens. */
export interface FactRates {
  readonly input: number;
  readonly output: number;
  /** Absent: as `input`. */
  readonly cachedInput?: number;
  /** Absent: as `input`. */
  readonly cacheWrite?: number;
  /** The same for a cache that is kept for an hour. */
  readonly cacheWrite1h?: number;
}

/** Prices, those of long requests included. */
export interface FactPrice extends FactRates {
  /** USD when absent. */
  readonly currency?: string;
  readonly tiers?: readonly (FactRates & { readonly above: number })[];
}

/** What is known of a model at a vendor. What is absent is not known. */
export interface ModelFacts {
  /** Tokens that a request may have. */
  readonly window?: number;
  /** Tokens that a reply may have. */
  readonly output?: number;
  readonly vision?: boolean;
  readonly tools?: boolean;
  readonly reasoning?: ReasoningFacts;
  readonly price?: FactPrice;
}

/** The models of a vendor as they were on a day. */
export interface FactsTable {
  /** `YYYY-MM-DD`. */
  readonly date: string;
  /** Page or file that they come from. */
  readonly source: string;
  readonly models: Readonly<Record<string, ModelFacts>>;
}

/** Name of the file below the Reasonix home that holds the tables which the user fetched. */
export const FETCHED = "models.jsonl";

/** The models of each vendor that is known by name, a file each; loaded when one of its models is used. */
export const FACT_TABLES: Readonly<Record<string, () => Promise<FactsTable>>> = {
  anthropic: async () => (await import("./tables/anthropic.json", { with: { type: "json" } })).default,
  dashscope: async () => (await import("./tables/dashscope.json", { with: { type: "json" } })).default,
  deepseek: async () => (await import("./tables/deepseek.json", { with: { type: "json" } })).default,
  google: async () => (await import("./tables/google.json", { with: { type: "json" } })).default,
  groq: async () => (await import("./tables/groq.json", { with: { type: "json" } })).default,
  mistral: async () => (await import("./tables/mistral.json", { with: { type: "json" } })).default,
  moonshot: async () => (await import("./tables/moonshot.json", { with: { type: "json" } })).default,
  openai: async () => (await import("./tables/openai.json", { with: { type: "json" } })).default,
  openrouter: async () => (await import("./tables/openrouter.json", { with: { type: "json" } })).default,
  xai: async () => (await import("./tables/xai.json", { with: { type: "json" } })).default,
  zhipu: async () => (await import("./tables/zhipu.json", { with: { type: "json" } })).default,
};
