import type { CheckResult, GoalRecord } from "../../control/mod.ts";
import type { EventOf } from "../../core/mod.ts";
import { loadOwnCommand, type OwnCommandEnd, type RunContext } from "../../run/mod.ts";

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

  async #one(line: string, signal: AbortSignal): Promise<OwnCommandEnd> {
    const { tools: { runCommand }, loaded: { config } } = this.#parts;
    const { refusalOf } = await loadOwnCommand();
    const refusal = await refusalOf(line, this.#parts, signal);
    if (refusal !== undefined) return { outcome: "failed", text: `not run: ${refusal}`, durationMs: 0 };
    return await runCommand({ line, timeoutSeconds: config.goal.check_timeout_seconds }, signal);
  }
}
