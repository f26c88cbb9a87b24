import { lazy } from "../util/lazy.ts";

export {
  buildAccessScope,
  buildWorkspace,
  deniedGlobs,
  loadTrustedConfig,
  openAccessScope,
  redactorOf,
  secretsOf,
  type TrustOptions,
  type Warning,
} from "./access/access_scope.ts";
export { configuredRules, gateOptions, type Modes } from "./access/gate.ts";
export type { RuleRow } from "./access/rule_rows.ts";
export { SandboxSession, withJail } from "./access/sandbox_session.ts";
export {
  type Assemble,
  assembleWith,
  type Assembly,
  type RunFeatures,
  type SessionFacts,
  type SessionStart,
} from "./assembly.ts";
export { contextReportOf, contextText } from "./context/context_management.ts";
export { findAgentFiles, findSkillSet, gatherPromptInputs } from "./context/prompt_inputs.ts";
export type {
  AssemblyOptions,
  BatchContext,
  DelegatedTask,
  Features,
  GoalClock,
  GoalController,
  GoalRecord,
  GoalRequest,
  InternalRequest,
  InternalResult,
  PlanAnswer,
  PlanApproval,
  PlanController,
  PlanProposal,
  PlanReviewer,
  RunAgents,
  RunOptions,
  RunPaths,
  RunTelemetry,
  TurnInput,
  Verification,
} from "./run_options.ts";
export { chosenModel, providerOf, settingModel } from "./provider.ts";
export { loadUserCommand, type RunContext } from "./run_context.ts";
export type {
  AdmitImages,
  AdmittedImages,
  LanguageDeps,
  LanguageSupport,
  PluginDeps,
  RemotePlugins,
  RunPlugins,
  ScopedDeps,
  TurnExtension,
} from "./run_features.ts";
export { openForRewind } from "./session/session.ts";
export { buildRegistry } from "./tools/toolbox.ts";
export type { UserCommandResult, UserCommandRunner } from "./tools/user_command.ts";
export { runWorker } from "./tools/worker.ts";

/** Agents by their names, and the tools that name them. */
export const loadKnownAgents = lazy(() => import("./agents.ts"));

export const loadRuleRows = lazy(() => import("./access/rule_rows.ts"));
