import process from "node:process";
import { RUN_FLAGS } from "../../run_flags.ts";
import { flag, type FlagsOf } from "../../command.ts";
import { inLanguage, Speech } from "../../terminal/language.ts";
import {
  type CliContext,
  errorText,
  exitCodeOf,
  onSignals,
  runPaths,
  standardOutput,
} from "../../terminal/process.ts";
import { type LoadedConfig, nonInteractive, problemText, requireProvider } from "../../../src/config/mod.ts";
import {
  EXIT,
  type ExitName,
  message,
  ReasonixError,
  type Text,
  writtenText,
} from "../../../src/core/mod.ts";
import { assemble } from "../../../src/features/mod.ts";
import { deliveryFailure, Output, unsavedLine } from "../../../src/frontend/mod.ts";
import { loadTranslator, type Locale } from "../../../src/i18n/mod.ts";
import { type Assembly, loadTrustedConfig, redactorOf, type RunPaths } from "../../../src/run/mod.ts";
import { defined } from "../../../src/util/json.ts";
import { terminalSafe } from "../../../src/util/terminal_text.ts";

const { model, maxCost, timeLimit, dir, trustProject, ignoreUntrusted, noColor } = RUN_FLAGS;

/** Flags that `review`, `commit` and `pr` share. */
export const GIT_FLAGS = {
  model,
  maxCost,
  timeLimit,
  dir,
  trustProject,
  ignoreUntrusted,
  noColor,
  quiet: flag("Print only the result and errors"),
} as const;

interface GitOptions {
  /** The command, as lists of sessions name it. */
  readonly program: "review" | "commit" | "pr";
  readonly flags: FlagsOf<typeof GIT_FLAGS>;
  /** Programs read the output: texts are in English. */
  readonly machine?: boolean;
}

/** A command that asks the model about a repository. */
export interface GitRun {
  readonly paths: RunPaths;
  /** Aborts with "interrupted" or "terminated". */
  readonly signal: AbortSignal;
  readonly out: Output;
  readonly locale: Locale;
  /** Writes a line about the progress to standard error. */
  report(line: Text): void;
  /** Returns the text in the language of the user. */
  translate(text: Text): string;
  /** Opens the session that asks the model, once; `title` is that of the session. */
  open(title: string): Promise<Assembly>;
}

/**
 * Does the work of a command and exits as `reasonix run` does. Sessions are read-only and non-interactive:
 * without MCP servers, commands without network, and approvals denied.
 */
export async function runGitCommand(
  context: CliContext,
  { program, flags, machine = false }: GitOptions,
  work: (run: GitRun) => Promise<ExitName>,
): Promise<void> {
  const stop = new AbortController();
  const removeListeners = onSignals({
    stop: (reason) => stop.abort(reason),
    exit: (code) => process.exit(code),
  });
  const out = new Output(standardOutput(), () => stop.abort("interrupted"));
  const speech = await Speech.of(context, { outputFormat: machine ? "json" : "text" });
  const complain = (text: string) => context.process.stderr.write(`${text}\n`);
  const notify = (text: string | undefined) => {
    if (text !== undefined && !flags.quiet) complain(`· ${terminalSafe(text)}`);
  };
  let redact = (text: string) => text;
  let translator = await loadTranslator(speech.locale);
  let assembly: Assembly | undefined;
  try {
    const paths = runPaths(context, flags.dir);
    const loaded = await loadFor(paths, flags);
    redact = redactorOf(loaded);
    notify(await speech.configure(loaded));
    translator = await loadTranslator(speech.locale);
    const translate = (text: Text) => typeof text === "string" ? text : translator.text(text);
    for (const warning of loaded.warnings) notify(redact(translate(problemText(warning))));
    const exit = await work({
      ...{ paths, out, translate, signal: stop.signal, locale: speech.locale },
      report: (line) => notify(redact(translate(line))),
      async open(title) {
        notify(await requireProvider(loaded, speech.locale));
        assembly = await assemble({
          ...{ program, paths, loaded, permissionMode: "read-only", onAsk: "deny", aside: true },
          trustProject: flags.trustProject ?? false,
          ignoreUntrusted: flags.ignoreUntrusted ?? false,
        });
        assembly.controller.subscribe((event) => {
          if (event.type === "notice" && event.code === "agents") {
            notify(redact(translate(writtenText(event.said, event.text))));
          }
        });
        await assembly.open();
        await assembly.controller.recorder.record({ type: "session.rename", title });
        return assembly;
      },
    });
    await out.flush();
    // A result with a higher exit code keeps it.
    if (out.failure && (exit === "done" || exit === "interrupt")) throw deliveryFailure(out.failure);
    context.process.exitCode = EXIT[exit];
  } catch (thrown) {
    const error = stop.signal.aborted && !(thrown instanceof ReasonixError) ? stopped(stop.signal) : thrown;
    await out.flush();
    complain(redact(errorText(await inLanguage(error, speech.locale))));
    context.process.exitCode = exitCodeOf(error);
  } finally {
    await assembly?.close();
    if (assembly) context.process.stderr.write(unsavedLine(assembly));
    removeListeners();
  }
}

/** The configuration by the flags, without MCP servers, and with commands that reach no network. */
async function loadFor(paths: RunPaths, flags: GitOptions["flags"]): Promise<LoadedConfig> {
  const { model, maxCost, timeLimit } = flags;
  const agent = defined({ max_cost: maxCost, time_limit_seconds: timeLimit });
  const chosen = model === undefined ? {} : { default_model: model, agent_model: model };
  const loaded = nonInteractive(await loadTrustedConfig({ ...paths, flags: { ...chosen, agent } }, flags));
  const { config } = loaded;
  const sandbox = { ...config.sandbox, network: false, network_hosts: [] };
  return { ...loaded, config: { ...config, sandbox, plugins: [] } };
}

function stopped({ reason }: AbortSignal): ReasonixError {
  const exit = reason === "terminated" ? "terminated" : "interrupt";
  return new ReasonixError(message`Stopped before the first request`, { exit });
}
