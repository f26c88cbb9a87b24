import { isRecord } from "../../../util/json.ts";
import type { KindOptions } from "../../kind.ts";
import type { ProviderFailure } from "../../errors.ts";
import { thinkingBudget } from "../../model/model_info.ts";
import type { ReasoningFacts } from "../../provider.ts";
import type { Fields } from "../../wire/message_parts.ts";

/** The request for thinking, and the use of earlier thoughts. */
export interface Thinking {
  /** Fields of the request body. */
  readonly fields: Fields;
  /**
   * Thoughts that are sent back: all of them, those that still stand behind the same text as when they were
   * thought, or none.
   */
  readonly kept: "all" | "bound" | "none";
  /** Tokens that it may take beside an answer. */
  readonly tokens: number;
  /** False when the server refuses sampling parameters beside it. */
  readonly samples: boolean;
  /** Experimental features of the server that it needs. */
  readonly betas: readonly string[];
}

/** The server decides; what it thinks is kept. */
export const UNASKED: Thinking = { fields: {}, kept: "bound", tokens: 0, samples: true, betas: [] };

const NONE: Thinking = { fields: {}, kept: "none", tokens: 0, samples: true, betas: [] };

/** Words about how a request asks to think; those about thoughts of earlier replies name their message. */
const ABOUT_THINKING = /^(?!.*messages\.\d).*(?:thinking|output_config|\beffort\b)/is;

/** Reports whether a model will not be asked to think in this way, which nobody could know beforehand. */
export function isThinkingRefused({ error }: ProviderFailure): boolean {
  return error.status === 400 && ABOUT_THINKING.test(error.message);
}

/** Lets a model that has a budget think between its calls, too; others do so anyway. */
const INTERLEAVED = "interleaved-thinking-2025-05-14";

/** Thoughts that are shown: without it newer models send them empty, and what they say between calls, too. */
const ADAPTIVE = { type: "adaptive", display: "summarized" };

/**
 * The fields of an effort on this wire. `extra` is what the user adds to every body, which wins; `limit`
 * what a reply may have in all.
 */
export function thinkingOf(
  { entry, model: { reasoning }, effort }: KindOptions,
  extra: Fields,
  limit: number,
): Thinking {
  const style = entry.compat.thinking_style ?? styleOf(reasoning);
  const own = style === "budget" ? withBudget(effort, reasoning, limit) : adaptive(effort, reasoning, limit);
  const { thinking, output_config } = extra;
  const fields = {
    ...own.fields,
    ...(thinking === undefined ? {} : { thinking }),
    ...(output_config === undefined ? {} : { output_config }),
  };
  if (!isRecord(thinking)) return { ...own, fields };
  if (thinking.type === "disabled") return { ...NONE, fields };
  const budget = typeof thinking.budget_tokens === "number" ? thinking.budget_tokens : own.tokens;
  const kept = thinking.type === "enabled" ? "all" : "bound";
  return { ...own, fields, kept, tokens: budget, samples: false };
}

/**
 * Models that take a budget and nothing like the highest level think by the budget; the levels that some of
 * these have are about the length of answers.
 */
function styleOf(reasoning: ReasoningFacts | undefined): "adaptive" | "budget" {
  if (reasoning === undefined) return "adaptive";
  const { levels = [], budget, toggle } = reasoning;
  const byLevel = levels.length > 0 && (!budget || levels.includes("max"));
  return byLevel || !(budget || toggle) ? "adaptive" : "budget";
}

/** A model of which nothing is known is asked only when there is an effort; its thoughts are kept anyway. */
function adaptive(level: string | undefined, reasoning: ReasoningFacts | undefined, limit: number): Thinking {
  if (reasoning?.thinks === false) return NONE;
  if (level === "none") return { ...NONE, fields: { thinking: { type: "disabled" } } };
  if (level === undefined && reasoning === undefined) return UNASKED;
  const effort = level === "minimal" ? "low" : level;
  return {
    fields: { thinking: ADAPTIVE, ...(effort === undefined ? {} : { output_config: { effort } }) },
    kept: "bound",
    tokens: tokensFor(effort, {}, limit),
    samples: false,
    betas: [],
  };
}

function withBudget(
  level: string | undefined,
  reasoning: ReasoningFacts | undefined,
  limit: number,
): Thinking {
  if (level === undefined || level === "none" || reasoning?.thinks === false) return NONE;
  const tokens = tokensFor(level, { min: LEAST_BUDGET, ...reasoning?.budget }, limit);
  const effort = reasoning?.levels?.includes(level) ? { output_config: { effort: level } } : {};
  return {
    fields: { thinking: { type: "enabled", budget_tokens: tokens }, ...effort },
    kept: "all",
    tokens,
    samples: false,
    betas: [INTERLEAVED],
  };
}

/** The server refuses smaller ones. */
const LEAST_BUDGET = 1024;

function tokensFor(
  level: string | undefined,
  bounds: NonNullable<ReasoningFacts["budget"]>,
  limit: number,
): number {
  return thinkingBudget(level ?? "high", bounds, limit) ?? thinkingBudget("high", bounds, limit) ?? 0;
}
