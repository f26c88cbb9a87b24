import type { Limits } from "../../agent/mod.ts";
import type { Config } from "../../config/mod.ts";
import type { GoalLimits, GoalRecord } from "../../control/mod.ts";
import { ReasonixError } from "../../core/mod.ts";
import type { ToolRegistry } from "../../tool/mod.ts";
import { type GoalCheckParts, refusalOf } from "./goal_checks.ts";

/** An objective that long belongs into a file. */
const MAX_OBJECTIVE = 20_000;
const MAX_CHECKS = 20;

/** A goal as somebody asks for it. */
export interface GoalRequest {
  readonly objective: string;
  /** Commands that must exit with 0 once it is reached. */
  readonly checks?: readonly string[];
  /** Whether a research record is kept; auto (the default): where the objective looks like it. */
  readonly strategy?: "auto" | "research" | "simple";
}

interface Wanted extends Pick<GoalCheckParts, "gate" | "modes"> {
  readonly registry: Pick<ToolRegistry, "get">;
  readonly objective: string;
  readonly checks: readonly string[];
}

/** Throws a ReasonixError where a goal cannot be worked towards, before anything of it is recorded. */
export async function requireGoal({ objective, checks, modes, registry, gate }: Wanted): Promise<void> {
  if (objective === "") throw unfit("it says nothing", "say what is to be reached");
  if (objective.length > MAX_OBJECTIVE) {
    const remedy = "write it to a file and name the file in the objective";
    throw unfit(`it has ${objective.length} characters, more than ${MAX_OBJECTIVE}`, remedy);
  }
  if (checks.length > MAX_CHECKS) {
    throw unfit(`it has ${checks.length} checks, more than ${MAX_CHECKS}`, "put them into one script");
  }
  if (checks.includes("")) throw unfit("one of its checks is empty", "give --check a command line");
  if (modes.collaboration === "plan") {
    throw unfit("plan mode is on", "leave it with /plan off, or without --permission-mode plan");
  }
  if (!registry.get("update_goal")) {
    throw unfit(
      "the tool update_goal is not offered",
      "add it to [tools] enabled, or use a model with tools",
    );
  }
  for (const check of checks) {
    const refusal = await refusalOf(check, { gate, modes }, new AbortController().signal);
    if (refusal === undefined) continue;
    throw new ReasonixError(`Cannot use the check "${check}": ${refusal}`, {
      exit: "blocked",
      remedy: "change the check, or the rule that refuses it",
    });
  }
}

function unfit(why: string, remedy: string): ReasonixError {
  return new ReasonixError(`Cannot work towards this goal: ${why}`, { exit: "usage", remedy });
}

/** The bounds of a goal; what a run may cost bounds its goal too. */
export function goalLimits({ goal, agent }: Config): GoalLimits {
  const costs = [goal.max_cost, agent.max_cost].filter((limit) => limit > 0);
  return {
    turns: goal.max_turns,
    durationMs: goal.time_limit_seconds * 1000,
    cost: costs.length === 0 ? 0 : Math.min(...costs),
    idle: goal.no_progress_turns,
  };
}

/** What a goal leaves for its next turn. */
export function remaining({ durationMs, cost }: GoalLimits, { leg }: GoalRecord): Limits {
  return {
    ...(durationMs > 0 ? { timeMs: Math.max(1, durationMs - leg.durationMs) } : {}),
    ...(cost > 0 ? { cost: cost - leg.cost } : {}),
  };
}
