import {
  assemble,
  type Assembly,
  loadSlash,
  loadTrustedConfig,
  type Slash,
} from "../../../src/assembly/mod.ts";
import { resolveReferences } from "../../../src/context/mod.ts";
import { addUsage, EXIT, NO_USAGE, ReasonixError, type UserInput } from "../../../src/core/mod.ts";
import { FRONTENDS, Output, type Printer, type RunResult } from "../../../src/frontend/mod.ts";
import { terminalSafe } from "../../../src/util/terminal_text.ts";
import type { CliContext } from "../../terminal/process.ts";
import { formatProblem } from "../../../src/config/mod.ts";
import { loadRunConfig, type RunFlags } from "./config.ts";
import { Metrics } from "./metrics.ts";
import { failedResult, REASONS, redacted, resultOf, withDelivery } from "./result.ts";
import { runPaths } from "../../terminal/working_directory.ts";
import { onSignals } from "../../terminal/signals.ts";
import { readTask, type Task } from "../../terminal/stdin.ts";

/** `reasonix run`: one task, one turn, one result. */
export async function run(this: CliContext, flags: RunFlags, ...words: string[]): Promise<void> {
  const current = new CurrentRun();
  const removeListeners = onSignals({
    stop: (reason) => current.stop(reason),
    exit: (code) => Deno.exit(code),
  });
  const out = new Output(Deno.stdout, () => current.stop("interrupted"));
  const printer = await printerFor(this, flags, out);
  let result: RunResult;
  try {
    result = await runTask(this, flags, { words, printer, current });
  } catch (error) {
    result = failedResult(error);
  }
  const told = out.failure !== undefined && flags.outputFormat === "text";
  await printer.result(withDelivery(result, out.failure));
  result = withDelivery(result, out.failure);
  // Only the text form speaks on standard error, and only of what it knew before.
  if (out.failure && !told) this.process.stderr.write(`error: ${result.detail}\n`);
  removeListeners();
  this.process.exitCode = result.exitCode;
}

/** What a signal has to stop; a signal before the turn began stops it as soon as it begins. */
class CurrentRun {
  #assembly: Assembly | undefined;
  #stopped: "interrupted" | "terminated" | undefined;

  stop(reason: "interrupted" | "terminated"): void {
    this.#stopped = reason;
    void this.#assembly?.controller.submit({ type: "interrupt", reason });
  }

  begin(assembly: Assembly): void {
    this.#assembly = assembly;
    if (this.#stopped) {
      throw new ReasonixError("Stopped before the turn began", { exit: REASONS[this.#stopped] });
    }
  }
}

interface RunParts {
  readonly words: readonly string[];
  readonly printer: Printer;
  readonly current: CurrentRun;
}

async function runTask(
  context: CliContext,
  flags: RunFlags,
  { words, printer, current }: RunParts,
): Promise<RunResult> {
  const task = await readTask(words);
  const metrics = new Metrics(flags.metrics);
  const paths = runPaths(context, flags.dir);
  const loaded = await loadTrustedConfig(paths, flags, (trust) => loadRunConfig(paths, flags, trust));
  const assembly = await assemble(paths, flags, loaded);
  const { controller, log, provider } = assembly;
  controller.subscribe((event) => metrics.event(event));
  controller.subscribe((event) => printer.event(event));
  try {
    const slash = task.text.startsWith("/") ? await slashOf(task.text, assembly) : undefined;
    if (slash?.kind === "command") {
      const report = redacted(await commandResult(slash, assembly, current), assembly);
      metrics.write(report);
      return report;
    }
    await assembly.open();
    await printer.begin?.({
      session: log.id,
      cwd: paths.cwd,
      model: provider.model.id,
      tools: controller.recorder.prefix.tools.map((tool) => tool.name),
    });
    const warnings = [...loaded.warnings.map(formatProblem), ...assembly.notices];
    for (const text of warnings) {
      await controller.recorder.record({ type: "notice", level: "warning", code: "config", text });
    }
    current.begin(assembly);
    const outcome = await controller.submit({
      type: "turn",
      input: await userInput(task, assembly, { cwd: paths.cwd, skill: slash?.context }),
    });
    if (!outcome) throw new ReasonixError("The turn ended without an outcome");
    const result = redacted(resultOf(outcome, assembly, metrics), assembly);
    metrics.write(result);
    return result;
  } finally {
    await assembly.close();
    const { id, problem } = assembly.log;
    if (problem !== undefined) {
      context.process.stderr.write(`! Session ${id} is not whole on the disk: ${terminalSafe(problem)}\n`);
    }
  }
}

async function slashOf(text: string, assembly: Assembly): Promise<Slash | undefined> {
  return await (await loadSlash()).readSlash(text, assembly);
}

/** A command of the program's own: what it reports is the answer. */
async function commandResult(
  { command, argument }: Extract<Slash, { kind: "command" }>,
  assembly: Assembly,
  current: CurrentRun,
): Promise<RunResult> {
  const { controller, log, provider } = assembly;
  const started = performance.now();
  let usage = NO_USAGE;
  let spent: number | undefined = 0;
  controller.subscribe((event) => {
    if (event.type !== "message.end") return;
    if (event.usage) usage = addUsage(usage, event.usage);
    spent = spent === undefined || !event.cost ? undefined : spent + event.cost.amount;
  });
  current.begin(assembly);
  const answer = await command.run(assembly, argument);
  const currency = provider.model.price?.currency;
  return {
    exit: "done",
    exitCode: EXIT.done,
    answer,
    report: true,
    ...(log.state.session === undefined ? {} : { session: log.id }),
    model: provider.model.id,
    steps: 0,
    replies: 0,
    durationMs: Math.round(performance.now() - started),
    usage,
    refusals: [],
    ...(currency === undefined || spent === undefined ? {} : { cost: { amount: spent, currency } }),
  };
}

async function userInput(
  task: Task,
  assembly: Assembly,
  { cwd, skill }: { cwd: string; skill: string | undefined },
): Promise<UserInput> {
  const { workspace, provider, controller, attachment } = assembly;
  if (skill !== undefined) {
    await controller.recorder.record({ type: "message.user", content: skill, origin: "context" });
  }
  const found = await resolveReferences(task.text, {
    cwd,
    read: attachment,
    hidden: (path) => workspace.hidden(path),
    vision: provider.model.vision,
  });
  for (const text of found.notices) {
    await controller.recorder.record({ type: "notice", level: "warning", code: "reference", text });
  }
  const piped = task.piped === undefined ? [] : [`<stdin>\n${task.piped}\n</stdin>`];
  return { text: task.text, references: [...piped, ...found.blocks], images: found.images };
}

async function printerFor(context: CliContext, flags: RunFlags, out: Output): Promise<Printer> {
  const { env } = context.process;
  const { createPrinter } = await FRONTENDS.print();
  return createPrinter({
    format: flags.outputFormat,
    out,
    err: new Output(Deno.stderr),
    showThinking: flags.showThinking ?? false,
    quiet: flags.quiet ?? false,
    color: !flags.noColor && !env.NO_COLOR && env.TERM !== "dumb" && Deno.stderr.isTerminal(),
    terminal: Deno.stdout.isTerminal(),
    permissionMode: flags.permissionMode ?? "workspace-write",
  });
}
