/**
 * Tokens as the server counted them for one request. `cachedTokens` is the part of `inputTokens` read from
 * cache.
 */
export interface Usage {
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  /** Part of `outputTokens` spent on reasoning. */
  readonly reasoningTokens: number;
}

/** Price per million tokens in `currency`. */
export interface Price {
  readonly input: number;
  readonly cachedInput: number;
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
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  };
}

/** Cost of one request, or undefined when the price is unknown. */
export function costOf(usage: Usage, price: Price | undefined): Cost | undefined {
  if (!price) return undefined;
  const fresh = usage.inputTokens - usage.cachedTokens;
  const amount =
    (fresh * price.input + usage.cachedTokens * price.cachedInput + usage.outputTokens * price.output) / 1e6;
  return { amount, currency: price.currency };
}
