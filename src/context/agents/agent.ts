import type { SkillScope } from "../skills/skill.ts";

/** Another agent as its file, or the program, describes it. */
export interface AgentDefinition {
  readonly name: string;
  /** What it is for, on one line. */
  readonly description: string;
  /** Added to its system prompt. */
  readonly prompt: string;
  /** Files and commands stay as they are for it. */
  readonly readOnly: boolean;
  /** The only tools it is offered, by their own names; absent: those of the run. */
  readonly tools?: readonly string[];
  /** Tools it is not offered. */
  readonly withoutTools?: readonly string[];
  /** Model as its file names it. */
  readonly model?: string;
  /** Permission rules on top of the user's. */
  readonly deny?: readonly string[];
  readonly ask?: readonly string[];
  readonly maxSteps?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly isolation?: "worktree";
  readonly scope: "builtin" | SkillScope;
  /** The file that describes it; absent: the program does. */
  readonly file?: string;
  /** The skill whose instructions it follows. */
  readonly skill?: string;
}

/** The agents that files describe, sorted by name. */
export interface AgentFiles {
  readonly agents: readonly AgentDefinition[];
  readonly warnings: readonly AgentWarning[];
  /** Agents of the project that count once the user trusts them. */
  readonly untrusted: readonly AgentDefinition[];
}

/** Something wrong with an agent file. */
export interface AgentWarning {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}
