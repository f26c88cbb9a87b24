import type { Cost } from "../../core/mod.ts";

/** A part of the task for another agent. */
export interface AgentTask {
  readonly agent: string;
  readonly prompt: string;
  /** What it is to do, in a few words, for people. */
  readonly description?: string;
  /** True: the call does not wait for its end. */
  readonly background?: boolean;
  /** A working tree of its own, whose changes come back as a patch. */
  readonly isolation?: "worktree";
  /** Identifier of an earlier task, whose conversation goes on. */
  readonly resume?: string;
  /** Only what reads: an agent that may do more is held to that. */
  readonly readOnly: boolean;
  /** The call that gives it; absent: the program itself does. */
  readonly callId?: string;
}

/** What became of such a task so far. */
export interface AgentReport {
  readonly id: string;
  readonly agent: string;
  readonly state: "running" | "ok" | "error" | "aborted";
  /** What it answered, whole; its last words when it was cut short. */
  readonly answer: string;
  /** Why it was cut short. */
  readonly problem?: string;
  readonly steps: number;
  readonly cost?: Cost;
  readonly durationMs: number;
  /** What the model should know beside the answer, a line each. */
  readonly notes: readonly string[];
}

/**
 * Other agents that work on parts of the task. A string says, for the model, why not.
 *
 * Contract: rejects only when the signal aborts, and then soon.
 */
export interface AgentPort {
  run(task: AgentTask, signal: AbortSignal): Promise<AgentReport | string>;
  /** Waits at most so long for the end of a task. */
  output(id: string, milliseconds: number, signal: AbortSignal): Promise<AgentReport | string>;
  stop(id: string): Promise<AgentReport | string>;
}
