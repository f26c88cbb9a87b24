/** Which runs are made and which figures are read off them. */
import type { Exchange } from "./server.ts";
import { BENCH_KINDS, kindScenario } from "./kinds.ts";
import {
  AGENT_MS,
  AGENTS,
  GLOB_PATTERN,
  GREP_PATTERN,
  LONG_STEPS,
  READS,
  SEARCHES,
  SHELLS,
} from "./scripts.ts";

/** One run of one program. Times in milliseconds, on the server's clock where absolute. */
export interface Sample {
  readonly started: number;
  readonly wall: number;
  /** Largest resident size of the process in MB; undefined where the system does not tell. */
  readonly memory: number | undefined;
  readonly exchanges: readonly Exchange[];
}

export interface Scenario {
  readonly name: string;
  readonly runs: number;
  readonly folder: "workspace" | "tree";
  /** Arguments instead of a task: the program answers these without a model. */
  readonly plain?: readonly string[];
  /** Results of tools the last request must hold. */
  readonly results?: number;
  /** Requests beside the usual one for each result and the last. */
  readonly moreRequests?: number;
  /** Nothing else does the like. */
  readonly alone?: true;
  /** With the configuration of somebody who changed nothing: jail and permissions are on. */
  readonly asInstalled?: boolean;
  /** The provider kind; absent: `openai`. */
  readonly kind?: string;
}

const KINDS = Object.keys(BENCH_KINDS);

export const SCENARIOS: readonly Scenario[] = [
  { name: "version", runs: 11, folder: "workspace", plain: ["--version"] },
  { name: "help", runs: 11, folder: "workspace", plain: ["--help"] },
  { name: "hello", runs: 15, folder: "workspace" },
  ...KINDS.map((kind): Scenario => ({ name: kindScenario(kind), runs: 15, folder: "workspace", kind })),
  { name: "reads", runs: 7, folder: "workspace", results: READS },
  { name: "shell", runs: 7, folder: "workspace", results: SHELLS },
  { name: "usual_hello", runs: 15, folder: "workspace", asInstalled: true },
  { name: "usual_reads", runs: 7, folder: "workspace", results: READS, asInstalled: true },
  { name: "usual_shell", runs: 7, folder: "workspace", results: SHELLS, asInstalled: true },
  { name: "long", runs: 3, folder: "workspace", results: LONG_STEPS },
  { name: "stream", runs: 5, folder: "workspace" },
  { name: "subagents_1", runs: 5, folder: "workspace", results: 1, moreRequests: 1, alone: true },
  { name: "subagents_8", runs: 5, folder: "workspace", results: AGENTS, moreRequests: 1, alone: true },
  { name: "search", runs: 3, folder: "tree", results: 2 * SEARCHES },
];

export interface Figure {
  readonly scenario: string;
  readonly name: string;
  readonly unit: "ms" | "MB" | "KB";
  /** The quality bar; undefined for figures that only inform. */
  readonly target?: number;
  readonly of: (sample: Sample) => number | undefined;
}

export const FIGURES: readonly Figure[] = [
  { scenario: "version", name: "--version", unit: "ms", target: 25, of: (sample) => sample.wall },
  { scenario: "help", name: "--help", unit: "ms", target: 25, of: (sample) => sample.wall },
  { scenario: "hello", name: "cold start: first request", unit: "ms", target: 50, of: firstRequest },
  { scenario: "hello", name: "cold start: wall", unit: "ms", target: 65, of: (sample) => sample.wall },
  {
    scenario: "hello",
    name: "cold start: peak memory",
    unit: "MB",
    target: 50,
    of: (sample) => sample.memory,
  },
  { scenario: "hello", name: "first request: size", unit: "KB", target: 14, of: firstSize },
  ...KINDS.map((kind): Figure => ({
    scenario: kindScenario(kind),
    name: `kind ${kind}: first request`,
    unit: "ms",
    target: 50,
    of: firstRequest,
  })),
  {
    scenario: "reads",
    name: "100 reads: step",
    unit: "ms",
    target: 1.7,
    of: (sample) => median(steps(sample)),
  },
  {
    scenario: "reads",
    name: "100 reads: step, 95th percentile",
    unit: "ms",
    of: (s) => quantile(steps(s), 0.95),
  },
  {
    scenario: "reads",
    name: "100 reads: peak memory",
    unit: "MB",
    target: 65,
    of: (sample) => sample.memory,
  },
  {
    scenario: "shell",
    name: "30 shell runs: step",
    unit: "ms",
    target: 3,
    of: (sample) => median(steps(sample)),
  },
  { scenario: "usual_hello", name: "as installed: first request", unit: "ms", target: 50, of: firstRequest },
  { scenario: "usual_hello", name: "as installed: wall", unit: "ms", target: 65, of: (s) => s.wall },
  { scenario: "usual_hello", name: "as installed: peak memory", unit: "MB", target: 50, of: (s) => s.memory },
  {
    scenario: "usual_reads",
    name: "as installed: 100 reads: step",
    unit: "ms",
    target: 1.7,
    of: (sample) => median(steps(sample)),
  },
  {
    scenario: "usual_shell",
    name: "as installed: 30 shell runs in the jail: step",
    unit: "ms",
    of: (sample) => median(steps(sample)),
  },
  { scenario: "long", name: "400 × 8 KB: step 10", unit: "ms", of: (sample) => around(sample, 10) },
  { scenario: "long", name: "400 × 8 KB: step 100", unit: "ms", of: (sample) => around(sample, 100) },
  { scenario: "long", name: "400 × 8 KB: step 200", unit: "ms", of: (sample) => around(sample, 200) },
  {
    scenario: "long",
    name: "400 × 8 KB: step 400",
    unit: "ms",
    target: 11,
    of: (sample) => around(sample, LONG_STEPS),
  },
  {
    scenario: "long",
    name: "400 × 8 KB: peak memory",
    unit: "MB",
    target: 150,
    of: (sample) => sample.memory,
  },
  { scenario: "stream", name: "2 MB answer: wall", unit: "ms", target: 300, of: (sample) => sample.wall },
  {
    scenario: "stream",
    name: "2 MB answer: peak memory",
    unit: "MB",
    target: 65,
    of: (sample) => sample.memory,
  },
  {
    scenario: "subagents_8",
    name: "8 agents at once: wall of the step (slowest answer: 500 ms)",
    unit: "ms",
    target: 1.15 * AGENT_MS,
    of: stepOfAgents,
  },
  {
    scenario: "subagents_1",
    name: "1 agent: peak memory",
    unit: "MB",
    of: (sample) => sample.memory,
  },
  {
    scenario: "subagents_8",
    name: "8 agents at once: peak memory",
    unit: "MB",
    of: (sample) => sample.memory,
  },
  {
    scenario: "search",
    name: "grep over 15,000 files",
    unit: "ms",
    target: 135,
    of: (s) => median(everySecond(s, 0)),
  },
  {
    scenario: "search",
    name: "glob over 15,000 files",
    unit: "ms",
    target: 60,
    of: (s) => median(everySecond(s, 1)),
  },
];

/** ripgrep alone, for the search figures. */
export const RIPGREP: Readonly<Record<string, readonly string[]>> = {
  "grep over 15,000 files": ["-n", GREP_PATTERN, "."],
  "glob over 15,000 files": ["--files", "-g", GLOB_PATTERN],
};

export function firstRequest(sample: Sample): number | undefined {
  const first = sample.exchanges[0];
  return first === undefined ? undefined : first.arrived - sample.started;
}

function firstSize(sample: Sample): number | undefined {
  const first = sample.exchanges[0];
  return first === undefined ? undefined : first.bytes / 1024;
}

/** From each reply handed to the kernel until the next request has fully arrived. */
function steps(sample: Sample): number[] {
  return sample.exchanges.slice(1).map((next, index) =>
    next.arrived - (sample.exchanges[index]?.replied ?? NaN)
  );
}

/** Median of the ten steps that end with this one. */
function around(sample: Sample, step: number): number | undefined {
  return median(steps(sample).slice(step - 10, step));
}

/** Steps of one of two alternating kinds. */
function everySecond(sample: Sample, start: number): number[] {
  return steps(sample).filter((_, index) => index % 2 === start);
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

/** From the reply that gives the tasks to the request that has all answers. */
function stepOfAgents({ exchanges }: Sample): number | undefined {
  const [first, last] = [exchanges[0], exchanges.at(-1)];
  return first && last && last.arrived - first.replied;
}
