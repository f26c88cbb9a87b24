/**
 * The one test command: `deno task test [stage or path …]`. Runs every gate and every test in the order of CI
 * and ends with the line `N passed, N failed, N skipped`, the skipped ones named above it. Names of stages
 * (`deno task test unit house`) or test paths narrow the run.
 */
import { coverageReport } from "./cov.ts";
import { run, say } from "./process.ts";
import { missingPaths, type Stage, STAGES } from "./test_stages.ts";

interface Count {
  readonly passed: number;
  readonly failed: number;
  /** Names of the tests that did not run here. */
  readonly skipped: readonly string[];
}

const PASSED: Count = { passed: 1, failed: 0, skipped: [] };
const FAILED: Count = { passed: 0, failed: 1, skipped: [] };
const COVERAGE_DIR = "coverage/raw";

/** The counts of the last summary line of `deno test`; a run that broke without one is a single failure. */
export function countTests(output: string, code: number): Count {
  // deno-lint-ignore no-control-regex
  const plain = output.replaceAll(/\x1b\[[0-9;]*m/g, "");
  const last = [...plain.matchAll(/^(?:ok|FAILED) \| (\d+) passed.*?\| (\d+) failed/gm)].at(-1);
  if (last === undefined) return FAILED;
  const failed = Number(last[2]);
  const skipped = [...plain.matchAll(/^(.+) \.\.\. ignored \(\d+ms\)$/gm)].map(([, name = ""]) => name);
  return { passed: Number(last[1]), failed: code !== 0 && failed === 0 ? 1 : failed, skipped };
}

async function runStage(stage: Stage): Promise<Count> {
  say(`\n── ${stage.name}`);
  const missing = await missingPaths(stage.paths);
  if (missing.length > 0) {
    say(`Cannot find ${missing.join(", ")}`);
    return FAILED;
  }
  const started = performance.now();
  const coverage = stage.coverage ? [`--coverage=${COVERAGE_DIR}`, "--coverage-raw-data-only"] : [];
  const done = await run(Deno.execPath(), {
    args: [...stage.command, ...coverage, ...stage.paths],
    echo: true,
    limitSeconds: stage.limitSeconds,
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (done.timedOut) say(`Stage ${stage.name} was stopped after ${stage.limitSeconds} s`);
  const count = stage.tests ? countTests(done.output, done.code) : done.code === 0 ? PASSED : FAILED;
  say(
    `── ${stage.name}: ${count.passed} passed, ${count.failed} failed, ${count.skipped.length} skipped (${seconds} s)`,
  );
  return count;
}

async function runCoverage(): Promise<Count> {
  say("\n── coverage");
  const report = await coverageReport(COVERAGE_DIR);
  say(report.table);
  for (const problem of report.problems) say(problem);
  return report.problems.length === 0 ? PASSED : FAILED;
}

/** Stages to run for the words on the command line; a path becomes a stage of its own. */
export function chooseStages(words: readonly string[]): Stage[] {
  if (words.length === 0) return [...STAGES];
  return words.map((word) => {
    const known = STAGES.find((stage) => stage.name === word);
    if (known !== undefined) return { ...known, coverage: false };
    if (word.includes("/") || word.endsWith(".ts")) {
      return {
        name: word,
        command: ["test", "-A"],
        paths: [word],
        tests: true,
        coverage: false,
        limitSeconds: 600,
      };
    }
    const names = STAGES.map((stage) => stage.name).join(", ");
    throw new Error(`Cannot find the test stage ${JSON.stringify(word)}; use a path or one of: ${names}`);
  });
}

async function main(): Promise<number> {
  const stages = chooseStages(Deno.args);
  await Deno.remove("coverage", { recursive: true }).catch(() => {});
  const counts: Count[] = [];
  for (const stage of stages) counts.push(await runStage(stage));
  if (stages.some((stage) => stage.coverage)) counts.push(await runCoverage());
  const passed = counts.reduce((sum, count) => sum + count.passed, 0);
  const failed = counts.reduce((sum, count) => sum + count.failed, 0);
  const skipped = counts.flatMap((count) => count.skipped);
  if (skipped.length > 0) say(`\nSkipped:\n${skipped.map((name) => `  ${name}`).join("\n")}`);
  say(`\n${passed} passed, ${failed} failed, ${skipped.length} skipped`);
  return failed === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main());
