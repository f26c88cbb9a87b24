import { EXIT } from "../../../../src/core/mod.ts";
import { textsFor } from "../../../terminal/language.ts";
import type { CliContext } from "../../../terminal/process.ts";
import { runPaths } from "../../../terminal/working_directory.ts";
import type { RunFlags } from "../config.ts";
import { BatchJournal } from "./journal.ts";
import { keyedTask } from "./keyed_task.ts";
import { BatchRun } from "./batch_run.ts";
import { checkDirectories, checkFlags } from "./preconditions.ts";
import { readTasks, readTaskText } from "./task_file.ts";

/** `reasonix run --tasks`: every task of a file in a run of its own, going on where an earlier run ended. */
export async function runBatch(
  context: CliContext,
  flags: RunFlags,
  words: readonly string[],
): Promise<void> {
  checkFlags(flags, words);
  const paths = runPaths(context, flags.dir);
  const source = await readTaskText(flags.tasks ?? "-", paths.cwd);
  const tasks = readTasks(source.text, { file: source.shown, cwd: paths.cwd });
  await checkDirectories(context, flags, { paths, dirs: new Set(tasks.map(({ dir }) => dir)) });
  using journal = await BatchJournal.open(paths.home, source.path);
  const keyed = await Promise.all(tasks.map((task) => keyedTask(task, { flags, tasks, path: source.path })));
  const batch = new BatchRun(context, flags, { paths, journal, tasks: keyed, file: source.path });
  context.process.exitCode = EXIT[await batch.run(await textsFor("batch", context))];
}
