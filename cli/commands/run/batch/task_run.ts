import { buildWorkspace, type RunPaths, withJail } from "../../../../src/run/mod.ts";
import {
  errorMessage,
  EXIT,
  type ExitName,
  NO_SPENDING,
  ReasonixError,
  type Spending,
  totalCost,
} from "../../../../src/core/mod.ts";
import { isFile } from "../../../../src/path/probe.ts";
import {
  loadEvents,
  newSessionId,
  projectDir,
  type SessionPaths,
  sessionPaths,
  type SessionState,
} from "../../../../src/session/mod.ts";
import { loadProcesses, type ProcessGuard, type SpawnPlan } from "../../../../src/tool/mod.ts";
import { writeFileAtomic } from "../../../../src/util/atomic_write.ts";
import { isRecord, parseJson } from "../../../../src/util/json.ts";
import { LineSplitter } from "../../../../src/util/lines.ts";
import { FileLock } from "../../../../src/util/lock.ts";
import { shellCommand } from "../../../../src/util/process.ts";
import { adoptWorktree, createWorktree, type Worktree } from "../../../../src/worktree/mod.ts";
import { startFlagsFor } from "../../../terminal/start_flags.ts";
import { loadNonInteractiveConfig } from "../config.ts";
import type { RunFlags } from "../../../run_flags.ts";
import CONTINUE from "./continue.md" with { type: "text" };
import type { BatchJournal, CheckResult, KeyedTask, TaskResult } from "./journal.ts";

/** Longest wait for the end of a run whose batch was killed. */
const BUSY_MS = 10_000;
/** Time that a stopped run has to end and to record that it was stopped. */
const STOP_MS = 120;
const CHECK_LIMIT_MS = 10 * 60 * 1000;
const MAX_CHECK_OUTPUT = 4000;
const MAX_ERROR_OUTPUT = 2000;
/** Days that the work tree of an unfinished task waits for the next run of its batch. */
const KEEP_DAYS = 7;

export interface TaskRunDeps {
  readonly flags: RunFlags;
  readonly paths: RunPaths;
  readonly journal: BatchJournal;
  readonly patches: string;
  readonly guard: ProcessGuard;
  readonly signal: AbortSignal;
}

interface TaskBudget {
  readonly maxCost: number | undefined;
  /** Receives the cost of earlier runs of the task. */
  readonly onBegin: (spent: number) => void;
  readonly onSpending: (amount: number) => void;
}

interface TaskOutcome {
  readonly reason: ExitName;
  readonly answer: string;
  readonly error?: string;
}

/** Runs one task, from its beginning or from where it was interrupted, and its checks. */
export async function runTask(
  keyed: KeyedTask,
  deps: TaskRunDeps,
  { maxCost, onBegin, onSpending }: TaskBudget,
): Promise<TaskResult> {
  const { task, key } = keyed;
  const { flags, journal, paths, signal } = deps;
  const tree = flags.worktree ? await openTree(keyed, deps) : undefined;
  const cwd = tree?.worktree.cwd ?? task.dir;
  const { begin } = journal.of(key);
  const known = begin?.cwd === cwd && tree?.isNew !== true ? begin.session : undefined;
  const filesOf = (id: string) => sessionPaths(projectDir(paths.home, cwd), id);
  if (known !== undefined) await released(filesOf(known), signal);
  // One that was killed before its first event was written starts again.
  const continues = known !== undefined && (stateOf(filesOf(known)) || !isFile(filesOf(known).path));
  const session = continues ? known : newSessionId(new Date());
  if (!continues) journal.begin(key, task.id, { session, cwd });
  const before = stateOf(filesOf(session));
  const last = before?.turns.at(-1);
  onBegin(Object.values(before?.costs ?? {}).reduce((sum, each) => sum + each, 0));
  const model = task.model ?? flags.model;
  const args = [
    "run",
    ...flagWords(flags),
    "--quiet",
    "--output-format=jsonl",
    `--dir=${cwd}`,
    ...(model === undefined ? [] : [`--model=${model}`]),
    ...(maxCost === undefined ? [] : [`--max-cost=${maxCost}`]),
    before ? `--resume=${session}` : `--session-id=${session}`,
    "-",
  ];
  const ran = last?.reason === "done"
    ? { reason: last.reason, answer: last.answer ?? "" }
    : await runChild(args, last ? CONTINUE.trim() : task.prompt, deps, onSpending);
  const state = stateOf(filesOf(session));
  const patch = tree && await savePatch(tree.worktree, `${deps.patches}/${keyed.patchName}`, signal);
  const started = performance.now();
  const checks = ran.reason === "done" ? await runChecks(task.checks, cwd, deps) : [];
  const failed = checks.some(({ ok }) => !ok);
  const spending: Spending = state ?? NO_SPENDING;
  return {
    id: task.id,
    ok: ran.reason === "done" && !failed && checks.length === task.checks.length,
    reason: failed ? "check" : ran.reason,
    ...(ran.error === undefined ? {} : { error: ran.error }),
    answer: ran.answer,
    session: state ? session : null,
    model: state?.model ?? null,
    usage: spending.usage,
    cost: totalCost(spending, Object.keys(spending.costs)[0]) ?? null,
    duration_ms: Math.round((state?.durationMs ?? 0) + performance.now() - started),
    checks,
    ...(tree ? { patch: patch ?? null } : {}),
  };
}

/** The state of a session by its log; undefined where it has none. */
function stateOf({ path }: SessionPaths): SessionState | undefined {
  try {
    const state = isFile(path) ? loadEvents(path, undefined, "messages").state : undefined;
    return state?.session === undefined ? undefined : state;
  } catch {
    return undefined;
  }
}

/** Waits until no process writes the session: the run of a batch that was killed ends a moment after it. */
async function released({ lock }: SessionPaths, signal: AbortSignal): Promise<void> {
  if (!isFile(lock)) return;
  for (const end = performance.now() + BUSY_MS; performance.now() < end && !signal.aborted;) {
    const taken = FileLock.tryAcquire(lock);
    if (taken.held) return taken.lock.release();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Flags of the batch itself, and those that each task gets with its own value. */
const BATCH_ONLY = new Set([
  "tasks",
  "jobs",
  "worktree",
  "results",
  "fresh",
  "dir",
  "model",
  "maxCost",
  "maxBudgetUsd",
  "outputFormat",
  "quiet",
  "noColor",
  "verbose",
  "showThinking",
]);

/** The flags of a batch as words for the run of each of its tasks. */
function flagWords(flags: RunFlags): string[] {
  return Object.entries(flags).flatMap(([name, value]) => {
    if (BATCH_ONLY.has(name) || value === undefined) return [];
    const word = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    if (value === false) return [`--no-${word}`];
    if (value === true) return [`--${word}`];
    return (Array.isArray(value) ? value : [value]).map((each) => `--${word}=${each}`);
  });
}

/** Keeps the end of an output. */
function tail(max: number): { text: string; add(chunk: Uint8Array): void } {
  const decoder = new TextDecoder();
  return {
    text: "",
    add(chunk) {
      this.text = (this.text + decoder.decode(chunk, { stream: true })).slice(-max);
    },
  };
}

/**
 * Runs this program in a process and waits for its end; an abort ends it with everything that it started. The
 * prompt goes to standard input: it may be longer than an argument can be.
 */
async function runChild(
  args: readonly string[],
  prompt: string,
  { paths, guard, signal }: TaskRunDeps,
  onSpending: TaskBudget["onSpending"],
): Promise<TaskOutcome> {
  const brokeOff = (reason: string): TaskOutcome => ({
    reason: "terminated",
    answer: "",
    error: `The run of the task broke off: ${reason}`,
  });
  if (signal.aborted) return brokeOff("it was not started");
  const { ShellProcess } = await loadProcesses();
  let result: Readonly<Record<string, unknown>> | undefined;
  const takeLine = (line: string) => {
    if (!line.includes('"type":"result"') && !line.includes('"cost":{')) return;
    const event = parseJson(line);
    if (!isRecord(event)) return;
    if (event.type === "result") result = event;
    // The cost of a turn is the sum of the costs of its parts.
    else if (event.type !== "turn.end" && isRecord(event.cost) && typeof event.cost.amount === "number") {
      onSpending(event.cost.amount);
    }
  };
  const lines = new LineSplitter();
  const errors = tail(MAX_ERROR_OUTPUT);
  const process = new ShellProcess({ ...ownProgram(args), env: Deno.env.toObject() }, {
    cwd: paths.cwd,
    guard,
    stdin: "piped",
    lasting: true,
    onOutput: (chunk) => lines.push(chunk).forEach(takeLine),
    onErrorOutput: (chunk) => errors.add(chunk),
  });
  const stop = () => void process.kill(STOP_MS);
  signal.addEventListener("abort", stop, { once: true });
  // A process that ended before it had read everything gives the reason.
  const sent = ReadableStream.from([new TextEncoder().encode(prompt)]).pipeTo(process.stdin).catch(() => {});
  const [{ code, signal: by }] = await Promise.all([process.ended, sent]);
  signal.removeEventListener("abort", stop);
  if (!result) {
    const end = by === undefined ? `it ended with ${code}` : `it was ended by ${by}`;
    const detail = errors.text.trim().split("\n").at(-1) ?? "";
    return brokeOff(detail === "" ? end : `${end}: ${detail}`);
  }
  const { exit_code, result: answer, error } = result;
  return {
    reason: (Object.keys(EXIT) as ExitName[]).find((name) => EXIT[name] === exit_code) ?? "failed",
    answer: typeof answer === "string" ? answer : "",
    ...(typeof error === "string" ? { error } : {}),
  };
}

/** The command line that starts this program again. */
function ownProgram(args: readonly string[]): { readonly command: string; readonly args: readonly string[] } {
  const command = Deno.execPath();
  if (Deno.build.standalone) return { command, args };
  const program = Deno.mainModule;
  // The sources need their import map; a bundle must not take one from its directory.
  const own = program.endsWith(".ts") ? [] : ["--no-config"];
  return { command, args: ["run", ...startFlagsFor(program), ...own, program, ...args] };
}

/** Runs command lines in the jail, one after the other, each in the directory of the task. */
async function runChecks(
  commands: readonly string[],
  cwd: string,
  deps: TaskRunDeps,
): Promise<CheckResult[]> {
  if (commands.length === 0) return [];
  const paths = { ...deps.paths, cwd };
  const loaded = await loadNonInteractiveConfig(paths, deps.flags);
  const unconfined = deps.flags.permissionMode === "danger-full-access";
  const workspace = buildWorkspace(paths, loaded.config);
  return await withJail({ paths, loaded, workspace, unconfined }, async (jail) => {
    const results: CheckResult[] = [];
    for (const command of commands) {
      if (deps.signal.aborted) break;
      const plan = jail.wrap(shellCommand(command), { cwd });
      results.push({ command, ...await runCheck(plan, cwd, deps) });
    }
    return results;
  });
}

async function runCheck(
  plan: SpawnPlan,
  cwd: string,
  { guard, signal }: TaskRunDeps,
): Promise<Omit<CheckResult, "command">> {
  const { ShellProcess } = await loadProcesses();
  const output = tail(MAX_CHECK_OUTPUT);
  const process = new ShellProcess(plan, { cwd, guard, onOutput: (chunk) => output.add(chunk) });
  const limit = AbortSignal.timeout(CHECK_LIMIT_MS);
  const ends = AbortSignal.any([signal, limit]);
  const stop = () => void process.kill();
  ends.addEventListener("abort", stop, { once: true });
  if (ends.aborted) stop();
  const { code } = await process.ended;
  ends.removeEventListener("abort", stop);
  const late = limit.aborted;
  const note = late ? `\n[ended after ${CHECK_LIMIT_MS / 60_000} minutes]` : "";
  return { ok: code === 0 && !late, exit_code: late ? null : code, output: (output.text + note).trim() };
}

/** The work tree of a task: the one an earlier run has left, or a new one. */
async function openTree(
  { task, worktreeId: id }: KeyedTask,
  { paths: { home }, signal }: TaskRunDeps,
): Promise<{ readonly worktree: Worktree; readonly isNew: boolean }> {
  const kept = { home, id, keepDays: KEEP_DAYS };
  const adopted = await adoptWorktree(kept);
  if (adopted) return { worktree: adopted, isNew: false };
  return { worktree: await createWorktree({ ...kept, cwd: task.dir }, signal), isNew: true };
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
    throw new ReasonixError(`Cannot save the changes in ${file}: ${errorMessage(error)}`, {
      remedy: "make room there or make it writable, and run the command again",
      cause: error,
    });
  }
  return file;
}
