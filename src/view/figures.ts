/** Formats of tokens and money, the same in every view. */
import type { Spending, Usage } from "../core/mod.ts";

/** A whole number with separators of thousands. */
export function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Lines of a change: "+2,000 −1". */
export function lineFigures(
  { added, removed }: { readonly added: number; readonly removed: number },
): string {
  return `+${grouped(added)} −${grouped(removed)}`;
}

/** "in 1,200 (900 cached, 75 %)" and "out 80", scripted ones marked; empty without a count. */
export function tokenFigures(usage: Usage): string[] {
  const { inputTokens, cachedTokens, outputTokens, scripted } = usage;
  if (inputTokens + outputTokens === 0) return [];
  return [
    `in ${grouped(inputTokens)} (${grouped(cachedTokens)} cached, ${cacheShare(usage)})`,
    `out ${grouped(outputTokens)}`,
    ...(scripted ? ["scripted figures"] : []),
  ];
}

/** Percentage of the input that came from the cache. */
export function cacheShare({ inputTokens, cachedTokens }: Usage): string {
  return inputTokens === 0 ? "-" : `${Math.round(100 * cachedTokens / inputTokens)} %`;
}

/** Known costs by currency; undefined when no price is known. */
export function moneyFigure({ costs, unpriced }: Pick<Spending, "costs" | "unpriced">): string | undefined {
  const known = Object.entries(costs).map(([currency, amount]) =>
    amount > 0 && amount < 0.0001 ? `<0.0001 ${currency}` : `${amount.toFixed(4)} ${currency}`
  );
  if (known.length === 0) return undefined;
  return `${known.join(", ")}${unpriced > 0 ? " and some unknown" : ""}`;
}

interface TimeTexts {
  readonly seconds: (seconds: string) => string;
  readonly minutes: (minutes: number, seconds: number) => string;
}

/** Formats a duration: "4 s", "2 min 5 s". */
export function timeText(ms: number, texts: TimeTexts): string {
  const seconds = Math.floor(ms / 1000);
  return seconds < 60
    ? texts.seconds(String(seconds))
    : texts.minutes(Math.floor(seconds / 60), seconds % 60);
}
