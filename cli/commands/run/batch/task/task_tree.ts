import { errorMessage, ReasonixError } from "../../../../../src/core/mod.ts";
import { adoptWorktree, createWorktree, type Worktree } from "../../../../../src/worktree/mod.ts";
import { writeFileAtomic } from "../../../../../src/util/atomic_write.ts";
import type { KeyedTask } from "../keyed_task.ts";

/** Days that the work tree of an unfinished task waits for the next run of its batch. */
const KEEP_DAYS = 7;

/** The work tree of a task: the one an earlier run has left, or a new one. */
export async function openTree(
  { task, worktreeId: id }: KeyedTask,
  { home, signal }: { readonly home: string; readonly signal: AbortSignal },
): Promise<{ readonly worktree: Worktree; readonly isNew: boolean }> {
  const kept = { home, id, keepDays: KEEP_DAYS };
  const adopted = await adoptWorktree(kept);
  if (adopted) return { worktree: adopted, isNew: false };
  return { worktree: await createWorktree({ ...kept, cwd: task.dir }, signal), isNew: true };
}

/** The changes without what the checks leave behind; undefined when there are none. */
export async function savePatch(
  tree: Worktree,
  file: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (signal.aborted) return undefined;
  const patch = await tree.diff(signal);
  if (patch.bytes === 0) {
    await Deno.remove(file).catch(() => {});
    return undefined;
  }
  try {
    await writeFileAtomic(file, await Deno.readFile(patch.file));
  } catch (error) {
    throw new ReasonixError(
      `Cannot save the changes in ${file}: ${errorMessage(error)}`,
      {
        remedy: "make room there or make it writable, and run the command again",
        cause: error,
      },
    );
  }
  return file;
}
