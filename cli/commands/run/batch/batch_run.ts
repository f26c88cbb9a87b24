import type { RunPaths } from "../../../../src/assembly/mod.ts";
import { errorMessage, type ExitName, NO_USAGE, ReasonixError } from "../../../../src/core/mod.ts";
import { openServices } from "../../../../src/tool/mod.ts";
import { adoptWorktree } from "../../../../src/worktree/mod.ts";
import { textsFor } from "../../../terminal/language.ts";
import type { CliContext } from "../../../terminal/process.ts";
import { onSignals } from "../../../terminal/signals.ts";
import type { RunFlags } from "../config.ts";
import { BatchJournal } from "./journal.ts";
import { type KeyedTask } from "./keyed_task.ts";
import { BatchProgress } from "./progress.ts";
import { isFinal, type TaskResult } from "./result.ts";
import { ResultSink } from "./result_sink.ts";
import type { TaskRunParts } from "./task/attempt.ts";
import { runTask } from "./task/task_run.ts";

/** Tasks that run at the same time when nobody says how many. */
const DEFAULT_JOBS = 4;

interface BatchParts {
  readonly paths: RunPaths;
  readonly journal: BatchJournal;
  readonly tasks: readonly KeyedTask[];
  /** Real path of the file. */
  readonly file: string;
}

/** The run of a batch: what is finished is told, the rest is done, so many at a time. */
export class BatchRun {
  readonly #context: CliContext;
  readonly #flags: RunFlags;
  readonly #parts: BatchParts;
  readonly #stop = new AbortController();
  /** What each task has cost, as far as it is known. */
  readonly #spent = new Map<string, number>();
  #overspent = false;
  #succeeded = 0;
  #ended = 0;

  constructor(context: CliContext, flags: RunFlags, parts: BatchParts) {
    this.#context = context;
    this.#flags = flags;
    this.#parts = parts;
  }

  async run(texts: Awaited<ReturnType<typeof textsFor<"batch">>>): Promise<ExitName> {
    const { tasks } = this.#parts;
    const removeListeners = onSignals({
      stop: (reason) => this.#stop.abort(reason),
      exit: (code) => Deno.exit(code),
    });
    const sink = await ResultSink.open(this.#flags.results, {
      tasks: this.#parts.file,
      onBroken: () => this.#stop.abort("interrupted"),
    });
    const finished = await this.#finished();
    for (const result of finished.values()) await this.#take(result, sink);
    const failed = this.#ended - this.#succeeded;
    const progress = new BatchProgress(this.#context, {
      all: tasks.length,
      before: { ended: this.#ended, failed },
      quiet: this.#flags.quiet ?? false,
      texts,
    });
    if (finished.size > 0) progress.say(texts.goesOn(finished.size, tasks.length));
    await this.#runAll(tasks.filter(({ key }) => !finished.has(key)), { sink, progress });
    await sink.close();
    progress.close();
    removeListeners();
    const open = tasks.length - this.#ended;
    const limit = this.#overspent ? [texts.costLimit(this.#limit ?? 0)] : [];
    const summary = texts.summary(this.#succeeded, tasks.length, this.#ended - this.#succeeded);
    const parts = [summary, ...limit, ...(open > 0 ? [texts.open(open)] : [])];
    if (!this.#flags.quiet || open > 0) this.#context.process.stderr.write(`· ${parts.join("; ")}\n`);
    return this.#exit(open);
  }

  #exit(open: number): ExitName {
    const { reason } = this.#stop.signal;
    if (this.#overspent) return "limit";
    if (open > 0 && this.#stop.signal.aborted) return reason === "terminated" ? "terminated" : "interrupt";
    return this.#succeeded === this.#parts.tasks.length ? "done" : "failed";
  }

  get #limit(): number | undefined {
    return this.#flags.maxCost ?? this.#flags.maxBudgetUsd;
  }

  /** Results of tasks that earlier runs have finished. A work tree that one left behind goes now. */
  async #finished(): Promise<Map<string, TaskResult>> {
    const { journal, tasks, paths: { home } } = this.#parts;
    const finished = new Map<string, TaskResult>();
    for (const { key, task, worktreeId } of tasks) {
      const { begin, result } = journal.of(key);
      const again = this.#flags.fresh === true && (begin ?? result) !== undefined;
      if (again) journal.forget(key, task.id);
      if (this.#flags.worktree && (again || result)) {
        await (await adoptWorktree({ home, id: worktreeId }))?.remove();
      }
      if (!again && result && isFinal(result)) finished.set(key, result);
    }
    return finished;
  }

  async #take(result: TaskResult, sink: ResultSink): Promise<void> {
    this.#ended += 1;
    if (result.ok) this.#succeeded += 1;
    this.#spent.set(result.id, result.cost?.amount ?? this.#spent.get(result.id) ?? 0);
    await sink.write(result);
  }

  async #runAll(
    waiting: readonly KeyedTask[],
    { sink, progress }: { readonly sink: ResultSink; readonly progress: BatchProgress },
  ): Promise<void> {
    const { paths, journal } = this.#parts;
    const { signal } = this.#stop;
    await using services = openServices();
    const parts: TaskRunParts = {
      flags: this.#flags,
      paths,
      journal,
      worktree: this.#flags.worktree ?? false,
      patches: sink.directory ?? journal.dir,
      guard: services.shell?.guard ?? none(),
      signal,
    };
    const queue = waiting.values();
    const work = async (): Promise<void> => {
      for (const keyed of queue) {
        if (signal.aborted || this.#isSpent()) return;
        progress.begin(keyed.task.id);
        const result = await this.#runOne(keyed, parts);
        if (!result) {
          progress.drop(keyed.task.id);
          continue;
        }
        await this.#take(result, sink);
        progress.end(result);
      }
    };
    await Promise.all(Array.from({ length: this.#flags.jobs ?? DEFAULT_JOBS }, work));
  }

  /** The result of a task; undefined when it was stopped and waits for the next run. */
  async #runOne(keyed: KeyedTask, parts: TaskRunParts): Promise<TaskResult | undefined> {
    const { task: { id }, key, worktreeId } = keyed;
    const onSpending = ({ spent, more = 0 }: { readonly spent?: number; readonly more?: number }) => {
      this.#spent.set(id, spent ?? (this.#spent.get(id) ?? 0) + more);
      if (this.#isSpent()) this.#stop.abort("interrupted");
    };
    try {
      const left = this.#limit === undefined ? undefined : this.#limit - this.#total;
      const result = await runTask(keyed, parts, { maxCost: left, onSpending });
      if (this.#stop.signal.aborted && !result.ok) return undefined;
      parts.journal.end(key, result);
      if (parts.worktree && isFinal(result)) {
        await (await adoptWorktree({ home: parts.paths.home, id: worktreeId }))?.remove();
      }
      return result;
    } catch (error) {
      if (this.#stop.signal.aborted) return undefined;
      // It was not begun, so it is not finished either: the next run tries again.
      return failedTask(id, error);
    }
  }

  get #total(): number {
    return [...this.#spent.values()].reduce((sum, amount) => sum + amount, 0);
  }

  #isSpent(): boolean {
    if (this.#limit === undefined || this.#total < this.#limit) return false;
    this.#overspent = true;
    return true;
  }
}

function none(): never {
  throw new TypeError("The services of a batch have no guard");
}

function failedTask(id: string, error: unknown): TaskResult {
  const remedy = error instanceof ReasonixError && error.remedy ? `; ${error.remedy}` : "";
  return {
    id,
    ok: false,
    reason: error instanceof ReasonixError ? error.exit : "failed",
    error: `${errorMessage(error)}${remedy}`,
    answer: "",
    session: null,
    model: null,
    usage: NO_USAGE,
    cost: null,
    duration_ms: 0,
    checks: [],
  };
}
