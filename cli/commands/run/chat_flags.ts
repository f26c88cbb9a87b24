import type { ApprovalMode } from "../../../src/permission/mod.ts";
import type { BatchFlags, RunFlags } from "./config.ts";

/** Flags of a run that mean nothing in a chat, or have another name there. */
type RunOnly =
  | "check"
  | "goal"
  | "maxGoalTurns"
  | "research"
  | "simple"
  | keyof BatchFlags
  | "inputFormat"
  | "includePartialMessages"
  | "jsonSchema"
  | "maxBudgetUsd"
  | "maxTurns"
  | "metrics"
  | "onAsk"
  | "output"
  | "outputFormat"
  | "permissionPromptTool"
  | "planThenRun"
  | "preferModel"
  | "quiet"
  | "raw"
  | "steps"
  | "stream"
  | "verbose";

/** Flags of the chat: those of a run that make sense in it, and its own. */
export interface ChatFlags extends Omit<RunFlags, RunOnly> {
  readonly approvalMode?: ApprovalMode;
  /** Plain lines, whatever the terminal can do. */
  readonly linear?: boolean;
}

/** The session to begin with. */
export function startOf(flags: ChatFlags) {
  return {
    ...(flags.continue ? { continue: true } : {}),
    ...(flags.resume ? { resume: flags.resume } : {}),
    ...(flags.copy || flags.forkSession ? { copy: true } : {}),
  };
}
