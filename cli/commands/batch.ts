import { argument, type CommandGroup, entry, option, parsed, wholeNumber } from "../command.ts";
import { BATCH_FLAGS, type RunFlags } from "../run_flags.ts";
import { openConfig } from "../terminal/open.ts";
import { runPaths } from "../terminal/process.ts";
import { type Emitter, loadEmitPlan, loadKubernetes, readTasks, readTaskText } from "../../src/batch/mod.ts";
import { message, usageError } from "../../src/core/mod.ts";
import { suggestNames } from "../../src/util/suggest.ts";

/** The engines that `reasonix batch emit` writes for. */
const ENGINES: Readonly<Record<string, () => Promise<Emitter>>> = {
  kubernetes: async () => (await loadKubernetes()).kubernetes,
};

interface BatchDeps {
  /** Reads words as flags of `reasonix run`; a text is what is wrong with them. */
  readonly readRunFlags: (words: readonly string[]) => Promise<RunFlags | string>;
}

/** `reasonix batch`: tasks files on many machines. */
export function batchCommands({ readRunFlags }: BatchDeps): CommandGroup {
  return {
    commands: {
      emit: entry("Write what an engine runs: kubernetes", {
        description: "Write what an engine for many machines runs, so that each task of a file is done on\n" +
          "one of them. Words after -- are flags of `reasonix run` for every task.",
        flags: {
          tasks: BATCH_FLAGS.tasks,
          resultsDir: option("Collect the results in this directory, which all machines see", "dir"),
          shards: parsed(
            "Divide the tasks into N parts; default: one task each",
            "n",
            wholeNumber("--shards", 1),
          ),
          jobs: BATCH_FLAGS.jobs,
        },
        aliases: { j: "jobs" },
        rest: argument("Engine, and after -- flags of reasonix run", "engine"),
        async run({ tasks: file, resultsDir, shards, jobs }, engine = "", ...runFlags) {
          const emitter = Object.hasOwn(ENGINES, engine) ? ENGINES[engine] : undefined;
          if (!emitter) throw unknownEngine(engine);
          if (file === undefined) {
            throw usageError(message`No tasks file is named`, message`add --tasks FILE`);
          }
          if (resultsDir === undefined) {
            throw usageError(message`No directory of results is named`, message`add --results-dir DIR`);
          }
          const { cwd } = runPaths(this);
          const source = await readTaskText(file, cwd);
          const tasks = readTasks(source.text, { file: source.shown, cwd });
          const { model, preset } = await checkedFlags(runFlags, readRunFlags);
          const { loaded } = await openConfig(this, { preset, warn: true });
          const plan = (await loadEmitPlan()).planOf({
            tasks,
            tasksFile: file,
            tasksText: source.text,
            resultsDir,
            shards,
            jobs,
            runFlags,
            model,
            loaded,
          });
          this.process.stdout.exact((await emitter())(plan));
        },
      }),
    },
  };
}

function unknownEngine(engine: string) {
  const names = Object.keys(ENGINES);
  const [near] = suggestNames(engine, names, 1);
  return usageError(
    engine === "" ? message`No engine is named` : message`Unknown engine "${engine}"`,
    near === undefined ? message`use one of ${names}` : message`did you mean "${near}"?`,
  );
}

/** Flags that an engine sets for each index itself. */
const TAKEN = ["tasks", "jobs", "results", "fresh"] as const;

async function checkedFlags(words: readonly string[], read: BatchDeps["readRunFlags"]): Promise<RunFlags> {
  const flags = await read(words);
  if (typeof flags === "string") {
    throw usageError(message`Cannot use the flags after --: ${flags}`, message`see reasonix run --help`);
  }
  const taken = TAKEN.find((name) => flags[name] !== undefined);
  if (taken === undefined) return flags;
  throw usageError(message`Cannot use --${taken} after --: it differs by index`, message`leave it out there`);
}
