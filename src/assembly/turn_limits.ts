import type { Limits } from "../agent/mod.ts";
import type { Config } from "../config/mod.ts";
import type { ControlledParts } from "../control/mod.ts";

/** Limits of each turn, and how it ends, by the configuration. */
export function turnRules(config: Config): Pick<ControlledParts, "limits" | "maxCallsPerStep" | "submit"> {
  const { max_calls_per_step, submit } = config.agent;
  return {
    limits: limitsOf(config),
    submit,
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
