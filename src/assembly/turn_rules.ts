import type { Limits } from "../agent/mod.ts";
import type { Config } from "../config/mod.ts";
import type { ControlledParts } from "../control/mod.ts";
import type { ToolMode } from "../provider/mod.ts";
import type { AssemblyOptions } from "./run_options.ts";

type TurnRules = Pick<
  ControlledParts,
  "limits" | "maxCallsPerStep" | "submit" | "amended" | "answerForm"
>;

/** Limits of each turn, and how it ends. */
export function turnRules(
  config: Config,
  { amended, answerForm }: AssemblyOptions,
  toolMode?: ToolMode,
): TurnRules {
  const { max_calls_per_step, submit } = config.agent;
  return {
    limits: limitsOf(config),
    // A model without tools cannot call the one that ends the turn.
    submit: submit && toolMode !== "none",
    ...(amended ? { amended } : {}),
    ...(answerForm ? { answerForm } : {}),
    ...(max_calls_per_step > 0 ? { maxCallsPerStep: max_calls_per_step } : {}),
  };
}

function limitsOf(config: Config): Limits {
  const { max_steps, time_limit_seconds, max_cost } = config.agent;
  return {
    ...(max_steps > 0 ? { maxSteps: max_steps } : {}),
    ...(time_limit_seconds > 0 ? { timeMs: time_limit_seconds * 1000 } : {}),
    ...(max_cost > 0 ? { cost: max_cost } : {}),
  };
}
