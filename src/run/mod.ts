import { lazy } from "../util/lazy.ts";

export { buildAccessScope, buildWorkspace } from "./access/access_scope.ts";
export { gateOptions } from "./access/gate.ts";
export type { Modes } from "./access/modes.ts";
export type { RuleRow } from "./access/rule_rows.ts";
export { SandboxSession, withJail } from "./access/sandbox_session.ts";
export { redactorOf, secretsOf } from "./access/secrets.ts";
export { loadTrustedConfig, type TrustOptions } from "./access/trusted_config.ts";
export { Assembly, type SessionStart } from "./assembly.ts";
export { type ContextManager, manageContext } from "./context/context_management.ts";
export { contextReportOf, contextText } from "./context/context_report.ts";
export { findAgentFiles, findSkillSet, gatherPromptInputs } from "./context/prompt_inputs.ts";
export type { TurnInput } from "./context/turn_input.ts";
export type { LanguageServerRow } from "./lsp/run_lsp.ts";
export type { KnownServer } from "./mcp/with_servers.ts";
export type {
  DelegatedTask,
  Features,
  GoalController,
  GoalRequest,
  InternalRequest,
  InternalResult,
  PlanController,
  RunAgents,
  Verification,
} from "./ports.ts";
export { chosenModel, settingModel } from "./provider.ts";
export { openRunBase } from "./run_base.ts";
export type { RunContext } from "./run_context.ts";
export type {
  AssemblyOptions,
  GoalClock,
  PlanAnswer,
  PlanApproval,
  PlanProposal,
  PlanReviewer,
  PreparedHooks,
  RunOptions,
} from "./run_options.ts";
export type { RunPaths } from "./run_paths.ts";
export { createCheckpointer } from "./session/session.ts";
export { opener } from "./session/opening.ts";
export { openForRewind } from "./session/rewinding.ts";
export { openGuardedTools } from "./tools/run_tools.ts";
export { buildRegistry } from "./tools/offered_tools.ts";
export type { UserCommandResult, UserCommandRunner } from "./tools/user_command.ts";
export { loadUserCommand } from "./tools/run_tools.ts";
export { runWorker } from "./tools/worker.ts";
export type { TurnExtension } from "./turns/turn_extensions.ts";

/** Agents by their names, and the tools that name them. */
export const loadAgentNames = lazy(() => import("./agents/known_agents.ts"));
export const loadAgentTools = lazy(() => import("./agents/adapted_tools.ts"));

/** The language servers that are installed. */
export const loadLanguageServers = lazy(() => import("./lsp/run_lsp.ts"));

/** Permission rules as people read them. */
export const loadRuleRows = lazy(() => import("./access/rule_rows.ts"));

/** MCP servers outside of a run. */
export const loadServerWork = lazy(() => import("./mcp/with_servers.ts"));
