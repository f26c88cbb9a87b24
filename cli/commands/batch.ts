import { argument, type CommandGroup, entry, option, parsed, wholeNumber } from "../command.ts";
import { names } from "../release/channel.ts";
import { BATCH_FLAGS, type RunFlags } from "../run_flags.ts";
import { openConfig } from "../terminal/open.ts";
import { runPaths } from "../terminal/process.ts";
import {
  type Engine,
  loadEmitPlan,
  loadKubernetes,
  loadParallel,
  loadSlurm,
  readTaskFile,
} from "../../src/batch/mod.ts";
import { message, usageError } from "../../src/core/mod.ts";
import { suggestNames } from "../../src/util/suggest.ts";
import { VERSION } from "../../src/util/version.ts";

/** The engines that `reasonix batch emit` writes for. */
const ENGINES: Readonly<Record<string, () => Promise<Engine>>> = {
  kubernetes: async () => ({ emit: (await loadKubernetes()).kubernetes, maxIndexes: 100_000 }),
  slurm: async () => {
    const { maxArraySize, slurm } = await loadSlurm();
    return { emit: slurm, maxIndexes: await maxArraySize() };
  },
  parallel: async () => ({ emit: (await loadParallel()).parallel, maxIndexes: Infinity }),
};

interface BatchDeps {
  /** Reads words as flags of `reasonix run`; a text is what is wrong with them. */
  readonly readRunFlags: (words: readonly string[]) => Promise<RunFlags | string>;
}

/** `reasonix batch`: tasks files on many machines. */
export function batchCommands({ readRunFlags }: BatchDeps): CommandGroup {
  return {
    commands: {
      emit: entry("Write what an engine runs: kubernetes, slurm, github or parallel", {
        description: "Write what an engine for many machines runs, so that each task of a file is done on\n" +
          "one of them. Words after -- are flags of `reasonix run` for every task.",
        flags: {
          tasks: BATCH_FLAGS.tasks,
          tasksFrom: BATCH_FLAGS.tasksFrom,
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
        async run({ tasks: given, tasksFrom, resultsDir, shards, jobs }, engine = "", ...words) {
          const load = Object.hasOwn(ENGINES, engine) ? ENGINES[engine] : undefined;
          if (!load) throw unknownEngine(engine);
          const [file, runFlags] = tasksFrom === undefined ? [given, words] : [words[0], words.slice(1)];
          if (file === undefined) {
            throw usageError(message`No tasks file is named`, message`add --tasks FILE`);
          }
          if (resultsDir === undefined) {
            throw usageError(message`No directory of results is named`, message`add --results-dir DIR`);
          }
          const { cwd } = runPaths(this);
          const source = await readTaskFile({ tasks: file, tasksFrom }, { cwd, elsewhere: true });
          const { model, preset } = await checkedFlags(runFlags, readRunFlags);
          const { loaded } = await openConfig(this, { preset, warn: true });
          const { emit, maxIndexes } = await load();
          const plan = (await loadEmitPlan()).planOf({
            maxIndexes,
            npmPackage: `${names().npm}@${VERSION}`,
            tasks: source.tasks,
            tasksFile: file,
            tasksFrom,
            tasksText: source.text,
            resultsDir,
            shards,
            jobs,
            runFlags,
            model,
            loaded,
          });
          this.process.stdout.exact(await emit(plan));
        },
      }),
    },
  };
}

function unknownEngine(engine: string) {
  const engines = Object.keys(ENGINES);
  const [near] = suggestNames(engine, engines, 1);
  return usageError(
    engine === "" ? message`No engine is named` : message`Unknown engine "${engine}"`,
    near === undefined ? message`use one of ${engines}` : message`did you mean "${near}"?`,
  );
}

/** Flags that an engine sets for each index itself. */
const TAKEN = ["tasks", "tasksFrom", "jobs", "results", "fresh"] as const;

async function checkedFlags(words: readonly string[], read: BatchDeps["readRunFlags"]): Promise<RunFlags> {
  const flags = await read(words);
  if (typeof flags === "string") {
    throw usageError(message`Cannot use the flags after --: ${flags}`, message`see reasonix run --help`);
  }
  const taken = TAKEN.find((name) => flags[name] !== undefined);
  if (taken === undefined) return flags;
  throw usageError(message`Cannot use --${taken} after --: it differs by index`, message`leave it out there`);
}
