/** Searches over 15,000 files, beside ripgrep itself on the same files. */
import { run } from "../../../scripts/process.ts";
import { everySecond, type Figure, median } from "../figures.ts";
import { GLOB_PATTERN, GREP_PATTERN } from "../model/scripts.ts";
import { type Row, row } from "../report.ts";
import type { Bench } from "../runner.ts";
import { type Scenario, scenarioRows } from "../scenario.ts";

const RIPGREP_RUNS = 9;

/** What each search may take at most, and as a multiple of ripgrep's time. */
const SEARCHES: readonly (Figure & { readonly most: number; readonly times?: number; args: string[] })[] = [
  {
    name: "grep over 15,000 files: a step",
    unit: "ms",
    most: 135,
    args: ["-n", GREP_PATTERN, "."],
    of: everySecond(0),
  },
  {
    name: "glob over 15,000 files: a step",
    unit: "ms",
    most: 60,
    times: 1.3,
    args: ["--files", "-g", GLOB_PATTERN],
    of: everySecond(1),
  },
];

const SCENARIO: Scenario = {
  name: "search",
  runs: 3,
  model: { script: "search" },
  folder: "tree",
  figures: SEARCHES.map(({ name, unit, of }) => ({ name, unit, of })),
};

export async function searchRows(bench: Bench): Promise<Row[]> {
  const found = await scenarioRows(bench, SCENARIO);
  const tree = await bench.runner.stage.tree();
  const rows: Row[] = [];
  for (const { name, unit, most, times, args } of SEARCHES) {
    const ripgrep = await ripgrepTimes(tree, args, bench.quick ? 3 : RIPGREP_RUNS);
    const alone = median(ripgrep);
    const { programs = {} } = found.find(({ figure }) => figure === name) ?? {};
    rows.push(row({
      figure: name,
      unit,
      target: times === undefined || alone === undefined ? most : Math.min(most, times * alone),
      reasonix: programs["reasonix"]?.samples,
      floor: programs["floor"]?.samples,
      others: { ripgrep },
    }));
  }
  return rows;
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
