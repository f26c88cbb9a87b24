/** The samples of a run, and the figures computed from them. */
import type { TreeMemory } from "./memory.ts";
import type { Exchange } from "./model/server.ts";

/** One run of one program. Times in milliseconds, on the server's clock where absolute. */
export interface Sample {
  readonly started: number;
  readonly wall: number;
  readonly exchanges: readonly Exchange[];
  /** Memory samples; a run that has them gives no times. */
  readonly memory?: TreeMemory;
}

/** A number read off a run. */
export interface Figure {
  readonly name: string;
  readonly unit: "ms" | "MB" | "KB";
  /** The quality bar; as a function, of the median of the floor. Absent for figures that only inform. */
  readonly target?: number | ((floor: number) => number);
  /** The ratio of the bar to the floor, on the machine where it was set. */
  readonly targetRatio?: number;
  readonly of: (sample: Sample) => number | undefined;
}

export function wall(sample: Sample): number {
  return sample.wall;
}

/** Wall time without what the model took. */
export function ownTime({ wall, exchanges }: Sample): number {
  return exchanges.reduce((rest, { arrived, replied }) => rest - (replied - arrived), wall);
}

/** From the start of the process until the first request had arrived. */
export function firstRequest(sample: Sample): number | undefined {
  const first = sample.exchanges[0];
  return first === undefined ? undefined : first.arrived - sample.started;
}

export function firstSize(sample: Sample): number | undefined {
  const first = sample.exchanges[0];
  return first === undefined ? undefined : first.bytes / 1024;
}

/** From each reply handed to the kernel until the next request has fully arrived. */
export function steps(sample: Sample): number[] {
  return sample.exchanges.slice(1).map((next, index) =>
    next.arrived - (sample.exchanges[index]?.replied ?? NaN)
  );
}

export function step(sample: Sample): number | undefined {
  return median(steps(sample));
}

export function firstStep(sample: Sample): number | undefined {
  return steps(sample)[0];
}

/** The steps after the first. */
export function laterStep(sample: Sample): number | undefined {
  return median(steps(sample).slice(1));
}

/** The time that the first step takes in addition to the median of later steps. */
export function firstAboveLater(sample: Sample): number | undefined {
  const [first, later] = [firstStep(sample), laterStep(sample)];
  return first === undefined || later === undefined ? undefined : first - later;
}

/** The median of the ten steps that end with this one. */
export function stepsBefore(end: number): (sample: Sample) => number | undefined {
  return (sample) => median(steps(sample).slice(end - 10, end));
}

/** The median of every second step, from this one on. */
export function everySecond(start: number): (sample: Sample) => number | undefined {
  return (sample) => median(steps(sample).filter((_, index) => index % 2 === start));
}

/** From the first reply to the last request. */
export function betweenEnds({ exchanges }: Sample): number | undefined {
  const [first, last] = [exchanges[0], exchanges.at(-1)];
  return first && last && last.arrived - first.replied;
}

export function treeMemory({ memory }: Sample): number | undefined {
  return memory?.tree;
}

export function workerMemory({ memory }: Sample): number | undefined {
  return memory?.worker || undefined;
}

export function median(values: readonly number[]): number | undefined {
  return quantile(values, 0.5);
}

export function quantile(values: readonly number[], part: number): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const at = part * (sorted.length - 1);
  const low = sorted[Math.floor(at)];
  const high = sorted[Math.ceil(at)];
  return low === undefined || high === undefined ? undefined : low + (high - low) * (at - Math.floor(at));
}
