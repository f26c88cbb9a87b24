import type { RunFlags } from "../config.ts";
import { digest, taskKey } from "./journal.ts";
import type { BatchTask } from "./task_file.ts";

/** A task with what the batch keeps of it. */
export interface KeyedTask {
  readonly task: BatchTask;
  readonly key: string;
  /** Names its work tree. */
  readonly worktreeId: string;
  /** File of its changes, without the directory. */
  readonly patchName: string;
}

/** Names what belongs to a task of these, by what it says and which file it is in. */
export async function keyedTask(task: BatchTask, { flags, tasks, path }: {
  readonly flags: RunFlags;
  readonly tasks: readonly BatchTask[];
  readonly path: string;
}): Promise<KeyedTask> {
  const { model, worktree = false } = flags;
  const { id } = task;
  const key = await taskKey(task, { ...(model === undefined ? {} : { model }), worktree });
  // Names that a file system cannot have, or might take for one, are told apart.
  const isOnly = tasks.filter((other) => other.id.toLowerCase() === id.toLowerCase()).length === 1;
  const name = id.replace(/[^\p{L}\p{N}._-]+/gu, "_").replace(/^\./, "_").slice(0, 80);
  return {
    task,
    key,
    worktreeId: `batch-${(await digest(`${path}\0${key}`)).slice(0, 16)}`,
    patchName: `${name === id && isOnly ? id : `${name}-${(await digest(id)).slice(0, 6)}`}.patch`,
  };
}
