import { type BatchTask, isTaskResult, type RunFacts, type TaskResult } from "../../../../src/batch/mod.ts";
import { message, ReasonixError } from "../../../../src/core/mod.ts";
import { sortedEntries } from "../../../../src/path/probe.ts";
import { canonicalJson, isRecord, scanJsonl } from "../../../../src/util/json.ts";
import { sha256 } from "../../../../src/util/digest.ts";
import { attempt } from "../../../../src/util/lazy.ts";
import { FileLock } from "../../../../src/util/lock.ts";
import type { RunFlags } from "../../../run_flags.ts";

interface TaskHistory {
  readonly begin?: { readonly session: string; readonly cwd: string };
  readonly result?: TaskResult;
  readonly run?: RunFacts;
}

const ATTEMPTS = 10;

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

  /**
   * Opens the journal of a task file. One of many runners has its own, by its name; a second one of that name
   * has another. Throws a ReasonixError while another run has it.
   */
  static async open(home: string, file: string, runner?: string): Promise<BatchJournal> {
    const name = file.slice(file.lastIndexOf("/") + 1).replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(-48);
    const open = async (key: string) => {
      const dir = `${home}/batches/${name || "tasks"}-${sha256(key).slice(0, 12)}`;
      for (let attempt = 1;; attempt++) {
        try {
          await Deno.mkdir(dir, { recursive: true, mode: 0o700 });
          return { dir, taken: FileLock.tryAcquire(`${dir}/lock`) };
        } catch (error) {
          // The one that had it removed it meanwhile.
          if (attempt === ATTEMPTS || !(error instanceof Deno.errors.NotFound)) throw error;
        }
      }
    };
    let { dir, taken } = await open(runner === undefined ? file : `${file}\0${runner}`);
    for (let next = 2; runner !== undefined && !taken.held; next++) {
      ({ dir, taken } = await open(`${file}\0${runner}\0${next}`));
    }
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

  end(key: string, result: TaskResult, run: RunFacts): void {
    this.#append({ type: "end", key, result, run });
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
    const { key, type, session, cwd, result, run } = record;
    if (type === "begin" && typeof session === "string" && typeof cwd === "string") {
      this.#known.set(key, { begin: { session, cwd } });
    } else if (type === "end" && isTaskResult(result)) {
      const facts = isRecord(run) && typeof run.started === "string"
        ? { run: { ...run, started: run.started } }
        : {};
      this.#known.set(key, { ...this.#known.get(key), result, ...facts });
    } else if (type === "forget") this.#known.delete(key);
  }

  /** Removes what is in it, patches included: all results are stored elsewhere. */
  clear(): void {
    for (const { name } of sortedEntries(this.dir)) {
      if (name !== "lock") attempt(() => Deno.removeSync(`${this.dir}/${name}`));
    }
  }

  [Symbol.dispose](): void {
    this.#file.close();
    this.#lock.release();
    attempt(() => Deno.removeSync(this.dir));
  }
}

export interface KeyedTask {
  readonly task: BatchTask;
  /** Position in the file, from 0. */
  readonly index: number;
  /** Names the task by all that its line says: another prompt, directory, model or check is another task. */
  readonly key: string;
  readonly worktreeId: string;
  /** File of its changes, without the directory. */
  readonly patchName: string;
}

/** `scope` is what the work trees belong to: the file, or the journal of one of its runners. */
export function keyedTask(task: BatchTask, { flags, index, name, scope }: {
  readonly flags: RunFlags;
  readonly index: number;
  readonly name: string;
  readonly scope: string;
}): KeyedTask {
  const { model = "", worktree = false } = flags;
  const key = sha256(canonicalJson([{ model, ...task }, worktree])).slice(0, 24);
  const worktreeId = `batch-${sha256(`${scope}\0${key}`).slice(0, 16)}`;
  return { task, index, key, worktreeId, patchName: `${name}.patch` };
}
