import { argument, command } from "../../command.ts";
import { noSecrets, resultOfError, type RunDeps, taskResult } from "./task.ts";
import { requireTasks, sdkHost } from "./config.ts";
import { RUN_FLAGS, type RunFlags } from "../../run_flags.ts";
import { displayOf } from "../../terminal/display.ts";
import { Speech } from "../../terminal/language.ts";
import { type CliContext, logDefect, onSignals, runPaths } from "../../terminal/process.ts";
import { readTask } from "../../terminal/stdin.ts";
import { message, usageError } from "../../../src/core/mod.ts";
import {
  claudeMode,
  FRONTENDS,
  Output,
  type Printer,
  type RunResult,
  withDelivery,
} from "../../../src/frontend/mod.ts";

/** `reasonix run`: one task, one turn, one result. */
async function run(this: CliContext, flags: RunFlags, ...words: string[]): Promise<void> {
  const isBatch = flags.tasks !== undefined || flags.tasksFrom !== undefined;
  const apart = isBatch ? "--tasks" : flags.inputFormat === "stream-json" && "--input-format stream-json";
  if (flags.web && apart) {
    throw usageError(
      message`Cannot use ${"--web"} together with ${apart}`,
      message`leave out --web: the page shows one task`,
    );
  }
  if (isBatch) {
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
        message`Cannot use --file together with --input-format stream-json`,
        message`write @FILE in a message, or send the content as a block of it`,
      );
    }
    const { converse } = await FRONTENDS.sdk();
    const host = sdkHost(runPaths(context, flags.dir), flags);
    context.process.exitCode = await converse(host, { out, printer, secrets, signal });
    return undefined;
  } catch (error) {
    await logDefect(error, context);
    return await resultOfError(error, flags, { secrets, speech });
  }
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

async function printerFor(
  context: CliContext,
  flags: RunFlags,
  { out, err, speech }: { readonly out: Output; readonly speech: Speech; readonly err: Output },
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
