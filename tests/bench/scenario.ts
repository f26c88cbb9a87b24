/** A scenario: runs of one plan, by Reasonix and by what it is compared with in turns, and their figures. */
import type { Figure, Sample } from "./figures.ts";
import { FLOOR, type Program } from "./programs.ts";
import { type Row, row } from "./report.ts";
import type { Bench, RunPlan } from "./runner.ts";

export interface Scenario extends RunPlan {
  readonly name: string;
  readonly runs: number;
  /** A configuration other than the default one. */
  readonly setup?: (program: Program) => Program;
  /** The program it is compared with; absent: the smallest agent. Null: no other program does the same. */
  readonly floor?: ((program: Program) => Program) | null;
  readonly figures: readonly Figure[];
}

/** Runs a scenario and reads its figures off. */
export async function scenarioRows(bench: Bench, scenario: Scenario): Promise<Row[]> {
  const ours = scenario.setup?.(bench.program) ?? bench.program;
  const floor = scenario.floor === null ? undefined : scenario.floor?.(bench.program) ?? FLOOR;
  const samples = await inTurns(bench, scenario, floor === undefined ? [ours] : [ours, floor]);
  return scenario.figures.map(({ name, of, ...figure }) => {
    const [reasonix, other] = samples.map((list) => list.map(of).filter((value) => value !== undefined));
    return row({ ...figure, figure: name, reasonix, floor: other });
  });
}

/** All samples of each program. An uncounted round before them fills the code cache. */
async function inTurns(
  { runner, quick }: Bench,
  { runs, ...plan }: Scenario,
  programs: readonly Program[],
): Promise<readonly Sample[][]> {
  const { memory: _, ...rest } = plan;
  const { think: __, ...swift } = plan.model;
  for (const program of programs) await runner.run(program, { ...rest, model: swift });
  const samples = programs.map((): Sample[] => []);
  for (let round = 0; round < (quick ? Math.ceil(runs / 3) : runs); round++) {
    for (const [index, program] of programs.entries()) {
      samples[index]?.push(await runner.run(program, plan));
    }
  }
  return samples;
}
