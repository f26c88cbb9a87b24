import { lazy } from "../util/lazy.ts";

export { SessionBusyError } from "./log/busy.ts";
export {
  agentOfSession,
  findSession,
  lastAnswer,
  listSessions,
  projectDirs,
  sessionIds,
  type SessionInfo,
  titleOf,
} from "./catalogue/catalogue.ts";
export { prunedOutput } from "./state/compact.ts";
export { lastSession } from "./catalogue/last.ts";
export { type CreateOptions, type LoadedEvents, loadEvents, type LogOptions, SessionLog } from "./log/log.ts";
export { projectDir } from "../path/project_dir.ts";
export { newSessionId, type SessionPaths, sessionPaths } from "./paths.ts";
export { apply } from "./state/reduce.ts";
export type { MessageKind } from "./state/messages.ts";
export { repair } from "./state/repair.ts";
export {
  descriptionKey,
  emptyState,
  type MessageSource,
  openGoal,
  openTurn,
  type PendingCall,
  type SessionState,
  type TodoItem,
  type TurnRecord,
} from "./state/state.ts";

/** Copy, fork, rename, delete and prune. Loaded on demand: none of it is needed to run a turn. */
export const loadManage = lazy(() => import("./catalogue/manage.ts"));

export type { Checkpoint, CheckpointOptions, Checkpoints, RestoreReport } from "./checkpoint/checkpoints.ts";
export type { FileRestore, RestoreFailure } from "./checkpoint/restore.ts";

/** Snapshots of the workspace and rewinding of files. Loaded when a turn is about to change something. */
export const loadCheckpoints = lazy(() => import("./checkpoint/checkpoints.ts"));

export type { IndexedSession, SessionIndex } from "./index/index.ts";
export type { SearchHit, SearchOptions, SearchResult, TranscriptPiece } from "./index/search.ts";
export type { CacheReset, StatsOptions, StatsRow } from "./index/stats.ts";
export type { AroundQuery, HistoryAnswer, HistoryQuery } from "./index/history.ts";

/** Lists, full-text search and statistics over many sessions (SQLite). */
export const loadIndex = lazy(() => import("./index/index.ts"));

/** The searches behind the `history` tool. */
export const loadHistory = lazy(() => import("./index/history.ts"));

export type { ExportFormat } from "./export/export.ts";

/** Markdown, HTML and JSON renderings of a session. */
export const loadExport = lazy(() => import("./export/export.ts"));

/** Archives of compacted messages. */
export const loadArchive = lazy(() => import("./log/archive.ts"));
