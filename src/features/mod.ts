import { lazy } from "../util/lazy.ts";

export { type AgentOptions, createAgent, type EmbeddedAgent, runInternal } from "./create_agent.ts";
export { assemble, loadLog, loadTelemetry } from "./features.ts";
export type { LanguageServerRow } from "./lsp/run_lsp.ts";
export type { KnownServer } from "./mcp/known_servers.ts";
export type { AgentRow } from "./agents/agent_list.ts";
export type { HookRow } from "./hooks/hook_list.ts";

/** The mark that ends several turns without a person. Loaded for runs that have them. */
export const loadDoneMark = lazy(() => import("./steps/steps.ts"));

export const loadHookList = lazy(() => import("./hooks/hook_list.ts"));

export const loadAgentList = lazy(() => import("./agents/agent_list.ts"));

/** The commands that test changes, for the list of what needs trust. */
export const loadVerifyList = lazy(() => import("./verify/verify_commands.ts"));

export const loadLanguageServers = lazy(() => import("./lsp/run_lsp.ts"));

export const loadPluginStart = lazy(() => import("./mcp/plugin_start.ts"));
export const loadServerWork = lazy(() => import("./mcp/known_servers.ts"));
