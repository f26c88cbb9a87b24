/** The rows of a benchmark run: what every part of it hands over. */
import { median } from "./figures.ts";

/** The measurements of one program; `samples` has all of them, in the order of the runs. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly samples: readonly number[];
}

export interface Row {
  readonly figure: string;
  readonly unit: string;
  readonly target?: number;
  /** The ratio of the target to the floor, on the machine where it was set. */
  readonly targetRatio?: number;
  readonly reached?: boolean;
  readonly ratioToFloor?: number;
  /** By name: `reasonix`, `floor`, and others that are next to them. */
  readonly programs: Readonly<Record<string, Spread>>;
}

export interface RowParts {
  readonly figure: string;
  readonly unit: string;
  /** The quality bar; as a function, of the floor's median. */
  readonly target?: number | ((floor: number) => number) | undefined;
  readonly targetRatio?: number | undefined;
  readonly reasonix?: readonly number[] | undefined;
  readonly floor?: readonly number[] | undefined;
  readonly others?: Readonly<Record<string, readonly number[]>>;
}

/** Median, least and greatest of some values; undefined for none. */
function spread(values: readonly number[]): Spread | undefined {
  const middle = median(values);
  return middle === undefined
    ? undefined
    : { median: middle, min: Math.min(...values), max: Math.max(...values), samples: values };
}

/** Fewer runs do not decide whether a target was reached. */
const LEAST_RUNS = 5;

/** A row from all that was measured. Without enough values of ours it does not judge the target. */
export function row({ figure, unit, reasonix, floor, others, ...bar }: RowParts): Row {
  const lists = { reasonix, floor, ...others };
  const spreads = Object.entries(lists).flatMap(([name, values]) => {
    const found = spread(values ?? []);
    return found ? [[name, found] as const] : [];
  });
  const programs = Object.fromEntries(spreads);
  const [ours, theirs] = [programs["reasonix"]?.median, programs["floor"]?.median];
  const target = typeof bar.target === "function" ? theirs && bar.target(theirs) : bar.target;
  return {
    figure,
    unit,
    ...(target === undefined ? {} : { target: Number(target.toPrecision(3)) }),
    ...(bar.targetRatio === undefined ? {} : { targetRatio: bar.targetRatio }),
    ...(target === undefined || ours === undefined || (reasonix?.length ?? 0) < LEAST_RUNS
      ? {}
      : { reached: ours <= target }),
    ...(ours === undefined || !theirs ? {} : { ratioToFloor: ours / theirs }),
    programs,
  };
}
