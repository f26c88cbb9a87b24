import { thinkingBudget } from "../../model/effort.ts";
import type { ModelInfo } from "../../provider.ts";
import type { Generation } from "./generation.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Levels of other vendors, and what comes nearest here. */
const LEVELS: Readonly<Record<string, string>> = { none: "low", minimal: "low", xhigh: "high", max: "high" };
/** Tokens that a model of which no number is asked may think with beside a short answer. */
const ALLOWANCE = 8192;

/** How a model is asked to think. */
export interface Thinking {
  /** `thinkingConfig` of a request; undefined: nothing is said. */
  readonly config: Fields | undefined;
  /** Tokens that thinking may need beside a short answer: the limit of output counts thoughts, too. */
  readonly tokens: number;
}

/** `asked` is what the user wrote into the body; it goes before everything. */
export function thinkingOf(
  model: Pick<ModelInfo, "reasoning" | "maxOutputTokens">,
  generation: Generation,
  { effort, asked }: { readonly effort: string | undefined; readonly asked: Fields | undefined },
): Thinking {
  const own = ownConfig(model, generation, effort);
  const config = own === undefined && asked === undefined ? undefined : { ...own, ...asked };
  const budget = config?.thinkingBudget;
  const off = budget === 0 || generation.thinking === "none";
  return { config, tokens: off ? 0 : typeof budget === "number" && budget > 0 ? budget : ALLOWANCE };
}

function ownConfig(
  { reasoning, maxOutputTokens }: Pick<ModelInfo, "reasoning" | "maxOutputTokens">,
  { thinking, thinksUnasked }: Generation,
  effort: string | undefined,
): Fields | undefined {
  if (thinking === "none") return undefined;
  if (effort === undefined || effort === "") return thinksUnasked ? { includeThoughts: true } : undefined;
  if (thinking === "level") {
    const thinkingLevel = reasoning?.levels?.includes(effort) ? effort : LEVELS[effort] ?? effort;
    return { includeThoughts: true, thinkingLevel };
  }
  const thinkingBudgetOf = thinkingBudget(effort, reasoning?.budget ?? { max: 24_576 }, maxOutputTokens);
  // The server refuses to show thoughts where there are to be none.
  if (thinkingBudgetOf === 0) return { thinkingBudget: 0 };
  return { includeThoughts: true, thinkingBudget: thinkingBudgetOf };
}
