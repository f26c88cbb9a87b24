import { argument, command } from "../../command.ts";
import type { AgentMode } from "./agent_mode.ts";
import { answerSchemaOf, loadNonInteractiveConfig, requireTasks, runOptions, sdkHost } from "./config.ts";
import { RUN_FLAGS, type RunFlags } from "../../run_flags.ts";
import { displayOf } from "../../terminal/display.ts";
import { inLanguage, Speech } from "../../terminal/language.ts";
import { type CliContext, onSignals, runPaths } from "../../terminal/process.ts";
import { type InputReporter, readTask } from "../../terminal/stdin.ts";
import { assemble } from "../../../src/features/mod.ts";
import { type Assembly, redactorOf } from "../../../src/run/mod.ts";
import { requireProvider } from "../../../src/config/mod.ts";
import { usageError } from "../../../src/core/mod.ts";
import {
  claudeMode,
  commandNames,
  executeLine,
  failedResult,
  FRONTENDS,
  Metrics,
  Output,
  type Printer,
  redacted,
  reportResult,
  resultOf,
  type RunResult,
  type TurnFacts,
  unsavedLine,
  withDelivery,
} from "../../../src/frontend/mod.ts";
import { lazy } from "../../../src/util/lazy.ts";
import { createRedactor } from "../../../src/util/redact.ts";
import { defined } from "../../../src/util/json.ts";
import { openGoal } from "../../../src/session/mod.ts";

const loadFiles = lazy(() => import("./attached_files.ts"));
const loadGoal = lazy(() => import("./goal.ts"));

/** `reasonix run`: one task, one turn, one result. */
async function run(this: CliContext, flags: RunFlags, ...words: string[]): Promise<void> {
  if (flags.tasks !== undefined) {
    const { runBatch } = await import("./batch/batch.ts");
    return await runBatch(this, flags, words);
  }
  requireTasks(flags);
  const stop = new AbortController();
  const removeListeners = onSignals({
    stop: (reason) => stop.abort(reason),
    exit: (code) => Deno.exit(code),
  });
  const out = new Output(Deno.stdout, () => stop.abort("interrupted"));
  const speech = await Speech.of(this, flags);
  const err = new Output(Deno.stderr);
  const printer = await printerFor(this, flags, { out, err, speech });
  const deps: RunDeps = { words, printer, err, speech, secrets: noSecrets(), signal: stop.signal, readTask };
  let result = flags.inputFormat === "stream-json"
    ? await conversation(this, flags, deps, out)
    : await taskResult(this, flags, deps);
  if (result === undefined) return removeListeners();
  const isReported = out.failure !== undefined && flags.outputFormat === "text";
  await printer.result(withDelivery(result, out.failure));
  result = withDelivery(result, out.failure);
  // Only the text form speaks on standard error, and only of what it knew before.
  if (out.failure && !isReported) this.process.stderr.write(`error: ${result.detail}\n`);
  removeListeners();
  this.process.exitCode = result.exitCode;
}

/** Messages of an SDK on standard input; a result only where the conversation could not begin. */
async function conversation(
  context: CliContext,
  flags: RunFlags,
  { printer, secrets, signal, speech }: RunDeps,
  out: Output,
): Promise<RunResult | undefined> {
  try {
    if (flags.file) {
      throw usageError(
        "Cannot use --file together with --input-format stream-json",
        "write @FILE in a message, or send the content as a block of it",
      );
    }
    const { converse } = await FRONTENDS.sdk();
    const host = sdkHost(runPaths(context, flags.dir), flags);
    context.process.exitCode = await converse(host, { out, printer, secrets, signal });
    return undefined;
  } catch (error) {
    return await resultOfError(error, flags, { secrets, speech });
  }
}

/** Does one task. Errors are results too. */
export async function taskResult(context: CliContext, flags: RunFlags, deps: RunDeps): Promise<RunResult> {
  try {
    return await runTask(context, flags, deps);
  } catch (error) {
    return await resultOfError(error, flags, deps);
  }
}

async function resultOfError(
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
}

async function runTask(
  context: CliContext,
  flags: RunFlags,
  { words, printer, err, signal, secrets, speech, readTask }: RunDeps,
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
  const options = { ...runOptions(flags), steps, ...mode?.options, ...plans };
  const assembly = await assemble({ ...options, waitForAgents: true, answerForm: schema, paths, loaded });
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
    };
    const { text: task, piped } = given ?? await read(openGoal(assembly.session.state) !== undefined);
    const text = flags.file ? (await loadFiles()).withFiles(task, flags.file, paths.cwd) : task;
    const result = redacted(await resultOfTask({ text, piped: await piped() }, parts), assembly);
    metrics.write(result);
    return result;
  } finally {
    await assembly.close();
    context.process.stderr.write(unsavedLine(assembly));
  }
}

interface TaskDeps extends Pick<RunDeps, "printer" | "signal" | "speech">, TurnFacts {
  readonly assembly: Assembly;
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
  const outcome = await assembly.run({ ...line.input, references }, signal);
  return await resultOf(await mode?.outcome(outcome) ?? outcome, assembly, parts);
}

export const runCommand = command({
  description: "Do one task and exit. The answer goes to standard output, progress to standard\n" +
    "error. A file, pipe or socket on standard input is context of the task, or the\n" +
    "task itself when there is none or when it is -.\n" +
    "Exit codes: 0 done, 1 failed, 2 usage, 3 blocked, 4 limit, 5 provider, 6 config,\n130 interrupted, 143 terminated.",
  flags: RUN_FLAGS,
  aliases: { c: "continue", f: "file", j: "jobs", m: "model", q: "quiet", r: "resume" },
  rest: argument("What to do; - reads standard input", "task", "task"),
  run,
});

interface PrinterDeps {
  readonly out: Output;
  readonly speech: Speech;
  readonly err: Output;
}

async function printerFor(
  context: CliContext,
  flags: RunFlags,
  { out, err, speech }: PrinterDeps,
): Promise<Printer> {
  const { createPrinter } = await FRONTENDS.print();
  return createPrinter({
    ...displayOf(context, flags.noColor),
    format: flags.outputFormat,
    texts: () => speech.run,
    out,
    err,
    showThinking: flags.showThinking ?? false,
    quiet: flags.quiet ?? false,
    verbose: flags.verbose ?? false,
    stream: flags.stream ?? false,
    get permissionMode() {
      return claudeMode(flags.permissionMode);
    },
    partialMessages: flags.includePartialMessages ?? false,
  });
}
