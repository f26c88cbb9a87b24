import type { RunFlags } from "../../run_flags.ts";
import type { Assembly, GoalRequest, TurnInput } from "../../../src/run/mod.ts";
import { message, ReasonixError, usageError } from "../../../src/core/mod.ts";
import { openGoal } from "../../../src/session/mod.ts";

type GoalFlags = Pick<RunFlags, "goal" | "check" | "maxGoalTurns" | "research" | "simple">;

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
  return usageError(message`Cannot begin: ${why}`, remedy);
}

/** The first turn of the goal that the flags ask for, or the one that continues an open goal. */
export async function goalInput(
  { goal, check, research, simple }: GoalFlags,
  { text, piped }: { readonly text: string; readonly piped: string | undefined },
  assembly: Assembly,
): Promise<TurnInput | undefined> {
  const request: GoalRequest | undefined = goal !== undefined || research
    ? {
      objective: goal ?? text,
      ...(check ? { checks: check } : {}),
      strategy: research ? "research" : simple ? "simple" : "auto",
    }
    : undefined;
  if (request) {
    const input = await (await assembly.goals()).begin(request);
    return text === "" ? input : { text };
  }
  if (text !== "") return undefined;
  // What comes on standard input alone is the task, with an open goal too.
  if (piped !== undefined) return { text: piped };
  if (openGoal(assembly.session.state)) return await (await assembly.goals()).resume();
  throw usageError(
    message`No task given, and the session has no open goal to continue`,
    message`say what to do: reasonix run -c "fix the failing test"`,
  );
}
