/**
 * Tokens as the server counted them for one request. `inputTokens` is the whole input: what was read anew,
 * and the parts that were read from or written to the cache.
 */
export interface Usage {
  readonly inputTokens: number;
  /** Part of `inputTokens` read from the cache. */
  readonly cachedTokens: number;
  readonly outputTokens: number;
  /** Part of `outputTokens` spent on reasoning. */
  readonly reasoningTokens: number;
  /** Part of `inputTokens` written to the cache, where a vendor counts that; absent = 0. */
  readonly cacheWriteTokens?: number | undefined;
}

/** Input that was neither read from the cache nor written to it. */
export function freshTokens({ inputTokens, cachedTokens, cacheWriteTokens = 0 }: Usage): number {
  return inputTokens - cachedTokens - cacheWriteTokens;
}

/** Price per million tokens in `currency`. */
export interface Price {
  readonly input: number;
  readonly cachedInput: number;
  /** Input that is written to the cache; absent: the price of input. */
  readonly cacheWrite?: number;
  readonly output: number;
  readonly currency: string;
}

/** Money spent; absent wherever the price is not known (unknown is never shown as zero). */
export interface Cost {
  readonly amount: number;
  readonly currency: string;
}

export const NO_USAGE: Usage = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 };

export function addUsage(a: Usage, b: Usage): Usage {
  const written = (a.cacheWriteTokens ?? 0) + (b.cacheWriteTokens ?? 0);
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    ...(written > 0 ? { cacheWriteTokens: written } : {}),
  };
}

/** Tokens and money of several requests. */
export interface Spending {
  readonly usage: Usage;
  /** Money by currency. */
  readonly costs: Readonly<Record<string, number>>;
  /** Requests whose price is not known. */
  readonly unpriced: number;
}

export const NO_SPENDING: Spending = { usage: NO_USAGE, costs: {}, unpriced: 0 };

/** Adds one request; without `cost` its price is not known. */
export function addSpending(
  { usage, costs, unpriced }: Spending,
  request: { readonly usage?: Usage | undefined; readonly cost?: Cost | undefined },
): Spending {
  const { cost } = request;
  return {
    usage: request.usage ? addUsage(usage, request.usage) : usage,
    costs: cost ? { ...costs, [cost.currency]: (costs[cost.currency] ?? 0) + cost.amount } : costs,
    unpriced: cost ? unpriced : unpriced + 1,
  };
}

/** Returns the whole cost in a currency, or undefined when part of it is not known. */
export function totalCost({ costs, unpriced }: Spending, currency: string | undefined): Cost | undefined {
  return currency === undefined || unpriced > 0 ? undefined : { amount: costs[currency] ?? 0, currency };
}

/** Cost of one request, or undefined when the price is unknown. */
export function costOf(usage: Usage, price: Price | undefined): Cost | undefined {
  if (!price) return undefined;
  const { cachedTokens, cacheWriteTokens: written = 0, outputTokens } = usage;
  const sum = freshTokens(usage) * price.input + cachedTokens * price.cachedInput +
    written * (price.cacheWrite ?? price.input) + outputTokens * price.output;
  return { amount: sum / 1e6, currency: price.currency };
}
