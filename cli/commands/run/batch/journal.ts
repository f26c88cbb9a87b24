import { type BatchTask, isTaskResult, type TaskResult } from "../../../../src/batch/mod.ts";
import { message, ReasonixError } from "../../../../src/core/mod.ts";
import { canonicalJson, isRecord, scanJsonl } from "../../../../src/util/json.ts";
import { FileLock } from "../../../../src/util/lock.ts";
import type { RunFlags } from "../../../run_flags.ts";

interface TaskHistory {
  readonly begin?: { readonly session: string; readonly cwd: string };
  readonly result?: TaskResult;
}

/**
 * The history of the tasks of a file, in the Reasonix home: one appended line for each beginning and each
 * end, so that a killed run loses nothing.
 */
export class BatchJournal implements Disposable {
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
    // A line that was cut off by a crash ends here, and is ignored.
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
    throw new ReasonixError(message`Cannot run the tasks of ${file}: ${who} runs them`, {
      remedy: message`wait for it to end, or end it and run the command again`,
    });
  }

  of(key: string): TaskHistory {
    return this.#known.get(key) ?? {};
  }

  begin(key: string, id: string, begin: NonNullable<TaskHistory["begin"]>): void {
    this.#append({ type: "begin", key, id, ...begin });
  }

  end(key: string, result: TaskResult): void {
    this.#append({ type: "end", key, result });
  }

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

async function digest(text: string): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))).toHex();
}

export interface KeyedTask {
  readonly task: BatchTask;
  /** Names the task by all that its line says: another prompt, directory, model or check is another task. */
  readonly key: string;
  readonly worktreeId: string;
  /** File of its changes, without the directory. */
  readonly patchName: string;
}

export async function keyedTask(task: BatchTask, { flags, tasks, path }: {
  readonly flags: RunFlags;
  readonly tasks: readonly BatchTask[];
  readonly path: string;
}): Promise<KeyedTask> {
  const { model = "", worktree = false } = flags;
  const { id } = task;
  const key = (await digest(canonicalJson([{ model, ...task }, worktree]))).slice(0, 24);
  // Names that a file system cannot have, or takes for the same, get a suffix.
  const isOnly = tasks.filter((other) => other.id.toLowerCase() === id.toLowerCase()).length === 1;
  const name = id.replace(/[^\p{L}\p{N}._-]+/gu, "_").replace(/^\./, "_").slice(0, 80);
  return {
    task,
    key,
    worktreeId: `batch-${(await digest(`${path}\0${key}`)).slice(0, 16)}`,
    patchName: `${name === id && isOnly ? id : `${name}-${(await digest(id)).slice(0, 6)}`}.patch`,
  };
}
