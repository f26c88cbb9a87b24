import type { RunFlags } from "../../run_flags.ts";
import { type InputReporter, readTask, type Task } from "../../terminal/stdin.ts";
import type { Assembly, GoalRequest, TurnInput } from "../../../src/assembly/mod.ts";
import { ReasonixError, usageError } from "../../../src/core/mod.ts";
import { openGoal } from "../../../src/session/mod.ts";

type GoalFlags = Pick<RunFlags, "goal" | "check" | "maxGoalTurns" | "research" | "simple">;

/** Throws a ReasonixError (usage) for flags that do not go together. */
function requireGoalFlags({ goal, check = [], maxGoalTurns, research, simple }: GoalFlags): void {
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
  return usageError(`Cannot begin: ${why}`, remedy);
}

/**
 * Reads the task of a run. An open goal to continue without a task is only known once the session is
 * open: then `assembly` is asked for.
 */
export class TaskReader {
  readonly #flags: Partial<RunFlags>;
  readonly #words: readonly string[];
  readonly #reporter: InputReporter;

  constructor(flags: Partial<RunFlags>, words: readonly string[], reporter: InputReporter) {
    this.#flags = flags;
    this.#words = words;
    this.#reporter = reporter;
    requireGoalFlags(flags);
  }

  /** The task, as far as it can be read before the session is open. */
  async ahead(): Promise<Task | undefined> {
    const { goal, continue: latest = false, resume } = this.#flags;
    const goesOn = goal === undefined && this.#words.length === 0 && (latest || resume !== undefined);
    return goesOn ? undefined : await readTask(this.#words, this.#reporter, { optional: goal !== undefined });
  }

  async late({ session: { state } }: Assembly): Promise<Task> {
    return await readTask(this.#words, this.#reporter, { optional: openGoal(state) !== undefined });
  }
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
    "No task given, and the session has no open goal to continue",
    'say what to do: reasonix run -c "fix the failing test"',
  );
}
