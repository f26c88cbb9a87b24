import type { EventBodies } from "./event_schema.ts";
import type { Event } from "./event.ts";

/**
 * Tokens as the server counted them for one request. `inputTokens` is the whole input: newly read tokens,
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
  /** The figures were written by hand for a demonstration or a test. */
  readonly scripted?: true | undefined;
}

/** Input that was neither read from the cache nor written to it. */
export function freshTokens({ inputTokens, cachedTokens, cacheWriteTokens = 0 }: Usage): number {
  return inputTokens - cachedTokens - cacheWriteTokens;
}

/** Tokens by kind. The kinds add up to all tokens: reasoning is no part of `output` here. */
export function tokenKinds(
  usage: Usage,
): Readonly<Record<"input" | "cached" | "cache_write" | "output" | "reasoning", number>> {
  return {
    input: freshTokens(usage),
    cached: usage.cachedTokens,
    cache_write: usage.cacheWriteTokens ?? 0,
    output: usage.outputTokens - usage.reasoningTokens,
    reasoning: usage.reasoningTokens,
  };
}

/** Prices of a million tokens. */
export interface Rates {
  readonly input: number;
  /** Input that is read from the cache. */
  readonly cachedInput: number;
  /** Input that is written to the cache; absent: the price of input. */
  readonly cacheWrite?: number;
  readonly output: number;
}

/** Price per million tokens in `currency`. */
export interface Price extends Rates {
  readonly currency: string;
  /** Day of the price, `YYYY-MM-DD`; absent: unknown. */
  readonly date?: string;
  /** Prices of requests whose input is longer than `above` tokens. */
  readonly tiers?: readonly (Rates & { readonly above: number })[];
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
    ...(a.scripted || b.scripted ? { scripted: true } : {}),
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

/** Adds the spending of another run. */
export function mergeSpending(a: Spending, b: Spending): Spending {
  const costs = { ...a.costs };
  for (const [currency, amount] of Object.entries(b.costs)) costs[currency] = (costs[currency] ?? 0) + amount;
  return { usage: addUsage(a.usage, b.usage), costs, unpriced: a.unpriced + b.unpriced };
}

/** Returns the whole cost in a currency, or undefined when part of it is not known or in another one. */
export function totalCost({ costs, unpriced }: Spending, currency: string | undefined): Cost | undefined {
  if (currency === undefined || unpriced > 0) return undefined;
  const others = Object.entries(costs).some(([other, amount]) => other !== currency && amount > 0);
  return others ? undefined : { amount: costs[currency] ?? 0, currency };
}

/** Cost of one request, or undefined when the price is unknown. */
export function costOf(usage: Usage, price: Price | undefined): Cost | undefined {
  if (!price) return undefined;
  const { input, cachedInput, cacheWrite = input, output } = ratesFor(usage.inputTokens, price);
  const { cachedTokens, cacheWriteTokens: written = 0, outputTokens } = usage;
  const sum = freshTokens(usage) * input + cachedTokens * cachedInput + written * cacheWrite +
    outputTokens * output;
  // Prices have at most six digits behind the point: the sum in their last one is a whole number.
  return { amount: Math.round(sum * 1e6) / 1e12, currency: price.currency };
}

/** Returns the prices of a request by its input: those of the highest tier that it is above. */
function ratesFor(inputTokens: number, { tiers = [], ...base }: Price): Rates {
  return tiers.reduce<Rates & { readonly above?: number }>(
    (best, tier) => inputTokens > tier.above && tier.above >= (best.above ?? 0) ? tier : best,
    base,
  );
}

/** A reply that says and does nothing is recorded for what it cost: it is no message. */
export function isMessage({ content, calls, interrupted }: EventBodies["message.end"]): boolean {
  return content !== "" || (!interrupted && (calls ?? []).length > 0);
}

type FileChange = NonNullable<EventBodies["tool.end"]["changes"]>[number];

/** Reports whether a change of a call made the file another one: neither only computed nor the same. */
export function isWritten({ change, written }: Pick<FileChange, "change" | "written">): boolean {
  return written !== false && change !== "unchanged";
}

/** The key of a wait for a person that names no call. */
const ANY_CALL = "";

interface Wait {
  readonly key: string;
  readonly from: number;
  to: number | undefined;
}

/** The times of a turn in which a person was asked: they are no part of how long a call or the turn took. */
export class PersonWaits {
  #waits: Wait[] = [];

  /** Takes an event; the time is in milliseconds. */
  take(event: Event, now: number): void {
    switch (event.type) {
      case "turn.start":
        this.#waits = [];
        break;
      case "approval.request":
        this.#begin(event.callId, now);
        break;
      case "approval.decision":
      case "tool.end":
        this.#end(event.callId, now);
        break;
      case "plan.change":
        if (event.state === "proposed") this.#begin(ANY_CALL, now);
        else this.#end(ANY_CALL, now);
        break;
      case "question":
        if (event.state === "asked") this.#begin(event.callId ?? ANY_CALL, now);
        else this.#end(event.callId ?? ANY_CALL, now);
        break;
      case "turn.end":
        for (const wait of this.#waits) wait.to ??= now;
        break;
    }
  }

  /** Reports whether an approval of a call is pending, or a prompt that names no call. */
  waiting(callId: string): boolean {
    return this.#waits.some(({ key, to }) => to === undefined && (key === callId || key === ANY_CALL));
  }

  /** Returns the time since `since` in which a person was asked by a call; without one, by anything. */
  since(since: number, now: number, callId?: string): number {
    let counted = since;
    let sum = 0;
    for (const { key, from, to = now } of this.#waits) {
      if (callId !== undefined && key !== callId && key !== ANY_CALL) continue;
      sum += Math.max(0, to - Math.max(from, counted));
      counted = Math.max(counted, to);
    }
    return sum;
  }

  #begin(key: string, now: number): void {
    this.#waits.push({ key, from: now, to: undefined });
  }

  #end(key: string, now: number): void {
    const wait = this.#waits.find((each) => each.key === key && each.to === undefined);
    if (wait) wait.to = now;
  }
}
