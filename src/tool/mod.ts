/** Tools: the contract, the registry, the built-in list and what tools share. */
import { lazy } from "../util/lazy.ts";

export * from "./tool.ts";
export type { BuiltinTool } from "./builtin_tool.ts";
export * from "./services.ts";
export { BUILTINS } from "./builtins.ts";
export { CLAUDE_TOOLS, claudeToolName, toolsNamed } from "./third_party_calls.ts";
export { preparedCall, type ToolAlias, ToolRegistry, type ToolSelection } from "./registry.ts";
export { cutLine, DEFAULT_CAPS, keepEnds, spillPath } from "./truncation.ts";
export { LocalToolHost, type ToolHost } from "./host.ts";

export type { FreeSpace } from "./shell/disk_watch.ts";
export type { JobChange, Jobs, JobSpec, JobUpdate, JobView } from "./shell/jobs/job_table.ts";
export type { SelfCommand } from "./host/worker.ts";
export type { ProcessGuard, ServerProcess, SpawnPlan } from "./shell/process.ts";

export const loadDiff = lazy(() => import("./text/diff.ts"));

export const loadProcesses = lazy(() => import("./shell/process.ts"));

export const loadTreeWalk = lazy(() => import("./search/walk.ts"));

export const loadSymbolEdits = lazy(() => import("./edit/symbol_edits.ts"));

export const loadSchemaCheck = lazy(() => import("./host/schema_check.ts"));

export const loadProcessHost = lazy(() => import("./host/process_host.ts"));

export const loadTextFiles = lazy(() => import("./file/text_file.ts"));

export const loadClientFiles = lazy(() => import("./file/client_files.ts"));
