import { errorMessage } from "../../core/mod.ts";
import { writeFileAtomic } from "../../util/atomic_write.ts";
import { parentDir } from "../paths.ts";
import { type FileEntry, isSameContent } from "./entry.ts";
import type { Timeline } from "./timeline.ts";
import type { ChangeDetector } from "./change_detector.ts";

/** One file a rewind brings back. */
export interface FileRestore {
  /** Relative to the workspace, or absolute outside of it. */
  readonly path: string;
  readonly action: "create" | "update" | "delete";
  readonly now: FileEntry | null;
  readonly target: FileEntry | null;
  /** Somebody else changed it too since then; that change would go as well. */
  readonly alsoByUser: boolean;
  /** The reason it cannot be brought back. */
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
export function planRestore(timeline: Timeline, to: number): FileRestore[] {
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

/** Carries a plan out: deletions first, since a file may have to make way for a directory. */
export async function applyRestore(
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
  removeEmptyFolders(workspace, parentDir(absolute));
}

/** Directories that held nothing but what was deleted were made for it. */
function removeEmptyFolders(workspace: ChangeDetector, folder: string): void {
  for (
    let dir = folder;
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
  const folder = parentDir(absolute);
  assertInside(workspace, path, absolute);
  Deno.mkdirSync(folder, { recursive: true });
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
  let folder = parentDir(absolute);
  while (folder.length > workspace.root.length && !lstat(folder)) folder = parentDir(folder);
  const real = Deno.realPathSync(folder);
  if (real !== folder) throw new Error(`Its directory leads to ${real}`);
}

function removeEmptyTree(folder: string): void {
  for (const entry of Deno.readDirSync(folder)) {
    if (entry.isDirectory) removeEmptyTree(`${folder}/${entry.name}`);
  }
  Deno.removeSync(folder);
}

function lstat(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.lstatSync(path);
  } catch {
    return undefined;
  }
}
