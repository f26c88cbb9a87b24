import { lazy } from "../util/lazy.ts";

/** Batches: files of tasks, and their results on one machine or on many. */
export { isFinal, isTaskResult } from "./result.ts";
export type { CheckResult, TaskResult } from "./result.ts";
export {
  manifestOf,
  type ResultEntry,
  ResultsDir,
  type RunFacts,
  RunnerSign,
  taskNames,
} from "./results_dir.ts";
export { selectTasks } from "./selection.ts";
export { type BatchTask, DEFAULT_JOBS } from "./task.ts";
export { readTaskFile } from "./task_file.ts";

export const loadEngines = lazy(() => import("./emit/engines.ts"));
export type { RunnerMeter } from "./runner_meter.ts";
export type { BatchTotals } from "./merge.ts";
export const loadMerge = lazy(() => import("./merge.ts"));
export const loadRunnerMeter = lazy(() => import("./runner_meter.ts"));
