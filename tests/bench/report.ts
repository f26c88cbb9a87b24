/** The table and the JSON of a benchmark run. */
import { type Figure, FIGURES, median, type Sample } from "./figures.ts";

/** Samples by program name. */
export type Samples = ReadonlyMap<string, readonly Sample[]>;

interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export interface Row {
  readonly figure: string;
  readonly unit: string;
  readonly target?: number;
  readonly reached?: boolean;
  readonly ratioToFloor?: number;
  readonly programs: Readonly<Record<string, Spread>>;
}

/** Median, least and greatest of some values; undefined for none. */
export function spread(values: readonly number[]): Spread | undefined {
  const middle = median(values);
  return middle === undefined
    ? undefined
    : { median: middle, min: Math.min(...values), max: Math.max(...values) };
}

function rowOf(figure: Figure, samples: Samples, extra: ReadonlyMap<string, readonly number[]>): Row {
  const programs: Record<string, Spread> = {};
  for (const [name, list] of samples) {
    const found = spread(list.map(figure.of).filter((value) => value !== undefined));
    if (found !== undefined) programs[name] = found;
  }
  const alone = spread(extra.get(figure.name) ?? []);
  if (alone !== undefined) programs["ripgrep"] = alone;
  const ours = programs["reasonix"]?.median;
  const floor = programs["floor"]?.median;
  const { target } = figure;
  return {
    figure: figure.name,
    unit: figure.unit,
    ...(target === undefined ? {} : { target }),
    ...(target === undefined || ours === undefined ? {} : { reached: ours <= target }),
    ...(ours === undefined || floor === undefined ? {} : { ratioToFloor: ours / floor }),
    programs,
  };
}

/** Rows of all figures whose scenario was run. */
export function rowsOf(
  byScenario: ReadonlyMap<string, Samples>,
  extra: ReadonlyMap<string, readonly number[]>,
): Row[] {
  return FIGURES.flatMap((figure) => {
    const samples = byScenario.get(figure.scenario);
    return samples === undefined ? [] : [rowOf(figure, samples, extra)];
  });
}

function number(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function cell(found: Spread | undefined): string {
  return found === undefined ? "–" : `${number(found.median)} (${number(found.min)}–${number(found.max)})`;
}

/** Median (min–max) of each program, the ratio to the floor and the quality bar. */
export function table(rows: readonly Row[]): string {
  const lines = rows.map(({ figure, unit, target, reached, ratioToFloor, programs }) => [
    `${figure}, ${unit}`,
    cell(programs["reasonix"]),
    cell(programs["floor"]),
    ratioToFloor === undefined ? "–" : `×${ratioToFloor.toFixed(2)}`,
    cell(programs["ripgrep"] ?? programs["peer"]),
    target === undefined ? "–" : `≤ ${target}`,
    reached === undefined ? "" : reached ? "reached" : "missed",
  ]);
  const all = [["figure", "reasonix", "floor", "ratio", "ripgrep, peer", "target", ""], ...lines];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0))) ?? [];
  return all.map((line) => line.map((text, column) => text.padEnd(widths[column] ?? 0)).join("  ").trimEnd())
    .join("\n");
}
