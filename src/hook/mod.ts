/** Hooks: programs of the user's that run at events of a session and have a say in what happens. */
import { lazy } from "../util/lazy.ts";

export { factsOf, HOOK_EVENTS, type HookEvent, isHookEvent } from "./events.ts";
export { formatHookProblem, type HookSource, readHooks } from "./hook.ts";
export { type HookLauncher, hookNote, type HookOutcome, Hooks } from "./hooks.ts";
export { missingCommands } from "./missing.ts";
export type { HookRun } from "./read_run.ts";
export { sampleInput } from "./sample.ts";
export { type HookedCall, hookToolInput, hookToolName, hookToolNames, ownArguments } from "./tool_names.ts";
/** Runs the programs. */
export const loadHookProcess = lazy(() => import("./run_hook.ts"));
