/** Searches over 15,000 files, next to the floor and next to ripgrep itself on the same files. */
import { run } from "../../../scripts/process.ts";
import { everySecond } from "../figures.ts";
import { GLOB_PATTERN, GREP_PATTERN } from "../model/scripts.ts";
import type { Program } from "../programs.ts";
import { type Row, row } from "../report.ts";
import type { Bench } from "../runner.ts";
import { type Scenario, scenarioRows } from "../scenario.ts";

const RIPGREP_RUNS = 9;
const GREP = "grep over 15,000 files: a step";
const GLOB = "glob over 15,000 files: a step";

const SEARCH: Scenario = {
  name: "search",
  runs: 3,
  model: { script: "search" },
  directory: "tree",
  figures: [
    { name: GREP, unit: "ms", target: 135, of: everySecond(0) },
    { name: GLOB, unit: "ms", target: 60, of: everySecond(1) },
  ],
};

/** Programs that the agent may want where there is no ripgrep. */
const OTHER_PROGRAMS = ["bash", "sh", "git", "bwrap", "setsid"];

export async function searchRows(bench: Bench): Promise<Row[]> {
  const { stage } = bench.runner;
  const tree = await stage.tree();
  const runs = bench.quick ? 3 : RIPGREP_RUNS;
  const grep = await ripgrepTimes(tree, ["-n", GREP_PATTERN, "."], runs);
  const glob = await ripgrepTimes(tree, ["--files", "-g", GLOB_PATTERN], runs);
  const directory = `${stage.root}/no_ripgrep`;
  await linkPrograms(directory);
  const own = { ...SEARCH, setup: (program: Program) => withPath(program, directory), floor: null };
  const [rows, ownRows] = [await scenarioRows(bench, SEARCH), await scenarioRows(bench, own)];
  const comparison = (
    title: string,
    found: readonly Row[],
    figure: string,
    floor: number[],
    times?: number,
  ) =>
    row({
      figure: `${title} (floor: ripgrep alone)`,
      unit: "ms",
      target: times === undefined ? undefined : (alone) => times * alone,
      reasonix: found.find((one) => one.figure === figure)?.programs["reasonix"]?.samples,
      floor,
    });
  return [
    ...rows,
    comparison(GREP, rows, GREP, grep),
    comparison(GLOB, rows, GLOB, glob, 1.3),
    comparison(`${GREP}, without ripgrep`, ownRows, GREP, grep, 4),
    comparison(`${GLOB}, without ripgrep`, ownRows, GLOB, glob),
  ];
}

/** Wall times of ripgrep alone; none where it is not installed. */
async function ripgrepTimes(cwd: string, args: readonly string[], runs: number): Promise<number[]> {
  const times: number[] = [];
  for (let round = -1; round < runs; round++) {
    const started = performance.now();
    const done = await run("rg", { args, cwd }).catch(() => undefined);
    if (done?.code !== 0) return [];
    if (round >= 0) times.push(performance.now() - started);
  }
  return times;
}

/** A directory with the usual programs but ripgrep. */
async function linkPrograms(directory: string): Promise<void> {
  await Deno.mkdir(directory);
  for (const name of OTHER_PROGRAMS) {
    const found = await run("sh", { args: ["-c", `command -v ${name}`] });
    if (found.code === 0) await Deno.symlink(found.output.trim(), `${directory}/${name}`);
  }
}

function withPath(program: Program, path: string): Program {
  return { ...program, task: (url) => ({ ...program.task(url), env: { PATH: path } }) };
}
