import { errorMessage, ReasonixError } from "../core/mod.ts";
import { readSmallText, sortedEntries } from "../path/probe.ts";
import { realPath } from "../path/real_path.ts";
import { worktreesDir } from "../path/project_dir.ts";
import {
  isOwnerAlive,
  lockWorktrees,
  readRecord,
  recordFile,
  worktreeDir,
  type WorktreeRecord,
} from "./owner.ts";

/** The work trees of a Reasonix home, by what became of them. */
export interface WorktreeReport {
  /** Their process runs. */
  readonly inUse: readonly WorktreeRecord[];
  /** Their process has ended, and somebody may go on with them. */
  readonly waiting: readonly WorktreeRecord[];
  /** Identifiers of those that were left behind and are gone now. */
  readonly removed: readonly string[];
  /** Left behind, and still there. */
  readonly failed: readonly { readonly id: string; readonly reason: string }[];
}

/** Younger directories without a record may be about to get one. */
const UNSIGNED_MS = 60_000;

/** Removes the work trees whose process has ended and that nobody will go on with. */
export async function reapWorktrees(home: string): Promise<WorktreeReport> {
  return await reap(realPath(home));
}

/** The same; `home` is a real path. */
export async function reap(home: string): Promise<WorktreeReport> {
  const [inUse, waiting]: [WorktreeRecord[], WorktreeRecord[]] = [[], []];
  const removed: string[] = [];
  const failed: { id: string; reason: string }[] = [];
  for (const { name: id, isDirectory } of sortedEntries(worktreesDir(home))) {
    if (!isDirectory) continue;
    const record = readRecord(home, id);
    if (record && isOwnerAlive(record)) inUse.push(record);
    else if (record && isWaiting(record)) waiting.push(record);
    else if (!record && await removeEmpty(home, id)) removed.push(id);
    else if (record || isOld(worktreeDir(home, id))) {
      try {
        await removeTree(home, record ?? { id });
        removed.push(id);
      } catch (error) {
        failed.push({ id, reason: errorMessage(error) });
      }
    }
  }
  return { inUse, waiting, removed, failed };
}

/** What is left of an interrupted removal; nobody is about to fill it while the lock is held. */
async function removeEmpty(home: string, id: string): Promise<boolean> {
  using _lock = await lockWorktrees(home);
  if (readRecord(home, id)) return false;
  return await Deno.remove(worktreeDir(home, id)).then(() => true, () => false);
}

function isWaiting({ keepUntil }: WorktreeRecord): boolean {
  return keepUntil !== undefined && Date.parse(keepUntil) > Date.now();
}

function isOld(path: string): boolean {
  try {
    return Date.now() - (Deno.lstatSync(path).mtime?.getTime() ?? 0) > UNSIGNED_MS;
  } catch {
    return false;
  }
}

/**
 * Removes a work tree and what its repository knows of it, and of no other: `git worktree prune` would also
 * forget those of the user that lie on a disk which is not there just now. The record goes last, so that what
 * is interrupted is done again.
 */
export async function removeTree(
  home: string,
  { id, common, tree }: Pick<WorktreeRecord, "id"> & Partial<Pick<WorktreeRecord, "common" | "tree">>,
): Promise<void> {
  const dir = worktreeDir(home, id);
  const record = recordFile(home, id);
  for (const { name } of sortedEntries(dir)) {
    if (`${dir}/${name}` !== record) await removeAll(`${dir}/${name}`);
  }
  for (const { name } of sortedEntries(`${common}/worktrees`)) {
    const known = `${common}/worktrees/${name}`;
    if (readSmallText(`${known}/gitdir`)?.trim() === `${tree}/.git`) await removeAll(known);
  }
  await removeAll(dir);
}

async function removeAll(path: string): Promise<void> {
  const remove = async () => {
    try {
      await Deno.remove(path, { recursive: true });
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  };
  try {
    await remove();
  } catch {
    // Caches of packages come with directories that their owner cannot change either.
    makeWritable(path);
    await remove().catch((error) => {
      throw new ReasonixError(`Cannot remove ${path}: ${errorMessage(error)}`, {
        remedy: "remove it by hand",
        cause: error,
      });
    });
  }
}

function makeWritable(path: string): void {
  try {
    if (!Deno.lstatSync(path).isDirectory) return;
    Deno.chmodSync(path, 0o700);
  } catch {
    return;
  }
  for (const { name, isDirectory } of sortedEntries(path)) if (isDirectory) makeWritable(`${path}/${name}`);
}
