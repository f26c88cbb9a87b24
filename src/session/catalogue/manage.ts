import { EVENT_VERSION, message, usageError } from "../../core/mod.ts";
import { FileLock } from "../../util/lock.ts";
import { scanJsonl } from "../../util/json.ts";
import { loadEvents, SessionBusyError, SessionLog } from "../log/log.ts";
import type { SessionInfo } from "./catalogue.ts";
import { CHECKPOINT_DIR, TIMELINE_FILE } from "../checkpoint/checkpoints.ts";
import { copyTimeline } from "../checkpoint/timeline.ts";
import { isUsable } from "../state/state.ts";
import { newSessionId, parentDir, pathsOfFile, type SessionPaths, sessionPaths } from "../paths.ts";
import { attempt } from "../../util/lazy.ts";
import { writeFully } from "../../util/atomic_write.ts";

export interface CopyOptions {
  readonly version: string;
  /** Last event to take over; all when absent. */
  readonly upTo?: number;
  readonly id?: string;
  readonly now?: () => Date;
}

/**
 * Copies a session, or its beginning, under a new id in the same project. Works while another process writes
 * the original. Events keep their numbers, so what refers to them stays right; checkpoints come along.
 */
export function copySession(path: string, options: CopyOptions): SessionPaths {
  const source = pathsOfFile(path);
  const now = (options.now ?? (() => new Date()))();
  const { state } = loadEvents(path);
  const upTo = Math.min(options.upTo ?? state.lastSeq, state.lastSeq);
  const target = sessionPaths(parentDir(parentDir(path)), options.id ?? newSessionId(now));
  const head = JSON.stringify({
    v: EVENT_VERSION,
    seq: 1,
    time: now.toISOString(),
    type: "session.start",
    session: target.id,
    version: options.version,
    cwd: state.cwd ?? "",
    parent: { session: state.session ?? source.id, seq: upTo },
  });
  copyCheckpoints(source, target, upTo);
  // A session is there as soon as its file has its name: a copy that is killed must not look like one.
  const unfinished = `${target.path}.part`;
  const file = Deno.openSync(unfinished, { write: true, createNew: true, mode: 0o600 });
  try {
    const encoder = new TextEncoder();
    let pending = [head];
    let size = 0;
    const flush = () => {
      if (pending.length > 0) writeFully(file, encoder.encode(`${pending.join("\n")}\n`));
      pending = [];
      size = 0;
    };
    scanJsonl(path, (value) => {
      if (!isUsable(value) || value.seq > upTo || value.type === "session.start") return;
      const line = JSON.stringify(value);
      pending.push(line);
      size += line.length;
      if (size > 1 << 20) flush();
    });
    flush();
  } finally {
    file.close();
  }
  Deno.renameSync(unfinished, target.path);
  return target;
}

function copyCheckpoints(source: SessionPaths, target: SessionPaths, upTo: number): void {
  const [from, to] = [source, target].map(({ dir }) => `${dir}/${CHECKPOINT_DIR}`);
  copyTimeline(`${from}/${TIMELINE_FILE}`, `${to}/${TIMELINE_FILE}`, upTo);
  linkTree(`${from}/blobs`, `${to}/blobs`);
}

/**
 * Creates a session that continues after the given turn. Throws ReasonixError (usage) when there is no such
 * finished turn.
 */
export function forkSession(path: string, turn: number, options: CopyOptions): SessionPaths {
  const { turns } = loadEvents(path).state;
  const record = turns.find((candidate) => candidate.turn === turn);
  if (record?.to === undefined) {
    const known = turns.filter(({ to }) => to !== undefined).map((candidate) => candidate.turn);
    throw usageError(
      message`Cannot fork ${pathsOfFile(path).id} at turn ${turn}: no such finished turn`,
      known.length > 0 ? message`choose one of ${known}` : message`the session has no finished turn yet`,
    );
  }
  return copySession(path, { ...options, upTo: record.to });
}

/** Contents are never changed once stored, so both sessions can share the files. */
function linkTree(from: string, to: string): void {
  const entries = attempt(() => [...Deno.readDirSync(from)]);
  if (!entries) return;
  Deno.mkdirSync(to, { recursive: true, mode: 0o700 });
  for (const entry of entries) {
    const [source, target] = [`${from}/${entry.name}`, `${to}/${entry.name}`];
    if (entry.isDirectory) linkTree(source, target);
    else linkOrCopy(source, target);
  }
}

function linkOrCopy(source: string, target: string): void {
  try {
    Deno.linkSync(source, target);
  } catch {
    Deno.copyFileSync(source, target);
  }
}

/** Removes a session with everything kept for it. Throws SessionBusyError while a process writes it. */
export function deleteSession(paths: SessionPaths): void {
  const result = FileLock.tryAcquire(paths.lock);
  if (!result.held) throw new SessionBusyError(paths.id, result.owner);
  try {
    Deno.removeSync(paths.path);
    try {
      Deno.removeSync(paths.dir, { recursive: true });
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  } finally {
    result.lock.release();
  }
}

/** Gives a session a title. Throws SessionBusyError while a process writes it. */
export function renameSession(path: string, title: string): void {
  const log = SessionLog.open(path);
  try {
    log.append({ type: "session.rename", title });
  } finally {
    log.close();
  }
}

/** The sessions that `session prune` may remove. */
export interface PruneRule {
  readonly now: Date;
  /** Sessions not changed for this many days, fractions included. */
  readonly olderThanDays?: number;
  /** All but this many latest sessions. */
  readonly keep?: number;
}

/**
 * The sessions a rule lets go, oldest last; `sessions` as {@linkcode SessionInfo} lists come, latest first.
 */
export function pruneCandidates(sessions: readonly SessionInfo[], rule: PruneRule): SessionInfo[] {
  const before = rule.olderThanDays === undefined
    ? Infinity
    : rule.now.getTime() - rule.olderThanDays * 86_400_000;
  if (rule.olderThanDays === undefined && rule.keep === undefined) return [];
  return sessions.slice(rule.keep ?? 0).filter(({ updated }) => Date.parse(updated) < before);
}
