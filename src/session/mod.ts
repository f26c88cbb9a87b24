import { lazy } from "../util/lazy.ts";

export {
  type CreateOptions,
  type LoadedEvents,
  loadEvents,
  type LogOptions,
  SessionBusyError,
  SessionLog,
  storedEvents,
} from "./log/log.ts";
export {
  agentOfSession,
  findSession,
  lastAnswer,
  listSessions,
  projectDirs,
  sessionIds,
  type SessionInfo,
  sessionInfo,
  sessionOwner,
  sessionPage,
} from "./catalogue/catalogue.ts";
export {
  apply,
  currentBranch,
  descriptionKey,
  emptyState,
  type MessageKind,
  type MessageSource,
  openGoal,
  openTurn,
  type PendingCall,
  prunedOutput,
  repair,
  type SessionState,
  titleOf,
  type TodoItem,
  type TurnRecord,
} from "./state/state.ts";
export { lastSession, newSessionId, type SessionPaths, sessionPaths } from "./paths.ts";
export { projectDir } from "../path/project_dir.ts";

export type { EventWindow } from "./log/window.ts";

/** Parts of the history of a session. */
export const loadWindow = lazy(() => import("./log/window.ts"));

/** Copy, fork, rename, delete and prune. Loaded on demand: none of it is needed to run a turn. */
export const loadManage = lazy(() => import("./catalogue/manage.ts"));

export type {
  Checkpoint,
  CheckpointOptions,
  Checkpoints,
  FileRestore,
  RestoreFailure,
  RestoreReport,
} from "./checkpoint/checkpoints.ts";

/** Snapshots of the workspace and rewinding of files. Loaded when a turn is about to change something. */
export const loadCheckpoints = lazy(() => import("./checkpoint/checkpoints.ts"));

export type {
  AroundQuery,
  CacheReset,
  HistoryAnswer,
  HistoryQuery,
  IndexedSession,
  SearchHit,
  SearchOptions,
  SearchResult,
  SessionIndex,
  StatsOptions,
  StatsRow,
  TranscriptPiece,
} from "./index/index.ts";

export type { SessionFollower } from "./catalogue/follow.ts";

/** Follows sessions that other processes write. */
export const loadFollow = lazy(() => import("./catalogue/follow.ts"));

export const loadIndex = lazy(() => import("./index/index.ts"));

export const loadHistory = lazy(() => import("./index/index.ts"));

export type { ExportFormat } from "./export/export.ts";

export const loadExport = lazy(() => import("./export/export.ts"));

export const loadArchive = lazy(() => import("./log/archive.ts"));
