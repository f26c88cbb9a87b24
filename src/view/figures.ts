/** Tokens and money, for people: every view of a session and of a run says them in the same form. */
import type { Spending, Usage } from "../core/mod.ts";

/** A whole number with a mark at the thousands. */
export function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Lines of a change: "+2,000 −1". */
export function lineFigures(
  { added, removed }: { readonly added: number; readonly removed: number },
): string {
  return `+${grouped(added)} −${grouped(removed)}`;
}

/** "in 1,200 (900 cached, 75 %)" and "out 80", scripted ones marked; nothing where no server has counted. */
export function tokenFigures(usage: Usage): string[] {
  const { inputTokens, cachedTokens, outputTokens, scripted } = usage;
  if (inputTokens + outputTokens === 0) return [];
  return [
    `in ${grouped(inputTokens)} (${grouped(cachedTokens)} cached, ${cacheShare(usage)})`,
    `out ${grouped(outputTokens)}`,
    ...(scripted ? ["scripted figures"] : []),
  ];
}

/** The part of the input that came from the cache. */
export function cacheShare({ inputTokens, cachedTokens }: Usage): string {
  return inputTokens === 0 ? "-" : `${Math.round(100 * cachedTokens / inputTokens)} %`;
}

/** Money as far as it is known, by currency; undefined when no price is. */
export function moneyFigure({ costs, unpriced }: Pick<Spending, "costs" | "unpriced">): string | undefined {
  const known = Object.entries(costs).map(([currency, amount]) =>
    amount > 0 && amount < 0.0001 ? `<0.0001 ${currency}` : `${amount.toFixed(4)} ${currency}`
  );
  if (known.length === 0) return undefined;
  return `${known.join(", ")}${unpriced > 0 ? " and some unknown" : ""}`;
}
