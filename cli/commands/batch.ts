import {
  argument,
  type CommandGroup,
  entry,
  flag,
  type FlagsOf,
  flagWord,
  JSON_FLAG,
  option,
  parsed,
  setting,
  wholeNumber,
} from "../command.ts";
import { names } from "../release/channel.ts";
import { BATCH_FLAG_NAMES, BATCH_FLAGS, RUN_FLAGS, type RunFlags } from "../run_flags.ts";
import { textsFor } from "../terminal/language.ts";
import { openConfig } from "../terminal/open.ts";
import { type CliContext, runPaths } from "../terminal/process.ts";
import { type BatchTotals, loadEngines, loadMerge, readTaskFile, ResultsDir } from "../../src/batch/mod.ts";
import { secretVariables } from "../../src/config/mod.ts";
import { EXIT, message, usageError } from "../../src/core/mod.ts";
import type { Texts } from "../../src/i18n/mod.ts";
import { table } from "../../src/reports/mod.ts";
import { suggestNames } from "../../src/util/suggest.ts";
import { oneLine } from "../../src/util/terminal_text.ts";
import { VERSION } from "../../src/util/version.ts";
import { grouped, moneyFigure, tokenFigures } from "../../src/view/mod.ts";

interface BatchDeps {
  /** Reads words as flags of `reasonix run`; a text is what is wrong with them. */
  readonly readRunFlags: (words: readonly string[]) => Promise<RunFlags | string>;
  readonly batchRun: () => Promise<{ checkFlags(flags: RunFlags, words: readonly string[]): void }>;
  /** Opens a pull request for each patch of a directory of results. */
  readonly openRequests: (
    context: CliContext,
    path: string,
    flags: FlagsOf<typeof PR_FLAGS>,
  ) => Promise<void>;
}

const PR_FLAGS = {
  rate: parsed("Open at most N a minute; default: 8", "n", rateOf),
  base: option("Merge into this branch; default: that of the remote", "branch"),
  draft: flag("Open them as drafts"),
  yes: flag("Do not ask"),
  ...{ dir: RUN_FLAGS.dir, trustProject: RUN_FLAGS.trustProject, ignoreUntrusted: RUN_FLAGS.ignoreUntrusted },
} as const;

/** `reasonix batch`: tasks files on many machines. */
export function batchCommands({ openRequests, ...deps }: BatchDeps): CommandGroup {
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
          jobs: parsed("Run N indexes at the same time, or tasks of a shard", "n", wholeNumber("--jobs", 1)),
          container: option("Run tasks that name no image in this one", "image"),
          measured: option("Take resources from the results of an earlier run", "dir"),
        },
        aliases: { j: "jobs" },
        rest: argument("Engine, and after -- flags of reasonix run", "engine"),
        async run({ tasks: given, tasksFrom, resultsDir, ...options }, engine = "", ...words) {
          const { emitFor, ENGINES } = await loadEngines();
          const chosen = Object.hasOwn(ENGINES, engine) ? ENGINES[engine] : undefined;
          if (!chosen) throw unknownEngine(engine, Object.keys(ENGINES));
          const [file, runFlags] = tasksFrom === undefined ? [given, words] : [words[0], words.slice(1)];
          if (file === undefined) {
            throw usageError(message`No tasks file is named`, message`add --tasks FILE`);
          }
          if (resultsDir === undefined) {
            throw usageError(message`No directory of results is named`, message`add --results-dir DIR`);
          }
          const { cwd } = runPaths(this);
          const source = await readTaskFile({ tasks: file, tasksFrom }, { cwd, elsewhere: true });
          const { model, preset } = await checkedFlags(runFlags, deps);
          const { loaded } = await openConfig(this, { preset, warn: true });
          const emitted = await emitFor(chosen, {
            npmPackage: `${names().npm}@${VERSION}`,
            tasks: source.tasks,
            tasksFile: file,
            tasksFrom,
            tasksText: source.text,
            resultsDir,
            ...options,
            runFlags,
            model,
            loaded,
          });
          this.process.stdout.exact(emitted);
          const secrets = source.tasks.flatMap(({ id, env = {} }) =>
            secretVariables(env).map(([name]) => `${name} (${id})`)
          );
          if (secrets.length === 0) return;
          const texts = await textsFor("batch", this);
          this.process.stderr.write(`· ${texts.secretsIn(file, listed(secrets, texts))}\n`);
        },
      }),
      status: entry("Show how far a batch is", {
        flags: { json: JSON_FLAG },
        args: [RESULTS_ARGUMENT],
        async run({ json }, path = "") {
          const { totalsOf } = await loadMerge();
          const totals = totalsOf(ResultsDir.read(path));
          const { stdout } = this.process;
          if (json) return stdout.json(totals);
          const texts = await textsFor("batch", this);
          const { oldest, newest, hosts, running, silent } = totals;
          const begun = (tasks: BatchTotals["running"]) =>
            listed(tasks.map(({ id, started, host }) => texts.begun(id, minutesSince(started), host)), texts);
          const lines = [
            ...totalLines(totals, texts),
            ...(running.length > 0 ? [texts.running(running.length, begun(running))] : []),
            ...(silent.length > 0 ? [texts.silent(silent.length, begun(silent))] : []),
          ];
          if (oldest !== undefined && newest !== undefined) lines.push(texts.span(oldest, newest));
          const rows = Object.entries(hosts).map((
            [host, { done, not, open }],
          ) => [host, ...[done, not, open].map(grouped)]);
          const list = table(["MACHINE", "DONE", "NOT", "OPEN"], rows, { right: ["DONE", "NOT", "OPEN"] });
          stdout.write(`${lines.join("\n")}\n${rows.length > 0 ? list : ""}`);
        },
      }),
      merge: entry("Write the results of a batch in the order of its file", {
        description: "Write the results of a batch in the order of its file, while it runs or afterwards.\n" +
          "Exit codes: 0 all tasks are done, 1 they are not, 2 usage.",
        flags: {
          results: BATCH_FLAGS.results,
          format: setting("Set the form of the results", ["jsonl", "swe-bench"], "jsonl"),
        },
        args: [RESULTS_ARGUMENT],
        async run({ results, format }, path = "") {
          const { mergeResults, replaceFile, RESULT_FORMATS } = await loadMerge();
          const dir = ResultsDir.read(path);
          const merge = (write: (text: string) => void) => mergeResults(dir, RESULT_FORMATS[format], write);
          const { stdout, stderr } = this.process;
          const totals = results === undefined ? merge(stdout.exact) : replaceFile(results, merge);
          const texts = await textsFor("batch", this);
          stderr.write(totalLines(totals, texts).map((line) => `· ${line}\n`).join(""));
          this.process.exitCode = EXIT[totals.done === totals.tasks ? "done" : "failed"];
        },
      }),
      pr: entry("Open a pull request for each patch", {
        description:
          "Open a pull request for each patch of a directory of results, with your git and gh or\n" +
          "glab. Tasks that were not done, or whose checks failed, are left out. Run it again to\n" +
          "continue: what has a pull request keeps it.",
        flags: PR_FLAGS,
        args: [RESULTS_ARGUMENT],
        async run(flags, path = "") {
          await openRequests(this, path, flags);
        },
      }),
    },
  };
}

function rateOf(text: string): number {
  const rate = Number(text);
  if (text.trim() !== "" && rate > 0 && Number.isFinite(rate)) return rate;
  throw usageError(message`Cannot use --rate ${text}: it is not a number above 0`, message`write --rate 8`);
}

const RESULTS_ARGUMENT = argument("Directory of the results", "dir");
const MAX_LISTED = 20;

function listed(names: readonly string[], texts: Texts["batch"]): string {
  const shown = names.slice(0, MAX_LISTED).map((name) => oneLine(name)).join(", ");
  const more = names.length - MAX_LISTED;
  return more > 0 ? texts.andMore(shown, more) : shown;
}

function minutesSince(time: string): number {
  return Math.max(0, Math.floor((Date.now() - Date.parse(time)) / 60_000));
}

function totalLines(totals: BatchTotals, texts: Texts["batch"]): string[] {
  const { done, tasks, open, missing, damage } = totals;
  const parts = [
    texts.summary(done, tasks, tasks - done),
    ...(open > 0 ? [texts.attempted(open)] : []),
    ...(missing.length > 0 ? [texts.missing(missing.length, listed(missing, texts))] : []),
  ];
  const figures = [...tokenFigures(totals.usage), moneyFigure(totals) ?? ""].filter((part) => part !== "");
  return [
    parts.join("; "),
    ...(figures.length > 0 ? [figures.join(" · ")] : []),
    ...damage.slice(0, MAX_LISTED).map((problem) => texts.countsAsMissing(problem)),
  ];
}

function unknownEngine(engine: string, engines: readonly string[]) {
  const [near] = suggestNames(engine, engines, 1);
  return usageError(
    engine === "" ? message`No engine is named` : message`Unknown engine "${engine}"`,
    near === undefined ? message`use one of ${engines}` : message`did you mean "${near}"?`,
  );
}

async function checkedFlags(
  words: readonly string[],
  { readRunFlags, batchRun }: Omit<BatchDeps, "openRequests">,
): Promise<RunFlags> {
  const flags = await readRunFlags(words);
  if (typeof flags === "string") {
    throw usageError(message`Cannot use the flags after --: ${flags}`, message`see reasonix run --help`);
  }
  // An engine sets the others for each index itself.
  const taken = BATCH_FLAG_NAMES.find((name) => name !== "worktree" && flags[name] !== undefined);
  if (taken === undefined) {
    (await batchRun()).checkFlags(flags, []);
    return flags;
  }
  throw usageError(
    message`Cannot use ${flagWord(taken)} after --: it differs by index`,
    message`leave it out there`,
  );
}
