import type { AgentMode } from "./agent_mode.ts";
import { answerSchemaOf, loadNonInteractiveConfig, runOptions } from "./config.ts";
import type { RunFlags } from "../../run_flags.ts";
import { inLanguage, Speech } from "../../terminal/language.ts";
import { type CliContext, logDefect, runPaths } from "../../terminal/process.ts";
import { type InputReporter, readTask } from "../../terminal/stdin.ts";
import { assemble } from "../../../src/features/mod.ts";
import { type Assembly, type BatchContext, redactorOf } from "../../../src/run/mod.ts";
import { requireProvider } from "../../../src/config/mod.ts";
import {
  commandNames,
  executeLine,
  failedResult,
  Metrics,
  Output,
  type Printer,
  redacted,
  reportResult,
  resultOf,
  type RunResult,
  type TurnFacts,
  unsavedLine,
} from "../../../src/frontend/mod.ts";
import { lazy } from "../../../src/util/lazy.ts";
import { createRedactor } from "../../../src/util/redact.ts";
import { terminalSafe } from "../../../src/util/terminal_text.ts";
import { defined } from "../../../src/util/json.ts";
import { openGoal } from "../../../src/session/mod.ts";

const loadFiles = lazy(() => import("./attached_files.ts"));
const loadGoal = lazy(() => import("./goal.ts"));

/** Does one task. Errors are results too. */
export async function taskResult(context: CliContext, flags: RunFlags, deps: RunDeps): Promise<RunResult> {
  try {
    return await runTask(context, flags, deps);
  } catch (error) {
    await logDefect(error, context);
    return await resultOfError(error, flags, deps);
  }
}

export async function resultOfError(
  error: unknown,
  { sessionId: session }: RunFlags,
  { secrets, speech }: Pick<RunDeps, "secrets" | "speech">,
): Promise<RunResult> {
  const failed = failedResult(await inLanguage(error, speech.locale));
  return redacted({ ...failed, ...defined({ session }) }, secrets);
}

/** Secrets are known once the configuration is. */
export function noSecrets(): RunDeps["secrets"] {
  return { redact: createRedactor([]) };
}

export interface RunDeps {
  readonly words: readonly string[];
  readonly printer: Printer;
  readonly err: Output;
  readonly signal: AbortSignal;
  readonly speech: Speech;
  /** Takes secrets out of the error of a run. */
  readonly secrets: { redact: (text: string) => string };
  readonly readTask: typeof readTask;
  readonly batch?: BatchContext;
}

async function runTask(
  context: CliContext,
  flags: RunFlags,
  { words, printer, err, signal, secrets, speech, readTask, batch }: RunDeps,
): Promise<RunResult> {
  const notify = (text: string | undefined) => {
    if (text !== undefined && !flags.quiet) context.process.stderr.write(`· ${text}\n`);
  };
  const reporter: InputReporter = {
    get texts() {
      return speech.run.input;
    },
    report: notify,
  };
  const { goal, check, maxGoalTurns, research, simple, continue: latest, resume } = flags;
  // Without a task the run continues the goal of its session, where that has one.
  const mayContinue = goal === undefined && words.length === 0 && (latest || resume !== undefined);
  const hasGoal = mayContinue ||
    [goal, check, maxGoalTurns, research, simple].some((flag) => flag !== undefined);
  if (hasGoal) (await loadGoal()).requireGoalFlags(flags);
  const read = (optional: boolean) => readTask(words, reporter, { optional });
  const given = mayContinue ? undefined : await read(goal !== undefined);
  const metrics = new Metrics(flags.metrics);
  const paths = runPaths(context, flags.dir);
  const loaded = await loadNonInteractiveConfig(paths, flags);
  secrets.redact = redactorOf(loaded);
  notify(await speech.configure(loaded));
  notify(await requireProvider(loaded, speech.locale));
  const schema = await answerSchemaOf(flags);
  const plans = flags.planThenRun || loaded.config.agent.auto_plan
    ? await (await import("./plan_options.ts")).planOptions(flags, speech, signal)
    : {};
  const steps = flags.steps ?? loaded.config.agent_mode.default_steps;
  const mode = steps > 1 || flags.raw
    ? new (await import("./agent_mode.ts")).AgentMode(flags, loaded.config)
    : undefined;
  const options = {
    ...runOptions(flags),
    program: "run",
    steps,
    ...mode?.options,
    ...plans,
    ...defined({ batch }),
  };
  const all = { ...options, waitForAgents: true, answerForm: schema, paths, loaded };
  const watched = flags.web ? await openWatched(flags, all, { err, speech }) : undefined;
  const assembly = watched?.assembly ?? await assemble(all);
  assembly.controller.subscribe((event) => metrics.event(event));
  mode?.follow(assembly, err);
  assembly.controller.subscribe((event) => printer.event(event));
  try {
    const parts = {
      assembly,
      printer,
      metrics,
      schema,
      signal,
      speech,
      mode,
      flags,
      notify,
      hasGoal,
      run: watched?.run ?? ((input, signal) => assembly.run(input, signal)),
    } satisfies TaskDeps;
    const { text: task, piped } = given ?? await read(openGoal(assembly.session.state) !== undefined);
    const text = flags.file ? (await loadFiles()).withFiles(task, flags.file, paths.cwd) : task;
    const result = redacted(await resultOfTask({ text, piped: await piped() }, parts), assembly);
    metrics.write(result);
    return result;
  } finally {
    await assembly.close();
    await watched?.close();
    context.process.stderr.write(unsavedLine(assembly));
  }
}

/** Opens a run that the web page shows; an explicit `--on-ask` answers approvals in place of people. */
async function openWatched(
  { onAsk }: RunFlags,
  options: Parameters<typeof assemble>[0],
  { err, speech }: Pick<RunDeps, "err" | "speech">,
) {
  const { watchedRun } = await import("./watched_run.ts");
  return await watchedRun({
    speech,
    report: (line) => void err.write(`· ${terminalSafe(line)}\n`),
    assemble: ({ approver, asker, planReviewer }) =>
      assemble({
        ...defined({ asker, planReviewer }),
        ...options,
        ...(onAsk === undefined ? defined({ approver }) : {}),
      }),
  });
}

interface TaskDeps extends Pick<RunDeps, "printer" | "signal" | "speech">, TurnFacts {
  readonly assembly: Assembly;
  readonly run: Assembly["run"];
  /** Absent: one turn. */
  readonly mode: AgentMode | undefined;
  /** The flags name a goal, or the session may have one. */
  readonly hasGoal: boolean;
  readonly flags: RunFlags;
  readonly notify: (text: string | undefined) => void;
}

async function resultOfTask(
  task: { readonly text: string; readonly piped: string | undefined },
  parts: TaskDeps,
): Promise<RunResult> {
  const { assembly, printer, signal, mode, flags } = parts;
  const { text, piped } = task;
  const goal = parts.hasGoal ? await (await loadGoal()).goalInput(flags, task, assembly) : undefined;
  const line = goal
    ? { input: goal }
    : await executeLine(text, assembly, { signal, locale: parts.speech.locale });
  if ("notice" in line) parts.notify(line.notice);
  if (!line.input) return reportResult(line.report, assembly);
  await printer.begin?.({
    ...await assembly.open(),
    commands: () => commandNames(assembly),
    output: mode ? mode.output : flags.output,
  });
  const references = piped === undefined || piped === line.input.text ? [] : [`<stdin>\n${piped}\n</stdin>`];
  const outcome = await parts.run({ ...line.input, references }, signal);
  return await resultOf(await mode?.outcome(outcome) ?? outcome, assembly, parts);
}
