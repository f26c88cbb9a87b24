import { EFFORT_LEVELS } from "../../config/mod.ts";

/** How a model can be told how much to think. Nothing but `thinks`: it thinks as it likes. */
export interface ReasoningFacts {
  /** False: it does not think, and refuses to be asked for it. */
  readonly thinks: boolean;
  /** Levels that it takes by name, least first; vendors may have words of their own. */
  readonly levels?: readonly string[];
  /** It takes a number of tokens to think with, within these bounds. */
  readonly budget?: { readonly min?: number; readonly max?: number };
  /** Its thinking can be switched on and off. */
  readonly toggle?: boolean;
}

/** What an effort comes to at a model. */
export interface ResolvedEffort {
  /** The level to send; absent: nothing is sent. */
  readonly level?: string;
  /** The level that was wanted, where the model does not have it. */
  readonly fellFrom?: string;
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

/** Every level that a model can be asked for, least first; empty where there is no way to ask. */
export function effortsOf({ thinks, levels = [], budget, toggle }: ReasoningFacts): readonly string[] {
  if (!thinks) return [];
  const off = toggle || budget?.min === 0 ? ["none"] : [];
  if (levels.length > 0) return [...new Set([...off, ...levels])];
  // A number of tokens and a switch serve any level; between "some" and "more" a switch knows no difference.
  if (budget || toggle) return [...off, ...EFFORT_LEVELS.filter((level) => level !== "none")];
  return [];
}

function nearest(wanted: string, levels: readonly string[]): string | undefined {
  const at = rank(wanted);
  const known = levels.filter((level) => rank(level) >= 0);
  const lower = known.filter((level) => rank(level) < at && (level !== "none" || wanted === "minimal"));
  return lower.at(-1) ?? known.find((level) => level !== "none");
}

function rank(level: string): number {
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
