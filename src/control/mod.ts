import { lazy } from "../util/lazy.ts";

export { type ControlledDeps, Controller } from "./controller.ts";
export { MemoryStore } from "./memory_store.ts";
export {
  appendIfChanged,
  changeTools,
  type EventSource,
  type EventStore,
  openConversation,
  Recorder,
  recordPrefix,
  type TurnState,
  type WantedPrefix,
} from "./recorder.ts";
export {
  type FileReport,
  previewRewind,
  redoTarget,
  rewind,
  type RewindDeps,
  type RewindPreview,
  type RewindScope,
  type RewindTarget,
  turnTarget,
} from "./rewind.ts";
export { type TurnCheckpointOptions, TurnCheckpoints } from "./turn_checkpoints.ts";

export type * from "./goal/mod.ts";
/** Goals, which few runs have. */
export const loadGoals = lazy(() => import("./goal/mod.ts"));
