import { EXIT, type ExitName, ReasonixError } from "../../../../src/core/mod.ts";
import type { RunResult } from "../../../../src/frontend/mod.ts";

/** Flags of a run that works towards a goal. */
export interface GoalFlags {
  /** The objective; the task beside it is the first message. */
  readonly goal?: string;
  /** Commands that must exit with 0. */
  readonly check?: readonly string[];
  readonly maxGoalTurns?: number;
  readonly research?: boolean;
  readonly simple?: boolean;
}

/** Throws a ReasonixError (usage) for flags that do not go together. */
export function requireGoalFlags({ goal, check = [], maxGoalTurns, research, simple }: GoalFlags): void {
  if (research && simple) throw unfit("--research and --simple exclude each other", "give one of them");
  if (goal === undefined && check.length > 0) {
    throw unfit("--check belongs to a goal", 'say which: --goal "…"');
  }
  if (goal === undefined && !research && maxGoalTurns !== undefined) {
    throw unfit("--max-goal-turns belongs to a goal", 'say which: --goal "…"');
  }
  if (goal?.trim() === "") throw unfit("--goal is empty", "say what is to be reached");
}

function unfit(why: string, remedy: string): ReasonixError {
  return new ReasonixError(`Cannot begin: ${why}`, { exit: "usage", remedy });
}

/** The result of a run with a goal: whether that was reached decides, where its last turn went well. */
export function withGoal(result: RunResult, session: string): RunResult {
  const { goal } = result;
  if (!goal || result.exit !== "done" || goal.state === "complete" || goal.state === "cleared") return result;
  const exit: ExitName = goal.state === "blocked" ? "blocked" : goal.state === "limit" ? "limit" : "failed";
  const { limit, said = [] } = goal;
  const saysHow = said.some(([code]) => code === "goalGoesOn");
  return {
    ...result,
    exit,
    exitCode: EXIT[exit],
    detail: goal.news ?? `Goal ${goal.state}`,
    ...(goal.said ? { said } : {}),
    ...(limit === "cost" || limit === "time" ? { limit } : {}),
    ...(saysHow ? {} : { remedy: `continue with: reasonix run --resume ${session}` }),
  };
}
