import { lazy } from "../util/lazy.ts";

export type { LanguageServerRow } from "./lsp/run_lsp.ts";

/** The language servers that are installed. */
export const loadLanguageServers = lazy(() => import("./lsp/run_lsp.ts"));

export { type AgentOptions, createAgent, type EmbeddedAgent, runInternal } from "./agent.ts";
export type { InternalRequest, InternalResult } from "./internal.ts";
export { buildAccessScope, buildWorkspace } from "./access/access_scope.ts";
export { assemble } from "./assemble.ts";
export type { Assembly, SessionStart } from "./assembly.ts";
export { contextReportOf, contextText } from "./context/context_report.ts";
export { gateOptions } from "./access/gate.ts";
export { findSkillSet, gatherPromptInputs } from "./context/prompt_inputs.ts";
export type { PlanAnswer, PlanApproval, PlanProposal, PlanReviewer } from "./plan/reviewer.ts";
export { chosenModel } from "./provider.ts";
export { openForRewind } from "./session/rewinding.ts";
export type { AssemblyOptions, RunOptions } from "./run_options.ts";
export type { RunPaths } from "./run_paths.ts";
export { SandboxSession, withJail } from "./access/sandbox_session.ts";
/** Permission rules as people read them. */
export const loadRuleRows = lazy(() => import("./access/rule_rows.ts"));

/** The mark that ends several turns without a person. Loaded for runs that have them. */
export const loadDoneMark = lazy(() => import("./agent_mode/done_mark.ts"));

/** MCP servers outside of a run. */
export const loadServerWork = lazy(() => import("./plugins/with_servers.ts"));

export type { KnownServer } from "./plugins/with_servers.ts";

/** Hooks outside of a run. */
export const loadHookList = lazy(() => import("./hooks/hook_list.ts"));

export type { HookRow } from "./hooks/hook_list.ts";

/** The agents of a directory, for commands that show them. */
export const loadAgentList = lazy(() => import("./subagents/agent_list.ts"));

/** The commands that test changes, for the list of what needs trust. */
export const loadVerifyList = lazy(() => import("./verify/verify_trust.ts"));

export type { AgentRow } from "./subagents/agent_list.ts";
export { redactorOf } from "./access/secrets.ts";
export { buildRegistry } from "./tools/offered_tools.ts";
export type { TurnInput } from "./context/turn_input.ts";
export type { GoalClock } from "./goal/goal_clock.ts";
export type { GoalRequest } from "./goal/goal_request.ts";
export { loadTrustedConfig, type TrustOptions } from "./access/trusted_config.ts";
export { runWorker } from "./tools/worker.ts";

export type { RuleRow } from "./access/rule_rows.ts";
