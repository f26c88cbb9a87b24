import type { Limits } from "../../agent/mod.ts";
import type { Config } from "../../config/mod.ts";
import type { CheckResult, GoalLimits, GoalRecord } from "../../control/mod.ts";
import { type EventOf, ReasonixError } from "../../core/mod.ts";
import { loadUserCommand, type RunContext, type UserCommandResult } from "../../run/mod.ts";
import type { ToolRegistry } from "../../tool/mod.ts";

/** The commands of a goal, and what others have found out about the turn. */
export class GoalChecks {
  readonly #parts: RunContext;
  /** Commands of the verification whose last run in this turn failed, with what they printed. */
  readonly #unverified = new Map<string, string>();
  #own = false;

  constructor(parts: RunContext) {
    this.#parts = parts;
  }

  /** A turn begins. */
  forget(): void {
    this.#unverified.clear();
  }

  /** Takes what the verification of the turn says. */
  verified({ command, outcome, text = "" }: EventOf<"verification">): void {
    if (this.#own) return;
    if (outcome === "failed" || outcome === "timeout") this.#unverified.set(command, text);
    else this.#unverified.delete(command);
  }

  /** Runs all checks, so that all that fails is known at once. Rejects only when the signal aborts. */
  async run({ checks = [], turns }: GoalRecord, signal: AbortSignal): Promise<readonly CheckResult[]> {
    const results: CheckResult[] = [];
    for (const [command, text] of this.#unverified) results.push({ command, passed: false, text });
    for (const command of checks) {
      signal.throwIfAborted();
      const { durationMs, ...end } = await this.#one(command, signal);
      this.#own = true;
      await this.#parts.recorder.record({
        type: "verification",
        round: turns + 1,
        command,
        outcome: end.outcome,
        ...(end.exitCode === undefined ? {} : { exitCode: end.exitCode }),
        text: end.text,
        durationMs,
      });
      this.#own = false;
      results.push({ command, passed: end.outcome === "passed", text: end.text });
    }
    return results;
  }

  async #one(line: string, signal: AbortSignal): Promise<UserCommandResult> {
    const { tools: { runCommand }, loaded: { config } } = this.#parts;
    const { refusalOf } = await loadUserCommand();
    const refusal = await refusalOf(line, this.#parts, signal);
    if (refusal !== undefined) return { outcome: "failed", text: `not run: ${refusal}`, durationMs: 0 };
    return await runCommand({ line, timeoutSeconds: config.goal.check_timeout_seconds }, signal);
  }
}

/** An objective that long belongs into a file. */
const MAX_OBJECTIVE = 20_000;
const MAX_CHECKS = 20;

interface Wanted extends Pick<RunContext, "gate" | "modes"> {
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
    const { refusalOf } = await loadUserCommand();
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
