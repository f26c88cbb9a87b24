import type { BatchTask } from "./task_file.ts";
import type { RunFlags } from "../../../run_flags.ts";
import { type Cost, type ExitName, ReasonixError, type Spending } from "../../../../src/core/mod.ts";
import { canonicalJson, isRecord, scanJsonl } from "../../../../src/util/json.ts";
import { FileLock } from "../../../../src/util/lock.ts";

/** Where a task was begun. */
interface TaskBegin {
  readonly session: string;
  /** Directory that the session works in. */
  readonly cwd: string;
}

/** What is known of a task from runs before this one. */
interface TaskHistory {
  readonly begin?: TaskBegin;
  readonly result?: TaskResult;
}

/**
 * What became of the tasks of a file, kept in the Reasonix home: one appended line for each beginning and
 * each end, so that a killed run loses nothing. A task is known by everything that its line says.
 */
export class BatchJournal implements Disposable {
  /** Directory of the batch, for what results refer to. */
  readonly dir: string;
  readonly #lock: FileLock;
  readonly #file: Deno.FsFile;
  readonly #known = new Map<string, TaskHistory>();

  private constructor(dir: string, lock: FileLock) {
    this.dir = dir;
    this.#lock = lock;
    const path = `${dir}/journal.jsonl`;
    this.#file = Deno.openSync(path, { append: true, read: true, create: true, mode: 0o600 });
    const { tail } = scanJsonl(path, (value) => this.#take(value));
    // A line that was cut off by a crash stays alone and is passed over.
    if (tail.length > 0) this.#write("\n");
  }

  /** Opens the journal of a task file. Throws a ReasonixError while another run has it. */
  static async open(home: string, file: string): Promise<BatchJournal> {
    const name = file.slice(file.lastIndexOf("/") + 1).replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(-48);
    const dir = `${home}/batches/${name || "tasks"}-${(await digest(file)).slice(0, 12)}`;
    await Deno.mkdir(dir, { recursive: true, mode: 0o700 });
    const taken = FileLock.tryAcquire(`${dir}/lock`);
    if (taken.held) return new BatchJournal(dir, taken.lock);
    const who = taken.owner.pid === undefined ? "another process" : `process ${taken.owner.pid}`;
    throw new ReasonixError(`Cannot run the tasks of ${file}: ${who} runs them`, {
      remedy: "wait for it to end, or end it and run the command again",
    });
  }

  of(key: string): TaskHistory {
    return this.#known.get(key) ?? {};
  }

  begin(key: string, id: string, begin: TaskBegin): void {
    this.#append({ type: "begin", key, id, ...begin });
  }

  end(key: string, result: TaskResult): void {
    this.#append({ type: "end", key, result });
  }

  /** Forgets what is known of a task. */
  forget(key: string, id: string): void {
    this.#append({ type: "forget", key, id });
  }

  #append(record: Readonly<Record<string, unknown>>): void {
    this.#take(record);
    this.#write(`${JSON.stringify(record)}\n`);
  }

  #write(text: string): void {
    const bytes = new TextEncoder().encode(text);
    for (let at = 0; at < bytes.length;) at += this.#file.writeSync(bytes.subarray(at));
  }

  #take(record: unknown): void {
    if (!isRecord(record) || typeof record.key !== "string") return;
    const { key, type, session, cwd, result } = record;
    if (type === "begin" && typeof session === "string" && typeof cwd === "string") {
      this.#known.set(key, { begin: { session, cwd } });
    } else if (type === "end" && isTaskResult(result)) {
      this.#known.set(key, { ...this.#known.get(key), result });
    } else if (type === "forget") this.#known.delete(key);
  }

  [Symbol.dispose](): void {
    this.#file.close();
    this.#lock.release();
  }
}

/** Names a task by what it is: another prompt, directory, model, check or place makes it another task. */
async function taskKey(
  task: BatchTask,
  more: { readonly model?: string; readonly worktree: boolean },
): Promise<string> {
  const { model = "", worktree } = more;
  return (await digest(canonicalJson([{ model, ...task }, worktree]))).slice(0, 24);
}

async function digest(text: string): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))).toHex();
}

/** The outcome of one check. */
export interface CheckResult {
  readonly command: string;
  readonly ok: boolean;
  readonly exit_code: number | null;
  /** End of what it printed. */
  readonly output: string;
}

/** One line of the results: what became of a task. */
export interface TaskResult {
  readonly id: string;
  readonly ok: boolean;
  /** How the run ended, by the names of docs/exit-codes.md; "check": it was done, and a check failed. */
  readonly reason: ExitName | "check";
  readonly error?: string;
  readonly answer: string;
  /** Null: it did not get as far. */
  readonly session: string | null;
  readonly model: string | null;
  readonly usage: Spending["usage"];
  /** Null: a price is not known. */
  readonly cost: Cost | null;
  /** From the prompt to the end of the checks, without interruptions. */
  readonly duration_ms: number;
  readonly checks: readonly CheckResult[];
  /** File with the changes; null: there are none. Absent without work trees. */
  readonly patch?: string | null;
}

/** A task whose end lies at something else than the task is taken up again by the next run. */
const PASSING: readonly TaskResult["reason"][] = [
  "usage",
  "blocked",
  "provider",
  "config",
  "interrupt",
  "terminated",
];

/** Reports whether a task is finished, with whatever success: the next run of its file does not run it. */
export function isFinal({ reason }: Pick<TaskResult, "reason">): boolean {
  return !PASSING.includes(reason);
}

/** Reports whether a value of a journal is a result; only this program writes there. */
function isTaskResult(value: unknown): value is TaskResult {
  return isRecord(value) && typeof value.id === "string" && typeof value.ok === "boolean" &&
    typeof value.reason === "string" && Array.isArray(value.checks);
}

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
