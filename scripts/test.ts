/**
 * The one test command: `deno task test [stage or path …]`. Runs every gate and every test in the order of CI
 * and ends with the line `N passed, N failed, N skipped`; above it are the skipped tests, those that passed
 * only in their second run, and those that failed, with their errors. Names of stages (`deno task test unit
 * house`) or test paths narrow the run. More than two tests that pass only in their second run fail the
 * command.
 */
import { coverageReport } from "./cov.ts";
import { type Finished, run, say } from "./process.ts";
import {
  type Failure,
  filesOf,
  listFailures,
  plainText,
  readFailures,
  stageFailure,
} from "./test_failures.ts";
import { COVERAGE, missingPaths, SOAK, type Stage, STAGES, TEST_BUNDLE } from "./test_stages.ts";

interface Count {
  readonly passed: number;
  readonly failed: number;
  /** Names of the tests that did not run here. */
  readonly skipped: readonly string[];
}

/** The way a stage ended. */
interface Outcome extends Count {
  readonly failures: readonly Failure[];
  /** Failed with the others and passed alone: a bug of the test or the program, see `MOST_FLAKY`. */
  readonly flaky: readonly Failure[];
}

const COVERAGE_DIR = "coverage/raw";
/** More files than these do not fail by chance. */
const MOST_FILES_AGAIN = 5;
/** Tests of a run that may pass only in their second run. Each is listed, to be fixed. */
const MOST_FLAKY = 2;

/** The counts of the last summary line of `deno test`; a run that broke without one is a single failure. */
export function countTests(output: string, code: number): Count {
  const plain = plainText(output);
  const last = [...plain.matchAll(/^(?:ok|FAILED) \| (\d+) passed.*?\| (\d+) failed/gm)].at(-1);
  if (last === undefined) return { passed: 0, failed: 1, skipped: [] };
  const failed = Number(last[2]);
  const skipped = [...plain.matchAll(/^(.+) \.\.\. ignored \(\d+ms\)$/gm)].map(([, name = ""]) => name);
  return { passed: Number(last[1]), failed: code !== 0 && failed === 0 ? 1 : failed, skipped };
}

/** `echo`: the output is passed on while it comes, otherwise when the stage has ended. */
async function runStage(stage: Stage, echo: boolean): Promise<Outcome> {
  if (echo) say(`\n── ${stage.name}`);
  const missing = await missingPaths(stage.paths);
  if (missing.length > 0) {
    say(`Cannot find ${missing.join(", ")}`);
    return broken(stageFailure(stage.name, `Cannot find ${missing.join(", ")}`, ""));
  }
  const started = performance.now();
  const coverage = stage.coverage ? [`--coverage=${COVERAGE_DIR}`, "--coverage-raw-data-only"] : [];
  const done = await run(Deno.execPath(), {
    args: [...stage.command, ...coverage, ...await filesTogether(stage)],
    echo,
    limitSeconds: stage.limitSeconds,
    ...(stage.env ? { env: stage.env } : {}),
  });
  if (!echo) say(`\n── ${stage.name}\n${done.output.trimEnd()}`);
  if (stage.name === "build" && done.code === 0) {
    Deno.env.set("REASONIX_TEST_BUNDLE", `${Deno.cwd()}/${TEST_BUNDLE}`);
  }
  const outcome = judge(stage, done);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  say(
    `── ${stage.name}: ${outcome.passed} passed, ${outcome.failed} failed, ` +
      `${outcome.skipped.length} skipped (${seconds} s)`,
  );
  return outcome;
}

/** The paths of a stage, or modules for it that import several of its test files each. */
async function filesTogether({ command, paths, together }: Stage): Promise<readonly string[]> {
  if (together === undefined) return paths;
  const ignored = command.flatMap((word) => word.startsWith("--ignore=") ? word.slice(9).split(",") : []);
  const files = paths.flatMap((path) => testFilesBelow(path, ignored));
  const directory = `coverage/${paths[0]}`;
  await Deno.mkdir(directory, { recursive: true });
  const modules = Array.from({ length: Math.ceil(files.length / together) }, (_, at) => ({
    path: `${directory}/${at}_test.ts`,
    files: files.slice(at * together, (at + 1) * together),
  }));
  for (const { path, files } of modules) {
    const imports = files.map((file) => `import "${new URL(file, `file://${Deno.cwd()}/`)}";\n`);
    await Deno.writeTextFile(path, imports.join(""));
  }
  return modules.map(({ path }) => path);
}

function testFilesBelow(directory: string, ignored: readonly string[]): string[] {
  const entries = [...Deno.readDirSync(directory)].toSorted((a, b) => a.name < b.name ? -1 : 1);
  return entries.flatMap(({ name, isDirectory }) => {
    const path = `${directory}/${name}`;
    if (ignored.includes(path)) return [];
    if (isDirectory) return testFilesBelow(path, ignored);
    return name.endsWith("_test.ts") ? [path] : [];
  });
}

function broken(failure: Failure): Outcome {
  return { passed: 0, failed: 1, skipped: [], failures: [failure], flaky: [] };
}

function judge(stage: Stage, done: Finished): Outcome {
  const { name, limitSeconds } = stage;
  const reason = done.timedOut ? `Stopped after ${limitSeconds} s` : `Ended with exit code ${done.code}`;
  if (!stage.tests && done.code === 0) return { passed: 1, failed: 0, skipped: [], failures: [], flaky: [] };
  if (!stage.tests) return broken(stageFailure(name, reason, done.output));
  const count = countTests(done.output, done.code);
  const named = count.failed === 0 ? [] : readFailures(done.output);
  const failures = count.failed > 0 && named.length === 0 ? [stageFailure(name, reason, done.output)] : named;
  return { ...count, failures, flaky: [] };
}

/** Failures of a few files may be chance: the files run again, alone, and that run decides. */
async function runAgain(stage: Stage, first: Outcome): Promise<Outcome> {
  const files = filesOf(first.failures) ?? [];
  if (files.length === 0 || files.length > MOST_FILES_AGAIN) return first;
  say(`\n── ${stage.name}: ${files.join(" ")} again, alone`);
  const command = stage.command.filter((word) => word !== "--parallel" && !word.startsWith("--ignore="));
  const done = await run(Deno.execPath(), {
    args: [...command, ...files],
    echo: true,
    limitSeconds: stage.limitSeconds,
    ...(stage.env ? { env: stage.env } : {}),
  });
  return secondRun(first, judge(stage, done));
}

/** The outcome of a stage whose failed files ran a second time. */
export function secondRun(first: Outcome, second: Outcome): Outcome {
  const still = new Set(second.failures.flatMap(({ test, file }) => file === undefined ? [] : [test, file]));
  const alone = second.failures.some(({ file }) => file === undefined);
  return {
    // An error outside of every test counts as one failure next to those of the tests of its file.
    passed: first.passed + Math.max(0, first.failed - uncaught(first) - second.failed + uncaught(second)),
    failed: second.failed,
    skipped: first.skipped,
    failures: second.failures,
    flaky: alone ? [] : first.failures.filter(({ test }) => !still.has(test)),
  };
}

/** The outcomes in which tests that passed only in their second run failed, where there are too many. */
export function withoutChance(outcomes: readonly Outcome[]): readonly Outcome[] {
  if (outcomes.flatMap(({ flaky }) => flaky).length <= MOST_FLAKY) return outcomes;
  return outcomes.map((outcome) => ({
    ...outcome,
    passed: outcome.passed - outcome.flaky.length,
    failed: outcome.failed + outcome.flaky.length,
    failures: [
      ...outcome.failures,
      ...outcome.flaky.map(({ error, ...failure }) => ({
        ...failure,
        error: `Passed only when run again alone\n${error}`,
      })),
    ],
    flaky: [],
  }));
}

function uncaught(outcome: Outcome): number {
  return outcome.failures.filter(({ test, file }) => file !== undefined && test.startsWith(file)).length;
}

async function runCoverage(): Promise<Outcome> {
  const report = await coverageReport(COVERAGE_DIR);
  say("\n── coverage");
  say(report.table);
  for (const problem of report.problems) say(problem);
  if (report.problems.length > 0) return broken(stageFailure("coverage", "", report.problems.join("\n")));
  return { passed: 1, failed: 0, skipped: [], failures: [], flaky: [] };
}

/** Stages to run for the words on the command line; a path becomes a separate stage. */
export function chooseStages(words: readonly string[]): Stage[] {
  if (words.length === 0) return [...STAGES];
  return words.flatMap((word): Stage[] => {
    const known = [...STAGES, ...SOAK].filter((stage) => stage.name === word);
    if (known.length > 0) return known.map((stage) => ({ ...stage, coverage: false }));
    if (word.includes("/") || word.endsWith(".ts")) {
      return [{
        name: word,
        lane: "main",
        command: ["test", "-A"],
        paths: [word],
        tests: true,
        coverage: false,
        limitSeconds: 600,
      }];
    }
    const names = [...new Set(STAGES.map((stage) => stage.name))].join(", ");
    throw new Error(`Cannot find the test stage ${JSON.stringify(word)}; use a path or one of: ${names}`);
  });
}

/** Random tests of all stages share one seed (tests/support/seed.ts), a new one for each run. */
function announceSeed(): void {
  const drawn = String(crypto.getRandomValues(new Int32Array(1))[0]);
  const seed = Deno.env.get("REASONIX_SEED") ?? drawn;
  Deno.env.set("REASONIX_SEED", seed);
  say(`Random tests use seed ${seed}; repeat with REASONIX_SEED=${seed} deno task test`);
}

/**
 * Runs the stages of each lane one after the other, two lanes at the same time: the tests of the program wait
 * for processes while the others compute. The output of the first lane comes at once. Failed files run again
 * when all lanes have ended, so that they run alone.
 */
async function runStages(stages: readonly Stage[]): Promise<Outcome[]> {
  const outcomes = new Map<Stage, Outcome>();
  const build = Promise.withResolvers<void>();
  const waits = stages.some(({ name }) => name === "build");
  const runLane = async (lane: Stage["lane"], echo: boolean) => {
    const chosen = stages.filter((stage) => stage.lane === lane);
    for (const stage of chosen) {
      if (stage.bundle && waits) await build.promise;
      outcomes.set(stage, await runStage(stage, echo));
      if (stage.name === "build") build.resolve();
    }
    if (chosen.some((stage) => stage.coverage)) outcomes.set(COVERAGE, await runCoverage());
  };
  const hasMain = stages.some(({ lane }) => lane === "main");
  await Promise.all([runLane("main", true), runLane("program", !hasMain)]);
  await runLane("alone", true);
  const final: Outcome[] = [];
  for (const stage of [...stages, COVERAGE]) {
    const first = outcomes.get(stage);
    if (first) final.push(await runAgain(stage, first));
  }
  return final;
}

async function main(): Promise<number> {
  const stages = chooseStages(Deno.args);
  announceSeed();
  await Deno.remove("coverage", { recursive: true }).catch(() => {});
  const outcomes = withoutChance(await runStages(stages));
  const passed = outcomes.reduce((sum, outcome) => sum + outcome.passed, 0);
  const failed = outcomes.reduce((sum, outcome) => sum + outcome.failed, 0);
  const skipped = outcomes.flatMap((outcome) => outcome.skipped);
  if (skipped.length > 0) say(`\nSkipped:\n${skipped.map((name) => `  ${name}`).join("\n")}`);
  const flaky = outcomes.flatMap((outcome) => outcome.flaky);
  if (flaky.length > 0) say(listFailures("Flaky (failed once, passed when run again alone)", flaky));
  const failures = outcomes.flatMap((outcome) => outcome.failures);
  if (failures.length > 0) say(listFailures("Failed", failures));
  say(`\n${passed} passed, ${failed} failed, ${skipped.length} skipped`);
  return failed === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main());
