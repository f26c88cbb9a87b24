import type { Assembly } from "../../run/mod.ts";
import type { CommandHost, SlashCommand } from "../command.ts";
import { fillIn, fillInLine, type Piece, piecesOf, takesArguments, UnsafeArgument } from "./template.ts";
import { namedIn, resolveModel, userHome, withBundleRoot } from "../../config/mod.ts";
import { commandRoots, type SkillRoot, type SkillScope, type SkillSource } from "../../context/mod.ts";
import { errorMessage, formatLocation, newNotice, ReasonixError } from "../../core/mod.ts";
import { loadTexts, type Texts } from "../../i18n/mod.ts";
import { contains } from "../../path/lexical.ts";
import { isFile, sortedEntries } from "../../path/probe.ts";
import { existingRealPath } from "../../path/real_path.ts";
import type { TrustItem } from "../../trust/mod.ts";
import { listField, parseFrontmatter, textField } from "../../util/frontmatter.ts";
import { oneLine } from "../../util/terminal_text.ts";

export function commandsOf({ paths, loaded }: Pick<Assembly, "paths" | "loaded">): MarkdownCommands {
  const { cwd, home, env } = paths;
  return findMarkdownCommands(commandRoots({ cwd, home, bundles: loaded.bundles, userHome: userHome(env) }));
}

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

/** Runs the command lines of a template, and sends the rest as the user's message. */
async function invoke(
  command: CommandFile,
  host: CommandHost,
  { argument, signal }: { readonly argument: string; readonly signal: AbortSignal | undefined },
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
  if (!trusted) await notify(assembly, texts.rulesDoNotCount(name, file));
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
    await notify(assembly, notUsed(name, model, errorMessage(error)));
    return undefined;
  }
}

async function notify(assembly: Assembly, text: string): Promise<void> {
  await assembly.open();
  await assembly.controller.recorder.record(newNotice("warning", "command", text));
}

/** Commands that Markdown files bring. `commands` is sorted by name; every name is there once. */
interface MarkdownCommands {
  readonly commands: readonly CommandFile[];
  /** Files that are not used, by the name they would have. */
  readonly unused: readonly UnusedFile[];
}

interface UnusedFile {
  readonly name: string;
  /** Place and reason, such as `/w/.claude/commands/a.md:1: the block … has no end`. */
  readonly text: string;
}

const MAX_DEPTH = 4;
const MAX_FILES = 300;
const SKIPPED = new Set(["node_modules", "__pycache__"]);

/**
 * Reads all command files of the user and the project: of two with one name the one nearest to the working
 * directory counts, the project's before the user's. They are read each time, so that a changed file
 * counts at once. Where there is no such directory, this costs a few stat calls.
 */
export function findMarkdownCommands(roots: readonly SkillRoot[]): MarkdownCommands {
  const byName = new Map<string, CommandFile>();
  const unused: UnusedFile[] = [];
  let left = MAX_FILES;
  for (const { path: root, scope, within, bundle } of roots) {
    const fence = within === undefined ? undefined : existingRealPath(within);
    for (const { file, name: plainName } of markdownFiles(root)) {
      const name = namedIn(bundle, plainName);
      if (byName.has(name)) continue;
      if (left-- <= 0) {
        unused.push({ name, text: `${file}: left out: there are more than ${MAX_FILES} commands` });
        continue;
      }
      try {
        const real = existingRealPath(file) ?? file;
        if (fence !== undefined && !contains(fence, real)) {
          throw new FileProblem("left out: it is a link that leads out of the project");
        }
        // A project could have the model read what its user keeps for himself, such as .env.
        if (fence !== undefined && !/\.md$/i.test(real)) {
          throw new FileProblem("left out: it is a link to something else than a Markdown file");
        }
        byName.set(name, readCommandFile({ file, name, scope, bundle }));
      } catch (error) {
        const line = error instanceof FileProblem ? error.line : undefined;
        const place = formatLocation({ file, ...(line === undefined ? {} : { line }) });
        unused.push({ name, text: `${place}: ${errorMessage(error)}` });
      }
    }
  }
  const commands = [...byName.values()].sort((a, b) => a.name < b.name ? -1 : 1);
  return { commands, unused };
}

/** Files of a directory with the names of their commands: `git/commit.md` is `git:commit`. */
function markdownFiles(root: string): { readonly file: string; readonly name: string }[] {
  const found: { file: string; name: string }[] = [];
  const single = /([^\s/:]+)\.md$/i.exec(root)?.[1];
  if (single !== undefined && isFile(root)) return [{ file: root, name: single }];
  const visit = (directory: string, prefix: string, depth: number): void => {
    for (const { name, isFile: isPlain, isDirectory, isSymlink } of sortedEntries(directory)) {
      const path = `${directory}/${name}`;
      if (name.startsWith(".") || SKIPPED.has(name) || found.length > MAX_FILES) continue;
      const stem = /^([^\s/:]+)\.md$/i.exec(name)?.[1];
      if ((isPlain || isSymlink) && stem !== undefined) found.push({ file: path, name: prefix + stem });
      else if (isDirectory && depth < MAX_DEPTH && /^[^\s/:]+$/.test(name)) {
        visit(path, `${prefix}${name}:`, depth + 1);
      }
    }
  };
  visit(root, "", 1);
  return found;
}

interface CommandFile {
  /** Without the slash; `git:commit` for `git/commit.md`. */
  readonly name: string;
  readonly file: string;
  readonly scope: SkillScope;
  readonly description: string;
  readonly argumentHint?: string;
  readonly model?: string;
  readonly allowedTools: readonly string[];
  readonly pieces: readonly Piece[];
}

/** Why a file cannot be used, and at which line. */
class FileProblem extends Error {
  readonly line: number | undefined;

  constructor(message: string, line?: number) {
    super(message);
    this.line = line;
  }
}

const MAX_BYTES = 256 * 1024;

/** Reads a command file. Throws FileProblem when it cannot be used. */
function readCommandFile(
  { file, name, scope, bundle }: Pick<CommandFile, "file" | "name" | "scope"> & Pick<SkillSource, "bundle">,
): CommandFile {
  const head = parseFrontmatter(withBundleRoot(readText(file), bundle?.root));
  // A text with a colon that should be in quotes is understood all the same.
  const fault = head.problems.find(({ text }) => /has no end|not of the form/.test(text));
  if (fault) throw new FileProblem(fault.text, fault.line);
  const body = head.body.trim();
  if (body === "") throw new FileProblem("it has no text to send");
  const model = textField(head, "model");
  const argumentHint = hintOf(head.fields["argument-hint"]);
  const firstLine = body.split("\n").find((line) => line.trim() !== "") ?? "";
  return {
    name,
    file,
    scope,
    description: oneLine(textField(head, "description") || firstLine.replace(/^#+\s*/, ""), 160),
    allowedTools: listField(head, "allowed-tools"),
    pieces: piecesOf(body),
    ...(model ? { model } : {}),
    ...(argumentHint ? { argumentHint: oneLine(argumentHint, 60) } : {}),
  };
}

function hintOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? `[${value.join(", ")}]` : undefined;
}

function readText(file: string): string {
  const { isFile, size } = Deno.statSync(file);
  if (!isFile || size > MAX_BYTES) {
    throw new FileProblem(`it is no text file of at most ${MAX_BYTES / 1024} KiB`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Deno.readFileSync(file));
  } catch (error) {
    if (error instanceof TypeError) throw new FileProblem("it is not UTF-8 text");
    throw error;
  }
}
