/** Tools: the contract, the registry, the built-in list and what tools share. */
import { lazy } from "../util/lazy.ts";

export * from "./tool.ts";
export type { BuiltinTool } from "./builtin_tool.ts";
export * from "./services/services.ts";
export { openServices, type ServiceOptions, type SessionServices } from "./services/session_services.ts";
export { BUILTINS } from "./builtins.ts";
export { CLAUDE_TOOLS, toolsNamed } from "./third_party_calls.ts";
export { preparedCall, type ToolAlias, ToolRegistry, type ToolSelection } from "./registry.ts";
export { DEFAULT_CAPS, keepEnds, spillPath } from "./truncation.ts";
export { LocalToolHost, type ToolHost } from "./host.ts";

/** Starts a process in a group of its own. */
export const loadSpawnSession = lazy(() => import("./shell/spawn_session.ts"));

export type { ServerProcess } from "./shell/server_process.ts";

/** Starts a server in a process group of its own, and ends it with all that it started. */
export const loadServerProcess = lazy(() => import("./shell/server_process.ts"));

/** Watches such a process to its end, and ends its group. */
export const loadShellProcess = lazy(() => import("./shell/process.ts"));

/** Walks a tree as ignore files allow. */
export const loadTreeWalk = lazy(() => import("./search/walk.ts"));

/** The tools that edit symbols through a language server, and the patch that they apply. */
export const loadSymbolEdits = lazy(() => import("./edit/symbol_edits.ts"));

/** Checks of values against JSON Schemas, within a limit of time. */
export const loadSchemaCheck = lazy(() => import("./host/schema_check.ts"));

/** Running tools in a process of their own. */
export const loadProcessHost = lazy(() => import("./host/process_host.ts"));
