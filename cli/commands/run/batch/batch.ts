import { BatchJournal, isFinal, type KeyedTask, keyedTask, type TaskResult } from "./journal.ts";
import { runTask, type TaskRunDeps } from "./task_run.ts";
import { readTasks, readTaskText } from "./task_file.ts";
import { loadNonInteractiveConfig } from "../config.ts";
import type { RunFlags } from "../../../run_flags.ts";
import { displayOf } from "../../../terminal/display.ts";
import { languageOf, textsFor } from "../../../terminal/language.ts";
import type { CliContext } from "../../../terminal/process.ts";
import { onSignals } from "../../../terminal/signals.ts";
import { runPaths } from "../../../terminal/working_directory.ts";
import type { RunPaths } from "../../../../src/assembly/mod.ts";
import { requireProvider } from "../../../../src/config/mod.ts";
import { errorMessage, EXIT, type ExitName, NO_USAGE, ReasonixError } from "../../../../src/core/mod.ts";
import { Output } from "../../../../src/frontend/mod.ts";
import type { Texts } from "../../../../src/i18n/mod.ts";
import { existingRealPath } from "../../../../src/path/real_path.ts";
import { openServices } from "../../../../src/tool/mod.ts";
import { fitDisplay } from "../../../../src/util/display_width.ts";
import { oneLine } from "../../../../src/util/terminal_text.ts";
import { adoptWorktree, requireRepository } from "../../../../src/worktree/mod.ts";

/** `reasonix run --tasks`: runs every task of a file, and continues an earlier run of the same file. */
export async function runBatch(
  context: CliContext,
  flags: RunFlags,
  words: readonly string[],
): Promise<void> {
  checkFlags(flags, words);
  const paths = runPaths(context, flags.dir);
  const source = await readTaskText(flags.tasks ?? "-", paths.cwd);
  const tasks = readTasks(source.text, { file: source.shown, cwd: paths.cwd });
  await checkDirectories(context, flags, { paths, dirs: new Set(tasks.map(({ dir }) => dir)) });
  using journal = await BatchJournal.open(paths.home, source.path);
  const keyed = await Promise.all(tasks.map((task) => keyedTask(task, { flags, tasks, path: source.path })));
  const batch = new BatchRun(context, flags, { paths, journal, tasks: keyed, file: source.path });
  context.process.exitCode = EXIT[await batch.run(await textsFor("batch", context))];
}

/** Flags that are about one conversation make no sense for many. */
function checkFlags(flags: RunFlags, words: readonly string[]): void {
  const single = [
    "goal",
    "continue",
    "resume",
    "copy",
    "file",
    "forkSession",
    "sessionId",
    "inputFormat",
    "record",
    "metrics",
    "stream",
  ] as const;
  const [wrong] = single.filter((name) => flags[name] !== undefined);
  const refuse = (what: string, remedy: string) => {
    throw new ReasonixError(`Cannot use ${what} together with --tasks`, { exit: "usage", remedy });
  };
  if (words.length > 0) refuse("a task of its own", "put it into the file as one more line");
  if (wrong !== undefined) {
    refuse(`--${wrong.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`, "it is about one session");
  }
  if (flags.outputFormat === "json" || flags.outputFormat === "stream-json") {
    refuse(`--output-format ${flags.outputFormat}`, "results are JSON Lines, one for each task");
  }
}

/** What would stop every task of a directory is said before the first one begins. */
async function checkDirectories(
  context: CliContext,
  flags: RunFlags,
  { paths, dirs }: { readonly paths: RunPaths; readonly dirs: ReadonlySet<string> },
): Promise<void> {
  for (const cwd of dirs) {
    const loaded = await loadNonInteractiveConfig({ ...paths, cwd }, flags);
    await requireProvider(loaded, languageOf(context, loaded).locale);
    if (flags.worktree) await requireRepository(cwd);
  }
}

/** Tasks that run at the same time when nobody says how many. */
const DEFAULT_JOBS = 4;

interface BatchDeps {
  readonly paths: RunPaths;
  readonly journal: BatchJournal;
  readonly tasks: readonly KeyedTask[];
  /** Real path of the file. */
  readonly file: string;
}

/** The run of a batch: what is finished is told, the rest is done, so many at a time. */
class BatchRun {
  readonly #context: CliContext;
  readonly #flags: RunFlags;
  readonly #parts: BatchDeps;
  readonly #stop = new AbortController();
  /** What each task has cost, as far as it is known. */
  readonly #spent = new Map<string, number>();
  #overspent = false;
  #succeeded = 0;
  #ended = 0;

  constructor(context: CliContext, flags: RunFlags, parts: BatchDeps) {
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
    const parts: TaskRunDeps = {
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
  async #runOne(keyed: KeyedTask, parts: TaskRunDeps): Promise<TaskResult | undefined> {
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

interface ProgressOptions {
  readonly all: number;
  /** Tasks that were finished before, and how many of those without success. */
  readonly before: { readonly ended: number; readonly failed: number };
  readonly quiet: boolean;
  readonly texts: Texts["batch"];
}

const BAR = 20;
const TICK_MS = 1000;

/** Where a batch is, on standard error: a bar on a terminal that is written over, and a line for each end. */
class BatchProgress {
  readonly #context: CliContext;
  readonly #options: ProgressOptions;
  readonly #live: boolean;
  readonly #columns: () => number;
  readonly #running = new Set<string>();
  readonly #started = performance.now();
  #ended: number;
  #failed: number;
  #drawn = false;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(context: CliContext, options: ProgressOptions) {
    const { live, columns } = displayOf(context);
    this.#context = context;
    this.#options = options;
    this.#live = live && !options.quiet;
    this.#columns = columns;
    this.#ended = options.before.ended;
    this.#failed = options.before.failed;
    if (this.#live) this.#timer = setInterval(() => this.#draw(), TICK_MS);
  }

  begin(id: string): void {
    this.#running.add(id);
    this.#draw();
  }

  /** A task is not running any more, and has no result. */
  drop(id: string): void {
    this.#running.delete(id);
  }

  end({ id, ok, reason, error, duration_ms }: TaskResult): void {
    const { texts, all } = this.#options;
    this.#running.delete(id);
    this.#ended += 1;
    if (!ok) this.#failed += 1;
    const how = ok || reason === "done" ? texts.done : texts.reasons[reason];
    const why = error === undefined ? "" : ` (${error})`;
    const seconds = `${(duration_ms / 1000).toFixed(1)} s`;
    this.say(texts.ended(`[${this.#ended}/${all}]`, id, `${how}${why} · ${seconds}`));
  }

  /** Writes a line; the bar stays the last. */
  say(text: string): void {
    if (this.#options.quiet) return;
    this.#erase();
    this.#context.process.stderr.write(`· ${oneLine(text)}\n`);
    this.#draw();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#erase();
  }

  #erase(): void {
    if (!this.#drawn) return;
    this.#drawn = false;
    write("\r\x1b[2K");
  }

  #draw(): void {
    if (!this.#live) return;
    const { texts, all } = this.#options;
    const filled = Math.round(BAR * this.#ended / all);
    const seconds = Math.floor((performance.now() - this.#started) / 1000);
    const counts = texts.bar(this.#ended, all, this.#failed, this.#running.size);
    const names = [...this.#running].map((id) => oneLine(id)).join(", ");
    const line = `${"█".repeat(filled)}${"░".repeat(BAR - filled)} ${counts} · ${seconds} s · ${names}`;
    write(`\r\x1b[2K${fitDisplay(line, this.#columns() - 1)}`);
    this.#drawn = true;
  }
}

/** Writes as it is: what a command says is broken between words, which a bar is not. */
function write(text: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(text));
}

/** Where results go, one line each: standard output, or a file that is written anew. */
class ResultSink {
  /** Directory of the file; patches lie beside it. */
  readonly directory: string | undefined;
  readonly #output: Output;
  readonly #file: Deno.FsFile | undefined;

  private constructor(output: Output, file?: Deno.FsFile, directory?: string) {
    this.#output = output;
    this.#file = file;
    this.directory = directory;
  }

  /** Throws a ReasonixError (usage) for a file that cannot be written, or that holds the tasks. */
  static async open(
    path: string | undefined,
    { tasks, onBroken }: { readonly tasks: string; readonly onBroken: () => void },
  ): Promise<ResultSink> {
    if (path === undefined) return new ResultSink(new Output(Deno.stdout, onBroken));
    if (existingRealPath(path) === tasks) throw unwritable(path, "it holds the tasks");
    try {
      const file = await Deno.open(path, { write: true, create: true, truncate: true });
      const real = await Deno.realPath(path);
      return new ResultSink(new Output(file, onBroken), file, real.slice(0, real.lastIndexOf("/")) || "/");
    } catch (error) {
      throw unwritable(path, errorMessage(error));
    }
  }

  async write(result: TaskResult): Promise<void> {
    await this.#output.write(`${JSON.stringify(result)}\n`);
    if (this.#file) await this.#output.flush();
  }

  async close(): Promise<void> {
    await this.#output.flush();
    this.#file?.close();
  }
}

function unwritable(path: string, reason: string): ReasonixError {
  return new ReasonixError(`Cannot write results to ${path}: ${reason}`, {
    exit: "usage",
    remedy: "give --results another file",
  });
}
