import type { Assembly } from "../../assembly/mod.ts";
import { resolveModel } from "../../config/mod.ts";
import { errorMessage, ReasonixError } from "../../core/mod.ts";
import { loadTexts, type Texts } from "../../i18n/mod.ts";
import type { TrustItem } from "../../trust/mod.ts";
import type { CommandHost, SlashCommand } from "../command.ts";
import type { CommandFile } from "./command_file.ts";
import { findMarkdownCommands, type MarkdownCommands } from "./find_commands.ts";
import { fillInLine, UnsafeArgument } from "./shell_line.ts";
import { fillIn, takesArguments } from "./template.ts";

/** Where a session finds its command files. */
export function commandsOf({ paths }: Pick<Assembly, "paths">): MarkdownCommands {
  const { cwd, home, env } = paths;
  const userHome = env("HOME") ?? env("USERPROFILE");
  return findMarkdownCommands({ cwd, home, ...(userHome === undefined ? {} : { userHome }) });
}

/** The command of a file. */
export function slashCommand(command: CommandFile): SlashCommand {
  const { name, file, description, argumentHint } = command;
  return {
    name,
    brief: description,
    kind: "markdown",
    origin: file,
    ...(argumentHint === undefined ? {} : { argumentHint }),
    run: (host, argument, signal) => invoke(command, host, { argument, signal }),
  };
}

/**
 * Makes the trust item of a project's command that runs lines of the shell, or lets calls run without a
 * prompt; undefined when it does neither.
 */
export function trustItemOf({ name, file, scope, allowedTools, pieces }: CommandFile): TrustItem | undefined {
  const runs = pieces.filter(({ kind }) => kind === "shell").map(({ template }) => template);
  if (scope !== "project" || runs.length + allowedTools.length === 0) return undefined;
  return {
    kind: "command",
    name: `/${name}`,
    definition: { file, runs, allowedTools },
    files: [file],
    place: { file },
    lines: [
      ...(allowedTools.length > 0 ? [`in its turn, without a question: ${allowedTools.join(", ")}`] : []),
      ...runs.map((line) => `runs: ${line}`),
    ],
  };
}

interface Invocation {
  readonly argument: string;
  readonly signal: AbortSignal | undefined;
}

/** Runs the command lines of a template, and sends the rest as the user's message. */
async function invoke(
  command: CommandFile,
  host: CommandHost,
  { argument, signal }: Invocation,
): Promise<void> {
  const { name, file, allowedTools, pieces } = command;
  const texts = await loadTexts("commands", host.locale);
  const assembly = await host.session();
  const item = trustItemOf(command);
  const trusted = item === undefined || await assembly.inputs.isTrusted(item);
  const runs = pieces.filter(({ kind }) => kind === "shell");
  if (!trusted && runs.length > 0) {
    const lines = runs.map(({ template }) => template).join("; ");
    throw new ReasonixError(texts.runsUntrusted(name, lines), {
      exit: "blocked",
      place: { file },
      remedy: texts.trustFirst,
    });
  }
  if (!trusted) await tell(assembly, texts.rulesDoNotCount(name, file));
  const parts: string[] = [];
  for (const { kind, template } of pieces) {
    if (kind === "text") parts.push(fillIn(template, argument));
    else parts.push(await outputOf(lineOf(template, argument, command, texts), assembly, signal));
  }
  const body = parts.join("");
  const rest = argument === "" || takesArguments(pieces) ? "" : `\n\nArguments: ${argument}`;
  const rules = trusted ? allowedTools.map((text) => ({ text, origin: file })) : [];
  const model = await usableModel(command, assembly, texts.modelNotUsed);
  host.send(`${body}${rest}`, {
    ...(rules.length > 0 ? { rules } : {}),
    ...(model === undefined ? {} : { model }),
  });
}

/** A line with its arguments; fails where one of them could become a command. */
function lineOf(
  template: string,
  argument: string,
  { name, file }: CommandFile,
  texts: Texts["commands"],
): string {
  try {
    return fillInLine(template, argument);
  } catch (error) {
    if (!(error instanceof UnsafeArgument)) throw error;
    throw new ReasonixError(texts.unsafeArgument(name, error.argument, template), {
      exit: "usage",
      place: { file },
      remedy: texts.quoteArgument,
    });
  }
}

/** Runs a line as one that the user typed behind `!`; the model reads its output before the message. */
async function outputOf(line: string, assembly: Assembly, signal?: AbortSignal): Promise<string> {
  const { reason, detail } = await assembly.runShell(line, signal);
  if (reason === "done") return `\`${line}\` (its output is above)`;
  throw new ReasonixError(detail ?? `Stopped while ${line} ran`, {
    exit: reason === "terminated" ? "terminated" : "interrupt",
  });
}

/** The model that the file asks for, where it is configured and not the session's anyway. */
async function usableModel(
  { name, model }: CommandFile,
  assembly: Assembly,
  notUsed: (name: string, model: string, reason: string) => string,
): Promise<string | undefined> {
  if (model === undefined || model === "inherit") return undefined;
  try {
    const { entry, model: id } = resolveModel(assembly.loaded.config, model);
    const current = assembly.provider.model;
    return entry.name === current.provider && id === current.id ? undefined : `${entry.name}/${id}`;
  } catch (error) {
    await tell(assembly, notUsed(name, model, errorMessage(error)));
    return undefined;
  }
}

async function tell(assembly: Assembly, text: string): Promise<void> {
  await assembly.open();
  await assembly.controller.recorder.record({ type: "notice", level: "warning", code: "command", text });
}
