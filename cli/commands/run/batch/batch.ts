import { BatchJournal, isFinal, type KeyedTask, keyedTask, type TaskResult } from "./journal.ts";
import { readTasks, readTaskText } from "./task_file.ts";
import { runTask, type TaskRunDeps } from "./task_run.ts";
import { loadNonInteractiveConfig } from "../config.ts";
import type { RunFlags } from "../../../run_flags.ts";
import { displayOf } from "../../../terminal/display.ts";
import { languageOf, textsFor } from "../../../terminal/language.ts";
import { type CliContext, onSignals, runPaths } from "../../../terminal/process.ts";
import type { RunPaths } from "../../../../src/assembly/mod.ts";
import { requireProvider } from "../../../../src/config/mod.ts";
import {
  errorMessage,
  EXIT,
  type ExitName,
  NO_USAGE,
  ReasonixError,
  usageError,
} from "../../../../src/core/mod.ts";
import { Output } from "../../../../src/frontend/mod.ts";
import type { Texts } from "../../../../src/i18n/mod.ts";
import { existingRealPath } from "../../../../src/path/real_path.ts";
import { openServices } from "../../../../src/tool/mod.ts";
import { fitDisplay } from "../../../../src/util/display_width.ts";
import { oneLine } from "../../../../src/util/terminal_text.ts";
import { adoptWorktree, requireRepository } from "../../../../src/worktree/mod.ts";

const DEFAULT_JOBS = 4;

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
  const texts = await textsFor("batch", context);
  using journal = await BatchJournal.open(paths.home, source.path);
  const keyed = await Promise.all(tasks.map((task) => keyedTask(task, { flags, tasks, path: source.path })));
  const stop = new AbortController();
  const removeListeners = onSignals({
    stop: (reason) => stop.abort(reason),
    exit: (code) => Deno.exit(code),
  });
  const results = await openResults(flags.results, source.path, () => stop.abort("interrupted"));
  const budget = new Budget(flags.maxCost ?? flags.maxBudgetUsd, stop);
  const finished = await finishedTasks(keyed, { flags, journal, home: paths.home });
  let succeeded = 0;
  const take = async (result: TaskResult) => {
    if (result.ok) succeeded += 1;
    budget.set(result.id, result.cost?.amount);
    await results.write(result);
  };
  for (const result of finished.values()) await take(result);
  const progress = new BatchProgress(context, { all: tasks.length, quiet: flags.quiet ?? false, texts });
  progress.continue(finished.size, succeeded);
  await using services = openServices();
  // A resource that is used once would be moved to its use by the bundler, and never closed.
  if (!services.shell) throw new TypeError("The services of a batch have no guard");
  const { guard } = services.shell;
  const deps: TaskRunDeps = {
    flags,
    paths,
    journal,
    patches: results.directory ?? journal.dir,
    guard,
    signal: stop.signal,
  };
  const waiting = keyed.filter(({ key }) => !finished.has(key)).values();
  const work = async () => {
    for (const task of waiting) {
      if (stop.signal.aborted || budget.isSpent()) return;
      progress.begin(task.task.id);
      const result = await resultOf(task, deps, budget);
      if (result) await take(result);
      progress.end(task.task.id, result);
    }
  };
  await Promise.all(Array.from({ length: flags.jobs ?? DEFAULT_JOBS }, work));
  await results.close();
  progress.close();
  removeListeners();
  const open = tasks.length - progress.ended;
  if (!flags.quiet || open > 0) {
    const parts = [
      texts.summary(succeeded, tasks.length, progress.ended - succeeded),
      ...(budget.exceeded ? [texts.costLimit(budget.limit)] : []),
      ...(open > 0 ? [texts.open(open)] : []),
    ];
    context.process.stderr.write(`· ${parts.join("; ")}\n`);
  }
  const stopped: ExitName = stop.signal.reason === "terminated" ? "terminated" : "interrupt";
  const exit = budget.exceeded
    ? "limit"
    : open > 0 && stop.signal.aborted
    ? stopped
    : succeeded === tasks.length
    ? "done"
    : "failed";
  context.process.exitCode = EXIT[exit];
}

const SINGLE = [
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

function checkFlags(flags: RunFlags, words: readonly string[]): void {
  const wrong = SINGLE.find((name) => flags[name] !== undefined);
  const refuse = (what: string, remedy: string) => {
    throw usageError(`Cannot use ${what} together with --tasks`, remedy);
  };
  if (words.length > 0) refuse("a task of its own", "put it into the file as one more line");
  if (wrong !== undefined) {
    refuse(`--${wrong.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`, "it is about one session");
  }
  if (flags.outputFormat === "json" || flags.outputFormat === "stream-json") {
    refuse(`--output-format ${flags.outputFormat}`, "results are JSON Lines, one for each task");
  }
}

/** Throws before the first task for what would stop every task of a directory. */
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

/** The cost of all tasks, as far as it is known. Stops the batch once it reaches the limit. */
class Budget {
  readonly limit: number;
  exceeded = false;
  readonly #spent = new Map<string, number>();
  readonly #stop: AbortController;

  constructor(limit = Infinity, stop: AbortController) {
    this.limit = limit;
    this.#stop = stop;
  }

  get left(): number | undefined {
    return this.limit === Infinity ? undefined : this.limit - this.#total;
  }

  set(id: string, amount = this.#spent.get(id) ?? 0): void {
    this.#spent.set(id, amount);
  }

  add(id: string, amount: number): void {
    this.set(id, (this.#spent.get(id) ?? 0) + amount);
    if (this.isSpent()) this.#stop.abort("interrupted");
  }

  isSpent(): boolean {
    this.exceeded ||= this.#total >= this.limit;
    return this.exceeded;
  }

  get #total(): number {
    return [...this.#spent.values()].reduce((sum, amount) => sum + amount, 0);
  }
}

/** Results of tasks that earlier runs have finished, by key. Removes work trees that one left behind. */
async function finishedTasks(
  tasks: readonly KeyedTask[],
  { flags, journal, home }: {
    readonly flags: RunFlags;
    readonly journal: BatchJournal;
    readonly home: string;
  },
): Promise<ReadonlyMap<string, TaskResult>> {
  const finished = new Map<string, TaskResult>();
  for (const { key, task, worktreeId } of tasks) {
    const { begin, result } = journal.of(key);
    const again = flags.fresh === true && (begin ?? result) !== undefined;
    if (again) journal.forget(key, task.id);
    if (flags.worktree && (again || result)) await removeWorktree(home, worktreeId);
    if (!again && result && isFinal(result)) finished.set(key, result);
  }
  return finished;
}

async function removeWorktree(home: string, id: string): Promise<void> {
  await (await adoptWorktree({ home, id }))?.remove();
}

/** The result of a task; undefined when it was stopped and waits for the next run. */
async function resultOf(
  keyed: KeyedTask,
  deps: TaskRunDeps,
  budget: Budget,
): Promise<TaskResult | undefined> {
  const { task: { id }, key, worktreeId } = keyed;
  const { flags, journal, paths, signal } = deps;
  try {
    const result = await runTask(keyed, deps, {
      maxCost: budget.left,
      onBegin: (spent) => budget.set(id, spent),
      onSpending: (amount) => budget.add(id, amount),
    });
    if (signal.aborted && !result.ok) return undefined;
    journal.end(key, result);
    if (flags.worktree && isFinal(result)) await removeWorktree(paths.home, worktreeId);
    return result;
  } catch (error) {
    // It was not begun, so it is not finished either: the next run tries again.
    return signal.aborted ? undefined : failedTask(id, error);
  }
}

function failedTask(id: string, error: unknown): TaskResult {
  const known = error instanceof ReasonixError ? error : undefined;
  return {
    id,
    ok: false,
    reason: known?.exit ?? "failed",
    error: `${errorMessage(error)}${known?.remedy ? `; ${known.remedy}` : ""}`,
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
  readonly quiet: boolean;
  readonly texts: Texts["batch"];
}

const BAR = 20;
const TICK_MS = 1000;

/** Progress on standard error: a line for each end, and on a terminal a bar below that is written over. */
class BatchProgress {
  ended = 0;
  readonly #context: CliContext;
  readonly #options: ProgressOptions;
  readonly #columns: () => number;
  readonly #running = new Set<string>();
  readonly #started = performance.now();
  readonly #timer: ReturnType<typeof setInterval> | undefined;
  #failed = 0;

  constructor(context: CliContext, options: ProgressOptions) {
    const { live, columns } = displayOf(context);
    this.#context = context;
    this.#options = options;
    this.#columns = columns;
    if (live && !options.quiet) this.#timer = setInterval(() => this.#draw(), TICK_MS);
  }

  /** Counts the tasks that earlier runs have finished. */
  continue(finished: number, succeeded: number): void {
    this.ended = finished;
    this.#failed = finished - succeeded;
    if (finished > 0) this.#say(this.#options.texts.goesOn(finished, this.#options.all));
  }

  begin(id: string): void {
    this.#running.add(id);
    this.#draw();
  }

  /** Takes a task out that is not running any more; without a result it waits for the next run. */
  end(id: string, result: TaskResult | undefined): void {
    this.#running.delete(id);
    if (!result) return;
    const { texts, all } = this.#options;
    const { ok, reason, error, duration_ms } = result;
    this.ended += 1;
    if (!ok) this.#failed += 1;
    const outcome = ok || reason === "done" ? texts.done : texts.reasons[reason];
    const why = error === undefined ? "" : ` (${error})`;
    const seconds = `${(duration_ms / 1000).toFixed(1)} s`;
    this.#say(texts.ended(`[${this.ended}/${all}]`, id, `${outcome}${why} · ${seconds}`));
  }

  close(): void {
    clearInterval(this.#timer);
    this.#erase();
  }

  #say(text: string): void {
    if (this.#options.quiet) return;
    this.#erase();
    this.#context.process.stderr.write(`· ${oneLine(text)}\n`);
    this.#draw();
  }

  #erase(): void {
    if (this.#timer !== undefined) writeBar("");
  }

  #draw(): void {
    if (this.#timer === undefined) return;
    const { texts, all } = this.#options;
    const filled = Math.round(BAR * this.ended / all);
    const seconds = Math.floor((performance.now() - this.#started) / 1000);
    const counts = texts.bar(this.ended, all, this.#failed, this.#running.size);
    const names = [...this.#running].map((id) => oneLine(id)).join(", ");
    const line = `${"█".repeat(filled)}${"░".repeat(BAR - filled)} ${counts} · ${seconds} s · ${names}`;
    writeBar(fitDisplay(line, this.#columns() - 1));
  }
}

/** Writes over the last line as it is: other output is broken between words. */
function writeBar(line: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`\r\x1b[2K${line}`));
}

/**
 * Opens standard output or a new file for results, a line for each. `directory` is that of the file, for
 * patches. Throws a ReasonixError (usage) for a file that cannot be written, or that holds the tasks.
 */
async function openResults(path: string | undefined, tasks: string, onBroken: () => void) {
  const file = path === undefined ? undefined : await openFile(path, tasks);
  const output = new Output(file ?? Deno.stdout, onBroken);
  const real = path === undefined ? undefined : await Deno.realPath(path);
  return {
    directory: real && (real.slice(0, real.lastIndexOf("/")) || "/"),
    async write(result: TaskResult) {
      await output.write(`${JSON.stringify(result)}\n`);
      if (file) await output.flush();
    },
    async close() {
      await output.flush();
      file?.close();
    },
  };
}

async function openFile(path: string, tasks: string): Promise<Deno.FsFile> {
  const unwritable = (reason: string) =>
    usageError(`Cannot write results to ${path}: ${reason}`, "give --results another file");
  if (existingRealPath(path) === tasks) throw unwritable("it holds the tasks");
  try {
    return await Deno.open(path, { write: true, create: true, truncate: true });
  } catch (error) {
    throw unwritable(errorMessage(error));
  }
}
