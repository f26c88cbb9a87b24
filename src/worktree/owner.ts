import { errorMessage, message, ReasonixError } from "../core/mod.ts";
import { relativeTo } from "../path/lexical.ts";
import { readSmallText, sortedEntries } from "../path/probe.ts";
import { worktreeIdOf, worktreesDir } from "../path/project_dir.ts";
import { existingRealPath, realPath } from "../path/real_path.ts";
import { writeFileAtomic } from "../util/atomic_write.ts";
import { isRecord, parseJson } from "../util/json.ts";
import { FileLock } from "../util/lock.ts";
import { processStart } from "../util/process.ts";
import { attempt } from "../util/lazy.ts";

/** The record of a work tree, in a file next to it. Absolute paths. */
export interface WorktreeRecord {
  readonly id: string;
  /** The process that works in it, and when that began. */
  readonly pid: number;
  readonly start: string;
  /** Name of its machine; a home may be shared. */
  readonly host?: string;
  /** RFC 3339; until then another run may resume it although its process has ended. */
  readonly keepUntil?: string;
  /** Directory that the parent works in, the top of its work tree, and the way from there. */
  readonly parent: string;
  readonly top: string;
  readonly prefix: string;
  readonly tree: string;
  readonly common: string;
  /** Commit that it began with; absent in the records of older versions. */
  readonly head?: string;
  /** The copies of repositories whose objects it uses, for a clone. */
  readonly mirrors?: readonly string[];
}

export function worktreeDir(home: string, id: string): string {
  return `${worktreesDir(home)}/${id}`;
}

/** The holder may make, take over and remove directories of work trees. */
export async function lockWorktrees(home: string): Promise<FileLock> {
  await Deno.mkdir(worktreesDir(home), { recursive: true, mode: 0o700 });
  return await FileLock.acquire(`${worktreesDir(home)}/.lock`);
}

function recordFile(home: string, id: string): string {
  return `${worktreeDir(home, id)}/owner.json`;
}

/** The record without the process, as this one owns it from now on. */
export async function saveRecord(
  home: string,
  record: Omit<WorktreeRecord, "pid" | "start" | "host">,
): Promise<WorktreeRecord> {
  const owned = { ...record, pid: Deno.pid, start: processStart(Deno.pid) ?? "", host: hostName() };
  await writeFileAtomic(recordFile(home, record.id), `${JSON.stringify(owned)}\n`, { setMode: 0o600 });
  return owned;
}

export function readRecord(home: string, id: string): WorktreeRecord | undefined {
  const value = parseJson(readSmallText(recordFile(home, id)) ?? "");
  return isRecord(value) && isWorktreeRecord(value) ? value : undefined;
}

function isWorktreeRecord(value: Record<string, unknown>): value is Record<string, unknown> & WorktreeRecord {
  return typeof value.pid === "number" &&
    ["id", "start", "parent", "top", "prefix", "tree", "common"].every((name) =>
      typeof value[name] === "string"
    );
}

/** The owner still runs: this very process, not another one with its number. */
export function isOwnerAlive({ pid, start }: Pick<WorktreeRecord, "pid" | "start">): boolean {
  return processStart(pid) === start;
}

function hostName(): string {
  // The library may lack the permission.
  return attempt(() => Deno.hostname()) ?? "";
}

/** The original of a directory in a work tree: decisions of the user about it hold for both. */
export function parentOfWorktree(home: string, cwd: string): string | undefined {
  const realHome = existingRealPath(home) ?? home;
  const id = worktreeIdOf(realHome, cwd);
  const record = id === undefined ? undefined : readRecord(realHome, id);
  const below = record && relativeTo(cwd, record.tree);
  return below === undefined ? undefined : below === "." ? record?.top : `${record?.top}/${below}`;
}

/** Directories outside of a work tree that its git reads; none but for a clone. */
export function borrowedObjects(home: string, cwd: string): string[] {
  const realHome = existingRealPath(home) ?? home;
  const id = worktreeIdOf(realHome, cwd);
  const { mirrors = [] } = (id === undefined ? undefined : readRecord(realHome, id)) ?? {};
  return mirrors.map((mirror) => `${mirror}/objects`);
}

export interface WorktreeReport {
  readonly inUse: readonly WorktreeRecord[];
  /** Their process has ended, and another run may resume them. */
  readonly waiting: readonly WorktreeRecord[];
  /** Identifiers of those that were left behind and are gone now. */
  readonly removed: readonly string[];
  /** Left behind, and still there. */
  readonly failed: readonly { readonly id: string; readonly reason: string }[];
}

/** Younger directories without a record may be about to get one. */
const UNSIGNED_MS = 60_000;
const ELSEWHERE_MS = 7 * 24 * 60 * 60 * 1000;

/** Removes the work trees whose process has ended and that no run may resume. */
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
    else if (record && isElsewhere(home, record)) inUse.push(record);
    else if (!record && await removeEmpty(home, id)) removed.push(id);
    else if (record || isOld(worktreeDir(home, id), UNSIGNED_MS)) {
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

async function removeEmpty(home: string, id: string): Promise<boolean> {
  using _lock = await lockWorktrees(home);
  if (readRecord(home, id)) return false;
  return await Deno.remove(worktreeDir(home, id)).then(() => true, () => false);
}

function isWaiting({ keepUntil }: WorktreeRecord): boolean {
  return keepUntil !== undefined && Date.parse(keepUntil) > Date.now();
}

/** Only its machine knows whether that process runs; one that never comes back is given up. */
function isElsewhere(home: string, { id, host = hostName() }: WorktreeRecord): boolean {
  return host !== hostName() && !isOld(recordFile(home, id), ELSEWHERE_MS);
}

function isOld(path: string, ms: number): boolean {
  return attempt(() => Date.now() - (Deno.lstatSync(path).mtime?.getTime() ?? 0) > ms) ?? false;
}

/**
 * Removes a work tree and its entry in the repository. `git worktree prune` would also remove those on a disk
 * that is not mounted now. The record goes last, so that an interrupted removal is repeated.
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
      throw new ReasonixError(message`Cannot remove ${path}: ${errorMessage(error)}`, {
        remedy: message`remove it by hand`,
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
