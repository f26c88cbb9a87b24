import type { RunPaths } from "../../../../src/assembly/mod.ts";
import { requireProvider } from "../../../../src/config/mod.ts";
import { ReasonixError } from "../../../../src/core/mod.ts";
import { requireRepository } from "../../../../src/worktree/mod.ts";
import { languageOf } from "../../../terminal/language.ts";
import type { CliContext } from "../../../terminal/process.ts";
import { loadUnattendedConfig, type RunFlags } from "../config.ts";

/** Flags that are about one conversation make no sense for many. */
export function checkFlags(flags: RunFlags, words: readonly string[]): void {
  const single = [
    "goal",
    "continue",
    "resume",
    "copy",
    "file",
    "forkSession",
    "sessionId",
    "inputFormat",
    "record",
    "metrics",
    "stream",
  ] as const;
  const [wrong] = single.filter((name) => flags[name] !== undefined);
  const refuse = (what: string, remedy: string) => {
    throw new ReasonixError(`Cannot use ${what} together with --tasks`, { exit: "usage", remedy });
  };
  if (words.length > 0) refuse("a task of its own", "put it into the file as one more line");
  if (wrong !== undefined) {
    refuse(`--${wrong.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`, "it is about one session");
  }
  if (flags.outputFormat === "json" || flags.outputFormat === "stream-json") {
    refuse(`--output-format ${flags.outputFormat}`, "results are JSON Lines, one for each task");
  }
}

/** What would stop every task of a directory is said before the first one begins. */
export async function checkDirectories(
  context: CliContext,
  flags: RunFlags,
  { paths, dirs }: { readonly paths: RunPaths; readonly dirs: ReadonlySet<string> },
): Promise<void> {
  for (const cwd of dirs) {
    const loaded = await loadUnattendedConfig({ ...paths, cwd }, flags);
    await requireProvider(loaded, languageOf(context, loaded).locale);
    if (flags.worktree) await requireRepository(cwd);
  }
}
