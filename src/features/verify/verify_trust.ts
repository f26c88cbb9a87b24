import { type LocalizedMessage, message } from "../../core/mod.ts";
import type { Config } from "../../config/mod.ts";
import { detectLocale, loadTexts } from "../../i18n/mod.ts";
import type { Asker } from "../../tool/mod.ts";
import type { RunPaths } from "../../run/mod.ts";
import { type TrustItem, TrustStore } from "../../trust/mod.ts";
import { detectCommands } from "./detect.ts";
import { configuredCommands, type VerifyCommand } from "./verify_command.ts";

/** A command that is not run, and why. */
export interface SkippedCommand {
  readonly command: VerifyCommand;
  readonly why: LocalizedMessage;
}

export interface SortedCommands {
  readonly trusted: readonly VerifyCommand[];
  readonly skipped: readonly SkippedCommand[];
}

export interface VerifyTrustDeps {
  readonly paths: RunPaths;
  readonly language: string;
  /** Absent: nobody can be asked. */
  readonly asker?: Asker | undefined;
  readonly trustProject?: boolean | undefined;
  readonly ignoreUntrusted?: boolean | undefined;
}

/** The commands of the settings; without any those that the project's own files name. */
export async function verifyCommands(
  workflow: Config["workflow"],
  cwd: string,
): Promise<readonly VerifyCommand[]> {
  const { lint_commands, verify_commands, detect } = workflow;
  const isConfigured = Object.keys({ ...lint_commands, ...verify_commands }).length > 0;
  return isConfigured || !detect ? configuredCommands(workflow) : await detectCommands(cwd);
}

/** Makes the trust item of a command of the project: its line, and the text of its file that it runs. */
export function verifyItem({ line, defined }: VerifyCommand, cwd: string): TrustItem {
  const { file = "", text = "", whole } = defined ?? {};
  const runs = text === line ? [] : text.split("\n").map((each) => `runs: ${each}`);
  return {
    kind: "verify",
    name: line,
    definition: { line, text },
    ...(whole ? { files: [`${cwd}/${file}`] } : {}),
    place: { file },
    lines: ["after turns that change files, in the jail", ...runs],
  };
}

/**
 * Decides which commands of a project may run. A decision of the user counts for a command as its file
 * defines it; a command that the agent has changed is another one.
 */
export class VerifyTrust {
  readonly #parts: VerifyTrustDeps;
  /** Definitions that were declined in this session. */
  readonly #declined = new Set<string>();
  /** Definitions as the run found them, where all of the project is trusted as it was. */
  #found: ReadonlySet<string> | undefined;

  constructor(parts: VerifyTrustDeps) {
    this.#parts = parts;
  }

  /** Looks at what the project defines before anything can change it, where that is trusted unseen. */
  async remember(): Promise<void> {
    if (!this.#parts.trustProject || this.#found) return;
    const { cwd } = this.#parts.paths;
    this.#found = new Set((await detectCommands(cwd)).map((command) => keyOf(command, cwd)));
  }

  /** `changed`: paths that the turn has changed, from the working directory. */
  async sort(
    commands: readonly VerifyCommand[],
    changed: readonly string[],
    signal: AbortSignal,
  ): Promise<SortedCommands> {
    const { cwd } = this.#parts.paths;
    const trusted = new Set(commands.filter(({ defined }) => !defined));
    const waiting: VerifyCommand[] = [];
    const skipped: SkippedCommand[] = [];
    for (const command of commands) {
      if (!command.defined) continue;
      const { file } = command.defined;
      if (await this.#isTrusted(command)) trusted.add(command);
      else if (changed.includes(file)) skipped.push(changedNow(command, file));
      else if (this.#declined.has(keyOf(command, cwd))) skipped.push(untrusted(command));
      else waiting.push(command);
    }
    const agreed = waiting.length > 0 && await this.#ask(waiting, signal);
    for (const command of waiting) {
      if (agreed) trusted.add(command);
      else skipped.push(untrusted(command));
    }
    return { trusted: commands.filter((command) => trusted.has(command)), skipped };
  }

  async #isTrusted(command: VerifyCommand): Promise<boolean> {
    const { cwd } = this.#parts.paths;
    if (this.#found?.has(keyOf(command, cwd))) return true;
    return await this.#store.isTrusted(verifyItem(command, cwd));
  }

  /** Read anew, since the user may decide in another terminal. */
  get #store(): TrustStore {
    const { home, cwd } = this.#parts.paths;
    return new TrustStore({ home, project: cwd });
  }

  /** Asks once about all; a no counts for the session. */
  async #ask(commands: readonly VerifyCommand[], signal: AbortSignal): Promise<boolean> {
    const { paths, language, asker, ignoreUntrusted } = this.#parts;
    if (!asker || ignoreUntrusted) return false;
    const { locale } = detectLocale({ env: paths.env, language });
    const { verify: texts } = await loadTexts("setting_commands", locale);
    const rows = commands.map(({ line, defined }) =>
      texts.row(line, defined?.file ?? "", defined?.text ?? "")
    );
    const answers = await asker.ask([{
      question: `${texts.question}\n${rows.join("\n")}`,
      options: [
        { label: texts.yes, description: texts.yesMeans },
        { label: texts.no, description: texts.noMeans },
      ],
      multiple: false,
    }], signal);
    signal.throwIfAborted();
    if (answers?.[0]?.[0] === texts.yes) {
      await this.#store.trust(commands.map((command) => verifyItem(command, paths.cwd)));
      return true;
    }
    for (const command of commands) this.#declined.add(keyOf(command, paths.cwd));
    return false;
  }
}

function keyOf({ line, defined }: VerifyCommand, cwd: string): string {
  let whole = "";
  try {
    if (defined?.whole) whole = Deno.readTextFileSync(`${cwd}/${defined.file}`);
  } catch {
    // It is gone, so that nothing of it is as it was.
  }
  return JSON.stringify([line, defined?.text, whole]);
}

function changedNow(command: VerifyCommand, file: string): SkippedCommand {
  const { line } = command;
  const why = message`what \`${line}\` runs was changed in this turn (${file}), so it is no longer trusted`;
  return { command, why };
}

function untrusted(command: VerifyCommand): SkippedCommand {
  const { line } = command;
  const why =
    message`\`${line}\` is not trusted yet: run \`reasonix trust\`, or name it in your own [workflow] verify_commands`;
  return { command, why };
}
