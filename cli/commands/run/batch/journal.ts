import { ReasonixError } from "../../../../src/core/mod.ts";
import { canonicalJson } from "../../../../src/util/canonical_json.ts";
import { isRecord } from "../../../../src/util/json.ts";
import { scanJsonl } from "../../../../src/util/jsonl.ts";
import { FileLock } from "../../../../src/util/lock.ts";
import { isTaskResult, type TaskResult } from "./result.ts";
import type { BatchTask } from "./task_file.ts";

/** Where a task was begun. */
export interface TaskBegin {
  readonly session: string;
  /** Directory that the session works in. */
  readonly cwd: string;
}

/** What is known of a task from runs before this one. */
export interface TaskHistory {
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
export async function taskKey(
  task: BatchTask,
  more: { readonly model?: string; readonly worktree: boolean },
): Promise<string> {
  const { model = "", worktree } = more;
  return (await digest(canonicalJson([{ model, ...task }, worktree]))).slice(0, 24);
}

export async function digest(text: string): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))).toHex();
}
