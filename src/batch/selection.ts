import { message, usageError } from "../core/mod.ts";
import type { BatchTask } from "./task.ts";

/** The tasks of a file that one runner does. */
export interface Selection {
  /** Positions in the file, from 0. */
  readonly indexes: readonly number[];
  /** `2/8`, or the index of one task; absent: all of them. */
  readonly shard?: string;
  /** The environment variable that says so. */
  readonly variable?: string;
}

interface SelectionOptions {
  /** The file as the user named it. */
  readonly file: string;
  readonly shard?: { readonly part: number; readonly of: number } | undefined;
  readonly taskIndex?: number | undefined;
  /** Container image: only its tasks count; empty: those that name none. */
  readonly image?: string | undefined;
  /** Reads the index that an engine gives to its processes; absent: none does. */
  readonly env?: ((name: string) => string | undefined) | undefined;
}

/** Indexes of Kubernetes, Slurm, AWS Batch, Cloud Run and PBS. */
const INDEX_VARIABLES = [
  "JOB_COMPLETION_INDEX",
  "SLURM_ARRAY_TASK_ID",
  "AWS_BATCH_JOB_ARRAY_INDEX",
  "CLOUD_RUN_TASK_INDEX",
  "PBS_ARRAY_INDEX",
] as const;

/** Throws a ReasonixError (usage) for an index or an image that no task has. */
export function selectTasks(tasks: readonly BatchTask[], options: SelectionOptions): Selection {
  const { file, shard, taskIndex, image, env } = options;
  const all = [...tasks.keys()].filter((at) => image === undefined || (tasks[at]?.image ?? "") === image);
  if (all.length === 0) {
    throw usageError(
      message`Cannot run the tasks of ${file} with the image ${image ?? ""}: there are none`,
      message`give an image that a task names, or leave out --image`,
    );
  }
  if (shard) {
    const { part, of } = shard;
    return { indexes: all.filter((_, at) => at % of === part - 1), shard: `${part}/${of}` };
  }
  const variable = taskIndex === undefined ? INDEX_VARIABLES.find((name) => env?.(name)) : undefined;
  if (taskIndex === undefined && variable === undefined) return { indexes: all };
  const given = taskIndex ?? env?.(variable ?? "") ?? "";
  const index = /^\d+$/.test(`${given}`) ? Number(given) : NaN;
  const position = all[index];
  if (position !== undefined) {
    return { indexes: [position], shard: `${index}`, ...(variable ? { variable } : {}) };
  }
  const from = variable === undefined ? "--task-index" : variable;
  throw usageError(
    message`Cannot run task ${given} (${from}) of ${file}: its tasks have the indexes 0 to ${all.length - 1}`,
    message`give an index of the file, or --shard I/N`,
  );
}
