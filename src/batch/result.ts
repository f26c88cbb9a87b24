import type { Cost, ExitName, Spending } from "../core/mod.ts";
import { isRecord } from "../util/json.ts";

export interface CheckResult {
  readonly command: string;
  readonly ok: boolean;
  readonly exit_code: number | null;
  readonly output: string;
}

export interface TaskResult {
  readonly id: string;
  readonly ok: boolean;
  /**
   * The end of the run by the names of docs/exit-codes.md; "check": it was done, and a check failed. It was
   * not begun, since its repository could not be fetched ("repository") or its setup failed ("setup").
   */
  readonly reason: ExitName | "check" | "repository" | "setup";
  readonly error?: string;
  readonly answer: string;
  /** Null: it was not begun. */
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

/** Ends that have another cause than the task. */
const RETRIED: readonly string[] = ["usage", "blocked", "provider", "config", "interrupt", "terminated"];

/** Reports whether the next run of the file leaves the task out; one that was not begun is not finished. */
export function isFinal({ reason, session }: TaskResult): boolean {
  return session !== null && !RETRIED.includes(reason);
}

/** Only this program writes results where it is called. */
export function isTaskResult(value: unknown): value is TaskResult {
  return isRecord(value) && typeof value.id === "string" && typeof value.reason === "string";
}
