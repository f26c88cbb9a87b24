import type { Limits } from "../../agent/mod.ts";
import type { Config } from "../../config/mod.ts";
import type { ControlledParts } from "../../control/mod.ts";
import type { ModelInfo, ToolMode } from "../../provider/mod.ts";
import { turnPrompts } from "../context/model_prompts.ts";
import type { AssemblyOptions } from "../run_options.ts";
import { least, TurnParts } from "./turn_parts.ts";

type TurnRules = Pick<
  ControlledParts,
  | "limits"
  | "maxCallsPerStep"
  | "toolChoice"
  | "submit"
  | "amended"
  | "callHooks"
  | "answerForm"
  | "turnPrompt"
  | "reviewAnswer"
  | "takeSpent"
>;

/** Limits of each turn, how it ends, and what else has a say in it. */
export function turnRules(
  config: Config,
  { amended, answerForm, hooks }: AssemblyOptions,
  toolMode?: ToolMode,
): { readonly rules: TurnRules; readonly turnParts: TurnParts } {
  const { max_calls_per_step, send_tool_choice, submit } = config.agent;
  const turnParts = new TurnParts();
  const rules: TurnRules = {
    limits: new TurnLimits(limitsOf(config), turnParts),
    // A model without tools cannot call the one that ends the turn.
    submit: submit && toolMode !== "none",
    turnPrompt: (turn, model) => turnPrompt(config, turn, model),
    ...(amended ? { amended } : {}),
    ...(hooks ? { callHooks: hooks.callHooks } : {}),
    ...(answerForm ? { answerForm } : {}),
    ...(send_tool_choice ? { toolChoice: "auto" as const } : {}),
    ...(max_calls_per_step > 0 ? { maxCallsPerStep: max_calls_per_step } : {}),
    takeSpent: () => turnParts.takeSpent(),
    reviewAnswer: (answer, signal) => turnParts.reviewAnswer(answer, signal),
  };
  return { rules, turnParts };
}

/** The bounds of the turn that runs: those of the configuration, and what its parts leave of theirs. */
class TurnLimits implements Limits {
  readonly #own: Limits;
  readonly #parts: TurnParts;

  constructor(own: Limits, parts: TurnParts) {
    this.#own = own;
    this.#parts = parts;
  }

  get maxSteps(): number | undefined {
    return least([this.#own, this.#parts.limits()], "maxSteps");
  }

  get timeMs(): number | undefined {
    return least([this.#own, this.#parts.limits()], "timeMs");
  }

  get cost(): number | undefined {
    return least([this.#own, this.#parts.limits()], "cost");
  }
}

function limitsOf(config: Config): Limits {
  const { max_steps, time_limit_seconds, max_cost } = config.agent;
  return {
    ...(max_steps > 0 ? { maxSteps: max_steps } : {}),
    ...(time_limit_seconds > 0 ? { timeMs: time_limit_seconds * 1000 } : {}),
    ...(max_cost > 0 ? { cost: max_cost } : {}),
  };
}

/** The text behind the user's message of a turn; what is in double braces becomes what it stands for. */
function turnPrompt(config: Config, turn: number, model: ModelInfo): string | undefined {
  const prompts = turnPrompts(config, model);
  if (prompts.length === 0) return undefined;
  const values: Readonly<Record<string, () => string>> = {
    turn: () => String(turn),
    model: () => `${model.provider}/${model.id}`,
    date: () => new Date().toISOString().slice(0, 10),
    time: () => new Date().toISOString().slice(11, 16),
  };
  return prompts.map(({ text }) => text).join("\n\n")
    .replace(/\{\{(turn|model|date|time)\}\}/g, (_, name: string) => values[name]?.() ?? "");
}
