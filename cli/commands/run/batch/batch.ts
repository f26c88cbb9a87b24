import { flagWord } from "../../../command.ts";
import type { RunFlags } from "../../../run_flags.ts";
import { displayOf } from "../../../terminal/display.ts";
import { languageOf, Speech, textsFor } from "../../../terminal/language.ts";
import { type CliContext, onSignals, runPaths } from "../../../terminal/process.ts";
import {
  type BatchTask,
  type CheckResult,
  DEFAULT_JOBS,
  isFinal,
  loadRunnerMeter,
  manifestOf,
  readTaskFile,
  ResultsDir,
  type RunFacts,
  type RunnerMeter,
  RunnerSign,
  selectTasks,
  taskNames,
  type TaskResult,
} from "../../../../src/batch/mod.ts";
import {
  type BatchContext,
  buildWorkspace,
  openAccessScope,
  redactorOf,
  type RunPaths,
  secretsOf,
  withJail,
} from "../../../../src/run/mod.ts";
import { requireProvider, secretVariables } from "../../../../src/config/mod.ts";
import {
  errorMessage,
  type Event,
  EXIT,
  type ExitName,
  message,
  NO_SPENDING,
  NO_USAGE,
  ReasonixError,
  type Spending,
  type Text,
  totalCost,
  usageError,
} from "../../../../src/core/mod.ts";
import { containerMark } from "../../../../src/sandbox/mod.ts";
import { Output } from "../../../../src/frontend/mod.ts";
import type { Texts } from "../../../../src/i18n/mod.ts";
import { isFile } from "../../../../src/path/probe.ts";
import { existingRealPath } from "../../../../src/path/real_path.ts";
import {
  loadEvents,
  newSessionId,
  projectDir,
  sessionPaths,
  type SessionState,
} from "../../../../src/session/mod.ts";
import { loadProcesses, openServices, type ProcessGuard, type SpawnPlan } from "../../../../src/tool/mod.ts";
import { writeFileAtomic } from "../../../../src/util/atomic_write.ts";
import { fitDisplay } from "../../../../src/util/display_width.ts";
import { defined } from "../../../../src/util/json.ts";
import { learnSecret } from "../../../../src/util/redact.ts";
import { shellCommand } from "../../../../src/util/process.ts";
import { oneLine } from "../../../../src/util/terminal_text.ts";
import {
  adoptWorktree,
  cloneWorktree,
  createWorktree,
  RepositoryCache,
  requireRepository,
  shownRepository,
  type Worktree,
} from "../../../../src/worktree/mod.ts";
import { loadNonInteractiveConfig, runOptions } from "../config.ts";
import { noSecrets, taskResult } from "../task.ts";
import CONTINUE from "./continue.md" with { type: "text" };
import { BatchJournal, type KeyedTask, keyedTask } from "./journal.ts";

/** Shared by all tasks of a batch. */
interface Batch {
  readonly context: CliContext;
  readonly flags: RunFlags;
  readonly paths: RunPaths;
  readonly journal: BatchJournal;
  readonly patches: string;
  /** The results of all runners of the file; absent: there is only this one. */
  readonly shared: ResultsDir | undefined;
  readonly meter: RunnerMeter | undefined;
  /** The name of the file, and the part of it that this process runs. */
  readonly part: Omit<BatchContext, "task">;
  readonly write: (result: TaskResult) => Promise<void>;
  readonly progress: BatchProgress;
  readonly guard: ProcessGuard;
  readonly repositories: RepositoryCache;
  readonly stop: AbortController;
  /** The cost of each task, as far as it is known. */
  readonly costs: Map<string, number>;
  readonly limit: number;
}

/** `reasonix run --tasks`: runs every task of a file, and continues an earlier run of the same file. */
export async function runBatch(
  context: CliContext,
  flags: RunFlags,
  words: readonly string[],
): Promise<void> {
  checkFlags(flags, words);
  const paths = runPaths(context, flags.dir);
  const source = await readTaskFile({ ...flags, tasks: fileOf(flags, words) }, paths);
  const { tasks } = source;
  const { shard, taskIndex, image, resultsDir } = flags;
  const env = resultsDir === undefined ? undefined : paths.env;
  const { indexes, ...part } = selectTasks(tasks, { file: source.shown, shard, taskIndex, image, env });
  const selected = indexes.flatMap((index) => tasks[index] ?? []);
  await checkTasks(context, flags, { paths, tasks: selected });
  const secrets = selected.flatMap(({ env = {} }) => secretVariables(env).map(([, value]) => value));
  learnSecret(...secrets, ...secrets.flatMap((value) => URL.parse(value)?.password ?? []));
  const texts = await textsFor("batch", context);
  const shared = resultsDir === undefined
    ? undefined
    : ResultsDir.open(resultsDir, manifestOf({ ...flags, tasks, text: source.text, file: source.path }));
  const runner = shared && [shared.path, part.shard, Deno.hostname()].join("\0");
  using journal = await BatchJournal.open(paths.home, source.path, runner);
  const names = taskNames(tasks);
  const scope = shared ? journal.dir : source.path;
  const keyed = selected.map((task, at) => {
    const index = indexes[at] ?? 0;
    return keyedTask(task, { flags, index, name: names[index] ?? "", scope });
  });
  const stop = new AbortController();
  const removeListeners = onSignals({
    stop: (reason) => stop.abort(reason),
    exit: (code) => Deno.exit(code),
  });
  const results = await openResults(flags.results, source.path, () => stop.abort("interrupted"));
  await using services = openServices();
  // A resource that is used once would be moved to its use by the bundler, and never closed.
  if (!services.shell) throw new TypeError("The services of a batch have no guard");
  const jobs = flags.jobs ?? DEFAULT_JOBS;
  const meter = shared && new (await loadRunnerMeter()).RunnerMeter(jobs);
  using sign = shared && new RunnerSign(shared);
  const progress = new BatchProgress(context, { all: keyed.length, quiet: flags.quiet ?? false, texts });
  const confining = shared && await confiningContainer(paths, flags);
  const batch: Batch = {
    context,
    flags,
    paths,
    journal,
    patches: results.directory ?? journal.dir,
    shared,
    meter,
    part: {
      file: source.path.slice(source.path.lastIndexOf("/") + 1),
      receiver: { failed: false, reported: false },
      ...defined({ shard: part.shard, inContainer: confining?.container }),
    },
    write: results.write,
    progress,
    guard: services.shell.guard,
    repositories: new RepositoryCache({ home: paths.home, notify: (text) => progress.print(text) }),
    stop,
    costs: new Map(),
    limit: flags.maxCost ?? flags.maxBudgetUsd ?? Infinity,
  };
  if (confining) progress.print(texts.inContainer(confining.container, confining.reason));
  if (part.variable !== undefined) {
    progress.print(texts.indexFrom(part.shard ?? "", batch.part.file, part.variable));
  }
  const images = selected.filter(({ image }) => image !== undefined).length;
  if (images > 0 && !shared) progress.print(texts.imagesIgnored(images));
  const open = new Set<ExitName>();
  const take = (result: TaskResult) => {
    if (result.cost) batch.costs.set(result.id, result.cost.amount);
    if (!isFinal(result)) open.add(exitOf(result));
  };
  const waiting: KeyedTask[] = [];
  for (const task of keyed) {
    const finished = await finishedResult(task, batch);
    if (!finished) waiting.push(task);
    else {
      progress.count(finished);
      take(finished);
    }
  }
  if (progress.ended > 0) progress.print(texts.continues(progress.ended, keyed.length));
  const queue = waiting.values();
  const work = async () => {
    for (const task of queue) {
      if (stop.signal.aborted || costLeft(batch) <= 0) return;
      progress.begin(task.task.id);
      sign?.begin(task.index);
      const result = await resultOf(task, batch);
      sign?.end(task.index);
      if (result) take(result);
      progress.end(task.task.id, result);
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  await results.close();
  progress.close();
  removeListeners();
  const { ended, succeeded } = progress;
  const left = keyed.length - ended;
  if (shared && left === 0 && open.size === 0) journal.clear();
  const isSpent = costLeft(batch) <= 0;
  if (!flags.quiet || left > 0) {
    const parts = [
      texts.summary(succeeded, keyed.length, ended - succeeded),
      ...(isSpent ? [texts.costLimit(batch.limit)] : []),
      ...(left > 0 ? [texts.open(left)] : []),
    ];
    context.process.stderr.write(`· ${parts.join("; ")}\n`);
  }
  const stopped: ExitName = stop.signal.reason === "terminated" ? "terminated" : "interrupt";
  const isStopped = left > 0 && stop.signal.aborted;
  // Only a runner of many says whether it is worth to run it again.
  const waits = shared && RETRY_ORDER.find((name) => open.has(name));
  const exit = isSpent
    ? "limit"
    : isStopped
    ? stopped
    : succeeded === keyed.length
    ? "done"
    : waits ?? "failed";
  context.process.exitCode = EXIT[exit];
}

/** The exit name of an unfinished task. A server of repositories may be back later, as one of models. */
function exitOf({ reason }: TaskResult): ExitName {
  return reason === "repository" ? "provider" : reason === "check" || reason === "setup" ? "failed" : reason;
}

/** Why tasks are open, beginning with what another run may change. */
const RETRY_ORDER: readonly ExitName[] = [
  "provider",
  "terminated",
  "interrupt",
  "config",
  "blocked",
  "usage",
];

function costLeft({ costs, limit }: Batch): number {
  return [...costs.values()].reduce((left, cost) => left - cost, limit);
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

/** Throws a ReasonixError (usage) for flags that a batch cannot have. */
export function checkFlags(flags: RunFlags, words: readonly string[]): void {
  const wrong = SINGLE.find((name) => flags[name] !== undefined);
  const refuse = (what: string, remedy: string, other = "--tasks") => {
    throw usageError(message`Cannot use ${what} together with ${other}`, remedy);
  };
  if (words.length > 0 && flags.tasksFrom === undefined) {
    refuse("a separate task", "put it into the file as one more line");
  }
  if (wrong !== undefined) {
    refuse(flagWord(wrong), "it is about one session");
  }
  if (flags.outputFormat === "json" || flags.outputFormat === "stream-json") {
    refuse(`--output-format ${flags.outputFormat}`, "results are JSON Lines, one for each task");
  }
  if (flags.shard && flags.taskIndex !== undefined) {
    refuse("--task-index", "leave out one of them", "--shard");
  }
  if (flags.resultsDir === undefined) return;
  if (flags.results !== undefined) {
    refuse("--results", "reasonix batch merge DIR --results FILE makes the file", "--results-dir");
  }
  if (flags.fresh) refuse("--fresh", "a result is stored once; give another directory", "--results-dir");
}

/** The file of `--tasks FILE`, or of `--tasks-from FORMAT FILE`, whose name is the only word. */
function fileOf({ tasks, tasksFrom }: RunFlags, [file, ...more]: readonly string[]): string {
  if (tasksFrom === undefined) return tasks ?? "-";
  if (file !== undefined && more.length === 0 && tasks === undefined) return file;
  throw usageError(
    message`Cannot read tasks from ${tasksFrom}: that takes one file, and no --tasks`,
    message`write --tasks-from ${tasksFrom} FILE`,
  );
}

/** Throws before the first task for what would stop every task of a directory, and for keys in variables. */
async function checkTasks(
  context: CliContext,
  flags: RunFlags,
  { paths, tasks }: { readonly paths: RunPaths; readonly tasks: readonly BatchTask[] },
): Promise<void> {
  // A repository is not there yet: the user's own settings count.
  const byDirectory = Map.groupBy(tasks, ({ repo, dir }) => repo === undefined ? dir : paths.home);
  for (const [cwd, here] of byDirectory) {
    const loaded = await loadNonInteractiveConfig({ ...paths, cwd }, flags);
    await requireProvider(loaded, languageOf(context, loaded).locale);
    if (flags.worktree && cwd !== paths.home) await requireRepository(cwd);
    const { keyNames } = secretsOf(loaded);
    for (const { id, env = {} } of here) {
      const key = keyNames.find((name) => Object.hasOwn(env, name));
      if (key === undefined) continue;
      throw usageError(
        message`Cannot run ${id}: its "env" sets ${key}, the key of a provider, which commands never get`,
        message`leave it out there`,
      );
    }
  }
}

/** The container that this process is in, where no jail works in it and the settings demand none. */
async function confiningContainer(paths: RunPaths, flags: RunFlags) {
  const mark = containerMark(paths.env);
  if (mark === undefined) return undefined;
  // No project counts here: that of a task may still demand a jail.
  const own = { ...paths, cwd: paths.home };
  const { permissionMode } = runOptions(flags);
  const loaded = await loadNonInteractiveConfig(own, flags);
  const { expected } = await openAccessScope(own, loaded, permissionMode, mark);
  if (expected.confined || expected.container === undefined) return undefined;
  return { container: expected.container, reason: expected.reason };
}

/** A task of a repository has its own clone, which is a work tree too. */
function hasTree({ flags }: Batch, { repo }: BatchTask): boolean {
  return flags.worktree === true || repo !== undefined;
}

/** The result of an earlier run that has finished the task. Removes a work tree that was left behind. */
async function finishedResult(keyed: KeyedTask, batch: Batch): Promise<TaskResult | undefined> {
  const { flags, journal, shared, paths: { home } } = batch;
  const { key, task, worktreeId } = keyed;
  const { begin, result } = journal.of(key);
  const stored = shared?.entry(keyed.index);
  const again = flags.fresh === true && (begin ?? result) !== undefined;
  if (again) journal.forget(key, task.id);
  if (hasTree(batch, task) && (again || result || (begin && stored?.isFinal))) {
    await removeWorktree(home, worktreeId);
  }
  if (shared) return stored?.isFinal ? stored.stored?.result : undefined;
  if (again || !result || !isFinal(result)) return undefined;
  await batch.write(result);
  return result;
}

interface Attempt {
  readonly result: TaskResult;
  /** Absent: it was not begun, or by an older version. */
  readonly run?: RunFacts | undefined;
}

/** Puts a result where the flags say. Returns the one that counts. */
async function deliver(keyed: KeyedTask, { result, run }: Attempt, batch: Batch): Promise<TaskResult> {
  const { shared, progress, journal, paths } = batch;
  if (!shared) await batch.write(result);
  if (!shared) return result;
  const { index, key, patchName } = keyed;
  const facts = run ?? { started: new Date().toISOString() };
  const { begin } = journal.of(key);
  const log = begin && sessionPaths(projectDir(paths.home, begin.cwd), begin.session).path;
  try {
    // Its line says what happened, whether or not it can be written down.
    if (!isFinal(result)) await shared.fail(index, facts, result).catch(() => {});
    else if (
      !shared.put(index, facts, result, {
        patch: result.patch ? `${batch.patches}/${patchName}` : undefined,
        session: log !== undefined && isFile(log) ? log : undefined,
      })
    ) {
      progress.print(progress.texts.otherWasFirst(result.id));
      return shared.entry(index).stored?.result ?? result;
    }
    return result;
  } catch (error) {
    return notBegun(keyed, error);
  }
}

async function removeWorktree(home: string, id: string): Promise<void> {
  await (await adoptWorktree({ home, id }))?.remove();
}

/** The result of a task; undefined when it was stopped and waits for the next run. */
async function resultOf(keyed: KeyedTask, batch: Batch): Promise<TaskResult | undefined> {
  const { journal, paths, shared, stop: { signal } } = batch;
  try {
    const present = shared?.entry(keyed.index);
    if (present?.isFinal) return present.stored?.result;
    if (present?.damage !== undefined) {
      throw usageError(
        message`Cannot store the result of ${keyed.task.id}: ${present.damage}`,
        message`remove it, and run the command again`,
      );
    }
    const { result: ended, run: facts } = journal.of(keyed.key);
    // It was killed before it had stored it.
    if (shared && ended && isFinal(ended)) return await deliver(keyed, { result: ended, run: facts }, batch);
    const work = () => runTask(keyed, batch);
    const [{ result, run: begun }, runner] = await batch.meter?.measure(work) ?? [await work()];
    const run = { ...begun, ...defined({ runner }) };
    if (signal.aborted && !result.ok) return undefined;
    journal.end(keyed.key, result, run);
    if (hasTree(batch, keyed.task) && isFinal(result)) await removeWorktree(paths.home, keyed.worktreeId);
    return await deliver(keyed, { result, run }, batch);
  } catch (error) {
    if (signal.aborted) return undefined;
    return await deliver(keyed, { result: notBegun(keyed, error) }, batch);
  }
}

/** It was not begun, so it is not finished either: the next run tries again. */
function notBegun({ task }: KeyedTask, error: unknown): TaskResult {
  const known = error instanceof ReasonixError ? error : undefined;
  return {
    id: task.id,
    ok: false,
    reason: error instanceof PreparationError ? error.reason : known?.exit ?? "failed",
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

/** Days that the work tree of an unfinished task waits for the next run of its batch. */
const KEEP_DAYS = 7;

/** Runs one task, from its beginning or from where it was interrupted, and its checks. */
async function runTask(keyed: KeyedTask, batch: Batch): Promise<Attempt & { readonly run: RunFacts }> {
  const begun = new Date().toISOString();
  const { task, key } = keyed;
  const { journal, paths, costs, stop: { signal } } = batch;
  const adopted = hasTree(batch, task)
    ? await adoptWorktree({ home: paths.home, id: keyed.worktreeId, keepDays: KEEP_DAYS })
    : undefined;
  const worktree = hasTree(batch, task) ? adopted ?? await makeTree(keyed, batch) : undefined;
  const cwd = worktree?.cwd ?? task.dir;
  const logOf = (id: string) => sessionPaths(projectDir(paths.home, cwd), id).path;
  const { begin } = journal.of(key);
  const known = begin?.cwd === cwd && worktree === adopted ? begin.session : undefined;
  // One that was killed before its first event was written starts again.
  const continues = known !== undefined && (stateOf(logOf(known)) || !isFile(logOf(known)));
  const session = continues ? known : newSessionId(new Date());
  if (!continues && !worktree) await setUp(task, cwd, batch);
  if (!continues) journal.begin(key, task.id, { session, cwd });
  const before = stateOf(logOf(session));
  const last = before?.turns.at(-1);
  costs.set(task.id, Object.values(before?.costs ?? {}).reduce((sum, each) => sum + each, 0));
  const ran = last?.reason === "done"
    ? { exit: last.reason, answer: last.answer ?? "" }
    : await answerOf(last ? CONTINUE.trim() : task.prompt, {
      task,
      cwd,
      session,
      isBegun: before !== undefined,
      spentMs: before?.durationMs ?? 0,
      spent: costs.get(task.id) ?? 0,
    }, batch);
  const state = stateOf(logOf(session));
  const patch = worktree && await savePatch(worktree, `${batch.patches}/${keyed.patchName}`, signal);
  const started = performance.now();
  const checks = ran.exit === "done" ? await runLines(task.checks, { task, cwd }, batch) : [];
  const failed = checks.some(({ ok }) => !ok);
  const spending: Spending = state ?? NO_SPENDING;
  const result: TaskResult = {
    id: task.id,
    ok: ran.exit === "done" && !failed && checks.length === task.checks.length,
    reason: failed ? "check" : ran.exit,
    ...("detail" in ran ? defined({ error: ran.detail }) : {}),
    answer: ran.answer,
    session: state ? session : null,
    model: state?.model ?? null,
    usage: spending.usage,
    cost: totalCost(spending, Object.keys(spending.costs)[0]) ?? null,
    duration_ms: Math.round((state?.durationMs ?? 0) + performance.now() - started),
    checks,
    ...(worktree ? { patch: patch ?? null } : {}),
  };
  const repo = task.repo && shownRepository(task.repo);
  const confinement = batch.part.inContainer === undefined ? undefined : "container" as const;
  const facts = defined({ base: worktree?.record.head, repo, confinement });
  return { result, run: { started: begun, ...facts } };
}

interface PreparationOptions {
  readonly reason: "repository" | "setup";
  readonly remedy?: Text;
  readonly cause?: unknown;
}

/** A task that could not begin for a reason that is neither its own nor the provider's. */
class PreparationError extends ReasonixError {
  readonly reason: PreparationOptions["reason"];

  constructor(text: Text, { reason, ...options }: PreparationOptions) {
    super(text, options);
    this.reason = reason;
  }
}

/** Makes the work tree of a task; its changes count from the end of its setup. */
async function makeTree({ task, worktreeId }: KeyedTask, batch: Batch): Promise<Worktree> {
  const { repositories, paths: { home }, stop: { signal } } = batch;
  const { dir, repo, ref, setup } = task;
  const prepare = setup && ((cwd: string) => setUp(task, cwd, batch));
  const tree = { home, id: worktreeId, keepDays: KEEP_DAYS, prepare };
  if (repo === undefined) return await createWorktree({ ...tree, cwd: dir }, signal);
  const cached = await repositories.find(repo, ref, signal).catch((error) => {
    // A ref that is not there is the fault of the task.
    if (!(error instanceof ReasonixError) || error.exit === "usage") throw error;
    const { message, ...remedy } = error.texts;
    throw new PreparationError(message, { reason: "repository", ...remedy, cause: error });
  });
  return await cloneWorktree({ ...tree, ...cached, prefix: dir }, signal);
}

/** Runs the setup of a task. Throws for the first line that fails. */
async function setUp(task: BatchTask, cwd: string, batch: Batch): Promise<void> {
  const lines = task.setup ?? [];
  const results = await runLines(lines, { task, cwd, untilFailure: true }, batch);
  const failed = results.find(({ ok }) => !ok);
  batch.stop.signal.throwIfAborted();
  if (!failed) return;
  const { command, exit_code: code, output } = failed;
  throw new PreparationError(
    message`Cannot set up ${task.id}: ${JSON.stringify(command)} ended with ${code ?? "its time limit"}: ${
      output.slice(-MAX_SETUP_OUTPUT)
    }`,
    {
      reason: "setup",
      remedy: message`correct "setup" or what it needs, and run the command again; it runs in the sandbox`,
    },
  );
}

/** The state of a session by its log; undefined where it has none. */
function stateOf(path: string): SessionState | undefined {
  try {
    const state = isFile(path) ? loadEvents(path, undefined, "messages").state : undefined;
    return state?.session === undefined ? undefined : state;
  } catch {
    return undefined;
  }
}

interface TaskSession {
  readonly task: KeyedTask["task"];
  readonly cwd: string;
  readonly session: string;
  readonly isBegun: boolean;
  /** Milliseconds and cost of earlier attempts. */
  readonly spentMs: number;
  readonly spent: number;
}

/** A run of the program with the flags of the batch, without output. */
async function answerOf(text: string, run: TaskSession, batch: Batch) {
  const { task, cwd, session, isBegun } = run;
  const { maxCost: _cost, maxBudgetUsd: _budget, ...shared } = batch.flags;
  const flags: RunFlags = {
    ...shared,
    quiet: true,
    outputFormat: "jsonl",
    dir: cwd,
    ...defined({ model: task.model ?? shared.model }),
    ...limitFlags(shared, run, costLeft(batch)),
    ...(isBegun ? { resume: session } : { sessionId: session }),
  };
  const { written } = await textsFor("run", batch.context);
  const take = (event: Event) => {
    if (event.type === "notice" && event.code === "telemetry") {
      batch.progress.print(`! ${written(event.said, event.text)}`);
    }
    // The cost of a turn is the sum of the costs of its parts.
    if (event.type === "turn.end" || !("cost" in event) || !event.cost) return;
    batch.costs.set(task.id, (batch.costs.get(task.id) ?? 0) + event.cost.amount);
    if (costLeft(batch) <= 0) batch.stop.abort("interrupted");
  };
  return await taskResult(batch.context, flags, {
    words: [text],
    printer: { event: take, result: () => Promise.resolve() },
    err: new Output(Deno.stderr),
    speech: await Speech.of(batch.context, flags),
    secrets: noSecrets(),
    signal: batch.stop.signal,
    readTask: () => Promise.resolve({ text, piped: () => Promise.resolve(undefined) }),
    batch: { ...batch.part, task: task.id, ...defined({ env: task.env }) },
  });
}

/** The bounds of a task: those of the flags and its own, the lower ones. */
function limitFlags(
  { maxSteps, maxTurns, timeLimit }: RunFlags,
  { task: { limits = {} }, spentMs, spent }: TaskSession,
  left: number,
): Pick<RunFlags, "maxSteps" | "timeLimit" | "maxCost"> {
  const lowest = (...values: readonly (number | undefined)[]) => {
    const least = Math.min(...values.map((value) => value ?? Infinity));
    return least === Infinity ? undefined : least;
  };
  const rest = (limit: number | undefined, used: number, least: number) =>
    limit === undefined ? undefined : Math.max(limit - used, least);
  return defined({
    maxSteps: lowest(maxSteps, maxTurns, limits.steps),
    timeLimit: lowest(timeLimit, rest(limits.seconds, spentMs / 1000, MIN_SECONDS)),
    maxCost: lowest(left, rest(limits.cost, spent, MIN_COST)),
  });
}

const MIN_SECONDS = 0.001;
const MIN_COST = 1e-9;

const CHECK_LIMIT_MS = 10 * 60 * 1000;
const MAX_CHECK_OUTPUT = 4000;
const MAX_SETUP_OUTPUT = 1000;

interface LineOptions {
  readonly task: BatchTask;
  readonly cwd: string;
  /** A line that fails is the last one that runs. */
  readonly untilFailure?: boolean;
}

/** Runs command lines in the jail, one after the other, each in the directory of the task. */
async function runLines(
  commands: readonly string[],
  { task: { env }, cwd, untilFailure }: LineOptions,
  { paths: shared, flags, guard, stop: { signal } }: Batch,
): Promise<CheckResult[]> {
  if (commands.length === 0) return [];
  const paths = { ...shared, cwd };
  const loaded = await loadNonInteractiveConfig(paths, flags);
  const unconfined = flags.permissionMode === "danger-full-access";
  const workspace = buildWorkspace(paths, loaded.config);
  const redact = redactorOf(loaded);
  return await withJail({ paths, loaded, workspace, unconfined, env }, async (jail) => {
    const results: CheckResult[] = [];
    for (const command of commands) {
      if (signal.aborted || (untilFailure && results.some(({ ok }) => !ok))) break;
      const plan = jail.wrap(shellCommand(command), { cwd });
      const { output, ...ended } = await runCheck(plan, { cwd, guard, signal });
      // Cut afterwards: the rest of a secret that was cut is not recognized.
      const shown = redact(output).slice(-MAX_CHECK_OUTPUT).trim();
      results.push({ command: redact(command), ...ended, output: shown });
    }
    return results;
  });
}

async function runCheck(
  plan: SpawnPlan,
  { cwd, guard, signal }: {
    readonly cwd: string;
    readonly guard: ProcessGuard;
    readonly signal: AbortSignal;
  },
): Promise<Omit<CheckResult, "command">> {
  const { ShellProcess } = await loadProcesses();
  const decoder = new TextDecoder();
  let output = "";
  const onOutput = (chunk: Uint8Array) => {
    output = (output + decoder.decode(chunk, { stream: true })).slice(-2 * MAX_CHECK_OUTPUT);
  };
  const process = new ShellProcess(plan, { cwd, guard, onOutput });
  const limit = AbortSignal.timeout(CHECK_LIMIT_MS);
  const ends = AbortSignal.any([signal, limit]);
  const stop = () => void process.kill();
  ends.addEventListener("abort", stop, { once: true });
  if (ends.aborted) stop();
  const { code } = await process.ended;
  ends.removeEventListener("abort", stop);
  const late = limit.aborted;
  const note = late ? `\n[ended after ${CHECK_LIMIT_MS / 60_000} minutes]` : "";
  return { ok: code === 0 && !late, exit_code: late ? null : code, output: output + note };
}

/** Saves the changes without those that the checks make; undefined when there are none. */
async function savePatch(tree: Worktree, file: string, signal: AbortSignal): Promise<string | undefined> {
  if (signal.aborted) return undefined;
  const patch = await tree.diff(signal);
  if (patch.bytes === 0) {
    await Deno.remove(file).catch(() => {});
    return undefined;
  }
  try {
    await writeFileAtomic(file, await Deno.readFile(patch.file));
  } catch (error) {
    throw new ReasonixError(message`Cannot save the changes in ${file}: ${errorMessage(error)}`, {
      remedy: message`free space there or make it writable, and run the command again`,
      cause: error,
    });
  }
  return file;
}

interface ProgressOptions {
  readonly all: number;
  readonly quiet: boolean;
  readonly texts: Texts["batch"];
}

const BAR = 20;
/** An error has its remedy at the end. */
const MAX_LINE = 1000;
const TICK_MS = 1000;

/** Progress on standard error: a line for each end, and on a terminal a bar below that is written over. */
class BatchProgress {
  ended = 0;
  succeeded = 0;
  readonly #context: CliContext;
  readonly texts: Texts["batch"];
  readonly #options: ProgressOptions;
  readonly #columns: () => number;
  readonly #running = new Set<string>();
  readonly #started = performance.now();
  readonly #timer: ReturnType<typeof setInterval> | undefined;

  constructor(context: CliContext, options: ProgressOptions) {
    const { live, columns } = displayOf(context);
    this.#context = context;
    this.#options = options;
    this.texts = options.texts;
    this.#columns = columns;
    if (live && !options.quiet) this.#timer = setInterval(() => this.#draw(), TICK_MS);
  }

  count({ ok }: TaskResult): void {
    this.ended += 1;
    if (ok) this.succeeded += 1;
  }

  begin(id: string): void {
    this.#running.add(id);
    this.#draw();
  }

  /** Takes a task out that is not running any more; without a result it waits for the next run. */
  end(id: string, result: TaskResult | undefined): void {
    this.#running.delete(id);
    if (!result) return;
    this.count(result);
    const { texts, all } = this.#options;
    const { ok, reason, error, duration_ms } = result;
    const outcome = ok || reason === "done" ? texts.done : texts.reasons[reason];
    const why = error === undefined ? "" : ` (${error})`;
    const seconds = `${(duration_ms / 1000).toFixed(1)} s`;
    this.print(texts.ended(`[${this.ended}/${all}]`, id, `${outcome}${why} · ${seconds}`));
  }

  print(text: string): void {
    if (this.#options.quiet) return;
    this.#write("");
    this.#context.process.stderr.write(`· ${oneLine(text, MAX_LINE)}\n`);
    this.#draw();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#write("");
  }

  #draw(): void {
    const { texts, all } = this.#options;
    const filled = Math.round(BAR * this.ended / all);
    const seconds = Math.floor((performance.now() - this.#started) / 1000);
    const counts = texts.bar(this.ended, all, this.ended - this.succeeded, this.#running.size);
    const names = [...this.#running].map((id) => oneLine(id)).join(", ");
    const line = `${"█".repeat(filled)}${"░".repeat(BAR - filled)} ${counts} · ${seconds} s · ${names}`;
    this.#write(fitDisplay(line, this.#columns() - 1));
  }

  /** Writes over the bar as it is: other output is broken between words. */
  #write(line: string): void {
    if (this.#timer === undefined) return;
    Deno.stderr.writeSync(new TextEncoder().encode(`\r\x1b[2K${line}`));
  }
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
    usageError(message`Cannot write results to ${path}: ${reason}`, message`give --results another file`);
  if (existingRealPath(path) === tasks) throw unwritable("it holds the tasks");
  try {
    return await Deno.open(path, { write: true, create: true, truncate: true });
  } catch (error) {
    throw unwritable(errorMessage(error));
  }
}
