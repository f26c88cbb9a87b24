import { lazy } from "../util/lazy.ts";

export { environmentText, gitBranch, localDate, systemPrompt } from "./system_prompt.ts";
export {
  type InstructionFile,
  type Instructions,
  type LateInstructionOptions,
  LateInstructions,
  loadInstructions,
} from "./instructions.ts";
export type { ReferenceOptions, References, ResourceText } from "./references.ts";
export const loadReferences = lazy(() => import("./references.ts"));
export { Compaction } from "./compaction/compaction.ts";
export type {
  CompactedConversation,
  CompactionHooks,
  CompactionMethod,
  CompactionOptions,
  CompactionReport,
  CompactionSettings,
} from "./compaction/options.ts";

export const loadRoughTokens = lazy(() => import("./rough_tokens.ts"));

export type { SkillSet } from "./skills/discover.ts";
export { agentRoots, bundleRoots, type CommandRoots, commandRoots, findSkills } from "./skills/roots.ts";
export type { AgentDefinition, AgentFiles, AgentWarning } from "./agents.ts";

export const loadAgents = lazy(() => import("./agents.ts"));
export type { Skill, SkillRoot, SkillRoots, SkillScope, SkillSource, SkillWarning } from "./skills/skill.ts";
export type { SkillActivation, SkillFinding, Skills, SkillsOptions, SlashSkill } from "./skills/mod.ts";

/** Catalogue, activation and validation of skills. Loaded when there are any. */
export const loadSkills = lazy(() => import("./skills/mod.ts"));

export type { TodoReminder } from "./todo_reminder.ts";

/** Reminders of open entries of the todo list. Loaded when there is one. */
export const loadTodoReminder = lazy(() => import("./todo_reminder.ts"));

/** Instruction files by pattern. Loaded when an entry of `instructions` has one. */
export const loadInstructionGlobs = lazy(() => import("./instruction_globs.ts"));

export type { ContextCategory, ContextReport, LoadedPart, ReportInput } from "./report.ts";

export const loadReport = lazy(() => import("./report.ts"));
