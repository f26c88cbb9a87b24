import type { RunPaths } from "../../../../../src/assembly/mod.ts";
import type { ProcessGuard } from "../../../../../src/tool/mod.ts";
import type { RunFlags } from "../../config.ts";
import type { BatchJournal } from "../journal.ts";
import { EXIT, type ExitName } from "../../../../../src/core/mod.ts";
import type { KeyedTask } from "../keyed_task.ts";
import { childRun } from "./child_run.ts";
import { flagWords } from "./flag_words.ts";
import GO_ON from "./go_on.md" with { type: "text" };
import type { SessionFacts, TaskOutcome } from "./session_facts.ts";

/** What the tasks of a batch share. */
export interface TaskRunParts {
  readonly flags: RunFlags;
  readonly paths: RunPaths;
  readonly journal: BatchJournal;
  /** Each task works in a work tree of its own. */
  readonly worktree: boolean;
  /** Directory for patches. */
  readonly patches: string;
  readonly guard: ProcessGuard;
  readonly signal: AbortSignal;
}

/** What a task has spent: before this run of it (`spent`), or just now (`more`). */
export type OnSpending = (amount: { readonly spent?: number; readonly more?: number }) => void;

/** A run of a task, from its beginning or from where its session was left. */
interface Attempt {
  readonly keyed: KeyedTask;
  readonly parts: TaskRunParts;
  readonly cwd: string;
  readonly session: string;
  readonly before: SessionFacts;
  readonly maxCost: number | undefined;
  readonly onSpending: OnSpending;
}

/** Runs the program for a task, and says how that ended. */
export async function runChild(attempt: Attempt): Promise<TaskOutcome> {
  const { keyed: { task }, parts, cwd, session, before, maxCost, onSpending } = attempt;
  const { flags, paths, guard, signal } = parts;
  const model = task.model ?? flags.model;
  const args = [
    "run",
    ...flagWords(flags),
    "--quiet",
    "--output-format=jsonl",
    `--dir=${cwd}`,
    ...(model === undefined ? [] : [`--model=${model}`]),
    ...(maxCost === undefined ? [] : [`--max-cost=${maxCost}`]),
    before.exists ? `--resume=${session}` : `--session-id=${session}`,
    "-",
  ];
  const prompt = before.begun ? GO_ON.trim() : task.prompt;
  const onProgress = ({ cost }: { readonly cost?: number }) => {
    if (cost !== undefined) onSpending({ more: cost });
  };
  const { result, crash } = await childRun({ args, prompt, cwd: paths.cwd, guard, signal, onProgress });
  if (!result) return { reason: "terminated", answer: "", error: `The run of the task broke off: ${crash}` };
  return {
    reason: exitName(result.exit_code),
    answer: typeof result.result === "string" ? result.result : "",
    ...(typeof result.error === "string" ? { error: result.error } : {}),
  };
}

function exitName(code: unknown): ExitName {
  return (Object.keys(EXIT) as ExitName[]).find((name) => EXIT[name] === code) ?? "failed";
}
