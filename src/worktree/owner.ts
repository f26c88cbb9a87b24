import { isRecord, parseJson } from "../util/json.ts";
import { FileLock } from "../util/lock.ts";
import { processStart } from "../util/process.ts";
import { readSmallText } from "../path/probe.ts";
import { existingRealPath } from "../path/real_path.ts";
import { relativeTo } from "../path/lexical.ts";
import { worktreeIdOf, worktreesDir } from "../path/project_dir.ts";
import { writeFileAtomic } from "../util/atomic_write.ts";

/** What is known of a work tree, kept beside it. Absolute paths. */
export interface WorktreeRecord {
  readonly id: string;
  /** The process that works in it, and when that began. */
  readonly pid: number;
  readonly start: string;
  /** RFC 3339; until then it waits for somebody to go on with it although its process has ended. */
  readonly keepUntil?: string;
  /** Directory that the parent works in, the top of its work tree, and the way from there. */
  readonly parent: string;
  readonly top: string;
  readonly prefix: string;
  /** Top of this work tree. */
  readonly tree: string;
  /** Git's own directory of the repository. */
  readonly common: string;
}

/** Everything of one work tree: its record, its beginning and the tree itself. */
export function worktreeDir(home: string, id: string): string {
  return `${worktreesDir(home)}/${id}`;
}

/** Who holds it may make, take over and forget directories of work trees. */
export async function lockWorktrees(home: string): Promise<FileLock> {
  await Deno.mkdir(worktreesDir(home), { recursive: true, mode: 0o700 });
  return await FileLock.acquire(`${worktreesDir(home)}/.lock`);
}

export function recordFile(home: string, id: string): string {
  return `${worktreeDir(home, id)}/owner.json`;
}

/** The record without the process, as this one owns it from now on. */
export async function saveRecord(
  home: string,
  record: Omit<WorktreeRecord, "pid" | "start">,
): Promise<WorktreeRecord> {
  const owned = { ...record, pid: Deno.pid, start: processStart(Deno.pid) ?? "" };
  await writeFileAtomic(recordFile(home, record.id), `${JSON.stringify(owned)}\n`, { setMode: 0o600 });
  return owned;
}

/** The record of a work tree; undefined when there is none that can be read. */
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

/** Reports whether the process that works in it still runs: this very one, not one that got its number. */
export function isOwnerAlive({ pid, start }: Pick<WorktreeRecord, "pid" | "start">): boolean {
  return processStart(pid) === start;
}

/**
 * The directory that a directory in a work tree stands for, by its record: what the user decided of the one
 * holds for the other. Undefined for what lies in no work tree of this home.
 */
export function parentOfWorktree(home: string, cwd: string): string | undefined {
  const realHome = existingRealPath(home) ?? home;
  const id = worktreeIdOf(realHome, cwd);
  const record = id === undefined ? undefined : readRecord(realHome, id);
  const below = record && relativeTo(cwd, record.tree);
  return below === undefined ? undefined : below === "." ? record?.top : `${record?.top}/${below}`;
}
