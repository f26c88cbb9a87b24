import { isRecord } from "../../../../src/util/json.ts";
import type { Cost, ExitName, Spending } from "../../../../src/core/mod.ts";

/** The outcome of one check. */
export interface CheckResult {
  readonly command: string;
  readonly ok: boolean;
  readonly exit_code: number | null;
  /** End of what it printed. */
  readonly output: string;
}

/** One line of the results: what became of a task. */
export interface TaskResult {
  readonly id: string;
  readonly ok: boolean;
  /** How the run ended, by the names of docs/exit-codes.md; "check": it was done, and a check failed. */
  readonly reason: ExitName | "check";
  readonly error?: string;
  readonly answer: string;
  /** Null: it did not get as far. */
  readonly session: string | null;
  readonly model: string | null;
  readonly usage: Spending["usage"];
  /** Null: a price is not known. */
  readonly cost: Cost | null;
  /** From the prompt to the end of the checks, without interruptions. */
  readonly duration_ms: number;
  readonly checks: readonly CheckResult[];
  /** File with the changes; null: there are none. Absent without work trees. */
  readonly patch?: string | null;
}

/** A task whose end lies at something else than the task is taken up again by the next run. */
const PASSING: readonly TaskResult["reason"][] = [
  "usage",
  "blocked",
  "provider",
  "config",
  "interrupt",
  "terminated",
];

/** Reports whether a task is finished, with whatever success: the next run of its file does not run it. */
export function isFinal({ reason }: Pick<TaskResult, "reason">): boolean {
  return !PASSING.includes(reason);
}

/** Reports whether a value of a journal is a result; only this program writes there. */
export function isTaskResult(value: unknown): value is TaskResult {
  return isRecord(value) && typeof value.id === "string" && typeof value.ok === "boolean" &&
    typeof value.reason === "string" && Array.isArray(value.checks);
}
