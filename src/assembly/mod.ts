export { buildAccessScope, buildWorkspace } from "./access_scope.ts";
export { assemble } from "./assemble.ts";
export type { Assembly } from "./assembly.ts";
export { createCheckpointer } from "./checkpoints.ts";
export { contextReportOf, contextText } from "./context_report.ts";
export { gateOptions } from "./gate.ts";
export { findSkillSet, gatherPromptInputs } from "./prompt_inputs.ts";
export type { RunOptions } from "./run_options.ts";
export type { RunPaths } from "./run_paths.ts";
export { SandboxSession, withJail } from "./sandbox_session.ts";
export { buildRegistry } from "./tools.ts";
export type { Slash } from "./slash_commands.ts";
export { executables, loadTrustedConfig, trustable } from "./trusted_config.ts";

/** Loaded only when a line begins with `/`. */
export const loadSlash = (): Promise<typeof import("./slash_commands.ts")> => import("./slash_commands.ts");
