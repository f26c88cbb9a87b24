import { type CliContext, runPaths } from "./process.ts";
import { type ConfigInput, formatProblem, type LoadedConfig } from "../../src/config/mod.ts";
import { message, ReasonixError } from "../../src/core/mod.ts";
import { loadTrustedConfig, type RunPaths } from "../../src/run/mod.ts";
import { defined } from "../../src/util/json.ts";

interface OpenOptions {
  readonly dir?: string | undefined;
  readonly preset?: string | undefined;
  readonly flags?: ConfigInput;
  /** Prints the warnings of the configuration. */
  readonly warn?: true;
}

/** The paths and the configuration of a command. Content of the project without trust is left out. */
export async function openConfig(
  context: CliContext,
  { dir, preset, flags, warn }: OpenOptions = {},
): Promise<{ readonly paths: RunPaths; readonly loaded: LoadedConfig }> {
  const paths = runPaths(context, dir);
  const loaded = await loadTrustedConfig({ ...paths, ...defined({ preset, flags }) }, {
    ignoreUntrusted: true,
  });
  for (const warning of warn ? loaded.warnings : []) {
    context.process.stderr.write(`! ${formatProblem(warning)}\n`);
  }
  return { paths, loaded };
}

/** Reports whether a user can answer questions. */
export function canAsk(): boolean {
  return Deno.stdin.isTerminal() && Deno.stdout.isTerminal();
}

/** Asks for a "yes". Without a terminal throws a ReasonixError that names the action. */
export function confirmed(
  question: string,
  { action, exit, remedy }: { action: string; exit: "usage" | "blocked"; remedy: string },
): boolean {
  if (Deno.stdin.isTerminal()) return prompt(`${question} Type yes:`) === "yes";
  throw new ReasonixError(message`Cannot ask whether to ${action}: there is no terminal`, { exit, remedy });
}
