import { errorMessage, message, usageError } from "../../core/mod.ts";
import { writeFileAtomic } from "../../util/atomic_write.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { parentDir } from "../paths.ts";
import { ChangeDetector, type DetectorLimits } from "./change_detector.ts";
import { type FileEntry, isSameContent, type SnapshotKind, Timeline } from "./timeline.ts";
import { attempt } from "../../util/lazy.ts";

export interface CheckpointOptions {
  readonly dir: string;
  /** Working directory; resolved to its real path. */
  readonly root: string;
  /** Number of the session's last event. */
  readonly seq: () => number;
  /** Absolute paths never looked at. */
  readonly skip?: (path: string) => boolean;
  readonly limits?: Partial<DetectorLimits>;
}

export interface Checkpoint {
  readonly id: string;
  readonly turn: number;
  /** Files that differ from the snapshot before. */
  readonly files: number;
}

export interface RestoreReport {
  /** The workspace as it was just before, to return to. */
  readonly before: Checkpoint;
  readonly restored: readonly FileRestore[];
  readonly failed: readonly RestoreFailure[];
}

/** Directory of a session's checkpoints, below the session's own directory. */
export const CHECKPOINT_DIR = "checkpoints";
export const TIMELINE_FILE = "snapshots.jsonl";

/** Reads which files the program changed between two events of a session, whose own directory is `dir`. */
export function readChanges(dir: string): (from: number, to: number) => string[] {
  const timeline = Timeline.read(`${dir}/${CHECKPOINT_DIR}/${TIMELINE_FILE}`);
  return (from, to) => timeline.changedDuring(from, to);
}

/**
 * Snapshots of the workspace around each turn that changes something, so that files changed by tools and by
 * shell commands can be restored. The user's repository is read at most, never written.
 *
 * A turn without commands and writing calls costs nothing. Otherwise the workspace is looked at before the
 * first of them, after commands and after the turn; only what differs from the look before is read and kept.
 *
 * Contract: calls are executed one after the other, whatever the caller.
 */
export class Checkpoints {
  readonly #workspace: ChangeDetector;
  readonly #timeline: Timeline;
  readonly #seq: () => number;
  #turn: number;
  /** True while changes since the last snapshot are the program's. */
  #active = false;
  #ready = false;
  #queue: Promise<unknown> = Promise.resolve();

  private constructor(workspace: ChangeDetector, timeline: Timeline, seq: () => number) {
    this.#workspace = workspace;
    this.#timeline = timeline;
    this.#seq = seq;
    this.#turn = timeline.last?.turn ?? 0;
    for (const { kind } of timeline.snapshots) this.#afterSnapshot(kind);
  }

  static open(options: CheckpointOptions): Checkpoints {
    const directory = `${options.dir}/${CHECKPOINT_DIR}`;
    const workspace = new ChangeDetector({
      root: Deno.realPathSync(options.root),
      blobs: `${directory}/blobs`,
      stagingName: `.reasonix-${options.dir.split(/[\\/]/).at(-1)}.tmp`,
      ...(options.skip ? { skip: options.skip } : {}),
      ...(options.limits ? { limits: options.limits } : {}),
    });
    return new Checkpoints(workspace, Timeline.open(`${directory}/${TIMELINE_FILE}`), options.seq);
  }

  /** A turn begins. Nothing is looked at yet. */
  begin(turn: number): void {
    this.#turn = turn;
    this.#ready = false;
  }

  /**
   * Must be awaited before the first call of a turn that may change files. Returns the checkpoint when this
   * call took it (to be reported as an event), else undefined.
   */
  ready(): Promise<Checkpoint | undefined> {
    return this.#inOrder(async () => {
      if (this.#ready) return undefined;
      const { checkpoint } = await this.#look("start");
      this.#ready = true;
      return checkpoint;
    });
  }

  /**
   * Must be awaited before a tool changes this file (real absolute path): also covers ignored, large and
   * outside files.
   */
  async before(path: string): Promise<Checkpoint | undefined> {
    const checkpoint = await this.ready();
    await this.#inOrder(async () => {
      const name = this.#workspace.relative(path);
      // A file that a command of this turn created is not one that was there before.
      if (!this.#timeline.current.has(name) && this.#workspace.holds(name)) await this.#look("look");
      const known = this.#timeline.current.get(name);
      if (known === null || (known && known.h !== null)) return;
      const entry = await this.#workspace.keep(name);
      this.#timeline.add({
        kind: "before",
        by: this.#by(),
        seq: this.#seq(),
        turn: this.#turn,
        time: this.#timeline.last?.time ?? Date.now(),
        changed: {},
        found: { [name]: entry },
      });
    });
    return checkpoint;
  }

  /**
   * Looks for what a command changed. Returns the paths that differ from the look before, but no ignored
   * ones, to which other programs write all the time.
   */
  detect(): Promise<readonly string[]> {
    return this.#inOrder(async () => this.#ready ? (await this.#look("look")).visible : []);
  }

  /** Returns the paths that differ from the beginning of the turn, without ignored ones, sorted. */
  changed(): Promise<readonly string[]> {
    return this.#inOrder(async () => {
      if (!this.#ready) return [];
      await this.#look("look");
      const timeline = this.#timeline;
      const start = timeline.snapshots.findLast(({ kind }) => kind === "start")?.id ?? 0;
      return [...timeline.changedSince(start)].filter((path) =>
        !this.#workspace.isIgnored(path) &&
        !isSameContent(timeline.at(path, start) ?? null, timeline.current.get(path) ?? null)
      ).sort();
    });
  }

  /**
   * A turn is over: what changed in it is the program's doing, what changes from now on is not. Returns as
   * `detect` does.
   */
  end(): Promise<readonly string[]> {
    return this.#inOrder(async () => {
      const paths = this.#ready ? (await this.#look("end")).visible : [];
      this.#ready = false;
      return paths;
    });
  }

  /**
   * Returns the checkpoint that shows the files as they were at an event; undefined when nothing changed
   * since.
   */
  checkpointFor(seq: number): string | undefined {
    return this.#timeline.snapshotFor(seq)?.toString();
  }

  preview(to: string): Promise<FileRestore[]> {
    return this.#inOrder(async () => {
      const id = this.#snapshot(to);
      await this.#look("look");
      return planRestore(this.#timeline, id);
    });
  }

  /**
   * Ignored files and directories (with `/` at the end) that were too many to keep at a checkpoint or are so
   * now.
   */
  uncovered(to: string): string[] {
    const id = this.#snapshot(to);
    return [...new Set([...this.#timeline.skippedAt(id), ...this.#timeline.skippedAt()])].sort();
  }

  /** Unified diff of what a restore does to one file; undefined for binary or unavailable content. */
  async diff(change: FileRestore): Promise<string | undefined> {
    const [now, target] = await Promise.all([change.now, change.target].map(async (entry) => {
      if (entry === null) return "";
      const bytes = await this.#workspace.content(entry);
      return bytes && !bytes.includes(0) ? new TextDecoder().decode(bytes) : undefined;
    }));
    if (now === undefined || target === undefined) return undefined;
    const { createTwoFilesPatch } = await import("diff");
    const patch = createTwoFilesPatch("", "", now, target);
    // The library writes names that are not ASCII in octal.
    const name = oneLine(change.path, 400);
    const hunks = patch.slice(Math.max(0, patch.indexOf("\n@@") + 1));
    return `--- ${name}\tnow\n+++ ${name}\tafter\n${hunks.startsWith("@@") ? hunks : ""}`;
  }

  /** Brings the files the program changed since a checkpoint back to how they were there. */
  restore(to: string): Promise<RestoreReport> {
    return this.#inOrder(async () => {
      const id = this.#snapshot(to);
      const { checkpoint: before } = await this.#look("rewind");
      const plan = planRestore(this.#timeline, id);
      const failed = await applyRestore(this.#workspace, plan);
      await this.#look("restored");
      this.#ready = false;
      const bad = new Set(failed.map(({ path }) => path));
      return { before, restored: plan.filter(({ path }) => !bad.has(path)), failed };
    });
  }

  async #look(kind: SnapshotKind): Promise<{ checkpoint: Checkpoint; visible: readonly string[] }> {
    const { last, current } = this.#timeline;
    const { time, changed, found, skipped } = await this.#workspace.detect(current, last?.time);
    const paths = Object.keys(changed);
    const visible = paths.filter((path) => !this.#workspace.isIgnored(path));
    const turn = this.#turn;
    const checkpoint = { turn, files: paths.length };
    if (kind === "look" && paths.length === 0) {
      return { checkpoint: { id: String(last?.id ?? 0), ...checkpoint }, visible };
    }
    const isChanged = skipped.join("\0") !== this.#timeline.skippedAt().join("\0");
    const { id } = this.#timeline.add({
      kind,
      by: this.#by(),
      seq: this.#seq(),
      turn,
      time,
      changed,
      found,
      ...(isChanged ? { skipped } : {}),
    });
    this.#afterSnapshot(kind);
    return { checkpoint: { id: String(id), ...checkpoint }, visible };
  }

  #by(): "program" | "user" {
    return this.#active ? "program" : "user";
  }

  #afterSnapshot(kind: SnapshotKind): void {
    if (kind === "start" || kind === "rewind") this.#active = true;
    else if (kind === "end" || kind === "restored") this.#active = false;
  }

  #snapshot(id: string): number {
    const found = this.#timeline.snapshots.find((snapshot) => String(snapshot.id) === id);
    if (found) return found.id;
    throw usageError(
      message`Cannot rewind files to checkpoint ${id}: the session has no such checkpoint`,
      message`choose a turn that changed files`,
    );
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => {});
    return result;
  }
}

export interface FileRestore {
  /** Relative to the workspace, or absolute outside of it. */
  readonly path: string;
  readonly action: "create" | "update" | "delete";
  readonly now: FileEntry | null;
  readonly target: FileEntry | null;
  /** Another process changed it too since then; that change would be lost. */
  readonly alsoByUser: boolean;
  readonly unavailable?: string;
}

export interface RestoreFailure {
  readonly path: string;
  readonly reason: string;
}

/**
 * Returns what has to happen so that the files the program changed are as they were at a snapshot. Other
 * files are left alone.
 */
function planRestore(timeline: Timeline, to: number): FileRestore[] {
  const plan: FileRestore[] = [];
  for (const path of timeline.changedSince(to)) {
    const target = timeline.at(path, to);
    const now = timeline.current.get(path) ?? null;
    if (target === undefined || isSameContent(now, target)) continue;
    plan.push({
      path,
      action: target === null ? "delete" : now === null ? "create" : "update",
      now,
      target,
      alsoByUser: timeline.touchedByUser(path, to),
      ...(target?.h === null ? { unavailable: "Its content was too large to keep" } : {}),
    });
  }
  return plan.sort((a, b) => a.path < b.path ? -1 : 1);
}

/** Executes a plan: deletions first, since a directory may replace a file. */
async function applyRestore(
  workspace: ChangeDetector,
  plan: readonly FileRestore[],
): Promise<RestoreFailure[]> {
  const failures: RestoreFailure[] = [];
  const attempt = async (path: string, work: () => void | Promise<void>) => {
    try {
      await work();
    } catch (error) {
      failures.push({ path, reason: errorMessage(error) });
    }
  };
  const deletions = plan.filter(({ target }) => target === null).reverse();
  for (const { path } of deletions) await attempt(path, () => deleteFile(workspace, path));
  for (const { path, target, unavailable } of plan) {
    if (unavailable) failures.push({ path, reason: unavailable });
    else if (target) await attempt(path, () => writeBack(workspace, path, target));
  }
  return failures;
}

function deleteFile(workspace: ChangeDetector, path: string): void {
  const absolute = workspace.absolute(path);
  assertInside(workspace, path, absolute);
  Deno.removeSync(absolute);
  removeEmptyDirectories(workspace, parentDir(absolute));
}

/** Directories that held nothing but what was deleted were made for it. */
function removeEmptyDirectories(workspace: ChangeDetector, directory: string): void {
  for (
    let dir = directory;
    dir.length > workspace.root.length && dir.startsWith(workspace.root);
    dir = parentDir(dir)
  ) {
    try {
      Deno.removeSync(dir);
    } catch {
      return;
    }
  }
}

async function writeBack(workspace: ChangeDetector, path: string, target: FileEntry): Promise<void> {
  const content = await workspace.content(target);
  if (!content) throw new Error("Its content is not kept any more");
  const absolute = workspace.absolute(path);
  const directory = parentDir(absolute);
  assertInside(workspace, path, absolute);
  Deno.mkdirSync(directory, { recursive: true });
  const present = lstat(absolute);
  if (target.l || present?.isSymlink) {
    if (present && !present.isDirectory) Deno.removeSync(absolute);
  } else if (present?.isDirectory) removeEmptyTree(absolute);
  if (target.l) Deno.symlinkSync(new TextDecoder().decode(content), absolute);
  else {
    const { stagingName: temporaryName } = workspace;
    await writeFileAtomic(absolute, content, { setMode: target.x, temporaryName });
  }
}

/** A link put in the place of a directory must not lead a rewind out of the workspace. */
function assertInside(workspace: ChangeDetector, path: string, absolute: string): void {
  if (path === absolute) return;
  let directory = parentDir(absolute);
  while (directory.length > workspace.root.length && !lstat(directory)) directory = parentDir(directory);
  const real = Deno.realPathSync(directory);
  if (real !== directory) throw new Error(`Its directory leads to ${real}`);
}

function removeEmptyTree(directory: string): void {
  for (const entry of Deno.readDirSync(directory)) {
    if (entry.isDirectory) removeEmptyTree(`${directory}/${entry.name}`);
  }
  Deno.removeSync(directory);
}

function lstat(path: string): Deno.FileInfo | undefined {
  return attempt(() => Deno.lstatSync(path));
}
