export {
  appendIfChanged,
  changeTools,
  type ControlledDeps,
  Controller,
  type EventSource,
  type EventStore,
  openConversation,
  Recorder,
  recordPrefix,
  type TurnState,
  type WantedPrefix,
} from "./recorder.ts";
export { MemoryStore } from "./memory_store.ts";
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
