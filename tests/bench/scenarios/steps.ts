/** Steps of a turn: reads, writes, commands, agents, and a whole task of all of them. */
import {
  betweenEnds,
  firstAboveLater,
  firstStep,
  laterStep,
  ownTime,
  quantile,
  step,
  steps,
  stepsBefore,
  wall,
} from "../figures.ts";
import { AGENT_MS, AGENTS, LONG_STEPS, READS, SHELLS, TASK_STEPS } from "../model/scripts.ts";
import { fromSources, parallelAgents, withoutJail } from "../programs.ts";
import type { Scenario } from "../scenario.ts";

export const STEPS: readonly Scenario[] = [
  {
    name: "reads",
    runs: 7,
    model: { script: "reads" },
    figures: [
      { name: `${READS} reads: a step`, unit: "ms", target: 1.7, targetRatio: 2.05, of: step },
      {
        name: `${READS} reads: a step, 95th percentile`,
        unit: "ms",
        of: (sample) => quantile(steps(sample), 0.95),
      },
    ],
  },
  {
    name: "long",
    runs: 3,
    model: { script: "long" },
    figures: [
      ...[10, 100, 200].map((index) => (
        { name: `${LONG_STEPS} reads of 8 KB: step ${index}`, unit: "ms", of: stepsBefore(index) } as const
      )),
      {
        name: `${LONG_STEPS} reads of 8 KB: step ${LONG_STEPS}`,
        unit: "ms",
        target: 11,
        targetRatio: 1.26,
        of: stepsBefore(LONG_STEPS),
      },
    ],
  },
  {
    name: "stream",
    runs: 5,
    model: { script: "stream" },
    figures: [
      {
        name: "2 MB answer in 131,072 events, whole run",
        unit: "ms",
        target: 300,
        targetRatio: 1.3,
        of: wall,
      },
    ],
  },
  {
    name: "agents",
    runs: 5,
    model: { script: "agents_8" },
    setup: parallelAgents,
    floor: null,
    figures: [{
      name: `${AGENTS} agents at once, each answer after ${AGENT_MS} ms: their step`,
      unit: "ms",
      target: 1.15 * AGENT_MS,
      of: betweenEnds,
    }],
  },
];

export const WRITES: readonly Scenario[] = [
  {
    name: "writes",
    runs: 9,
    model: { script: "writes" },
    changes: true,
    figures: [
      { name: "first write, the call at once", unit: "ms", target: 90, of: firstStep },
      { name: "later writes", unit: "ms", target: 3, of: laterStep },
    ],
  },
  {
    name: "writes_slow",
    runs: 9,
    model: { script: "writes", write: 150 },
    changes: true,
    figures: [
      { name: "first write, the call written in 150 ms", unit: "ms", target: 15, of: firstStep },
      { name: "later writes, the call written in 150 ms", unit: "ms", target: 3, of: laterStep },
    ],
  },
  {
    name: "writes_sources",
    runs: 3,
    model: { script: "writes" },
    changes: true,
    setup: fromSources,
    figures: [{ name: "first write, program run from its sources", unit: "ms", target: 400, of: firstStep }],
  },
];

/** Commands one after the other, each in the jail. */
function jailed(name: string, think: number, target: number): Scenario {
  const title = `${SHELLS} commands in the jail, ${think} ms of thinking`;
  return {
    name,
    runs: 7,
    model: { script: "shell", think },
    figures: [
      { name: `${title}: a step`, unit: "ms", target, of: laterStep },
      { name: `${title}: the first step`, unit: "ms", of: firstStep },
      { name: `${title}: the first above later ones`, unit: "ms", target: 25, of: firstAboveLater },
    ],
  };
}

/** The mixed task as installed, next to the same without jail and permissions. */
function task(name: string, think: number): Scenario {
  return {
    name,
    runs: think === 0 ? 7 : 3,
    model: { script: "task", think },
    changes: true,
    floor: withoutJail,
    figures: [{
      name: `task of ${TASK_STEPS} mixed steps, ${think} ms of thinking (floor: without jail)`,
      unit: "ms",
      target: (floor) => 1.4 * floor,
      of: ownTime,
    }],
  };
}

export const COMMANDS: readonly Scenario[] = [
  jailed("shell", 0, 16),
  jailed("shell_50", 50, 8),
];

export const TASKS: readonly Scenario[] = [task("task", 0), task("task_300", 300)];

/** Without jail and permissions, as the floor is: what the program itself adds. */
export const NO_JAIL: readonly Scenario[] = [
  {
    name: "no_jail_reads",
    runs: 7,
    model: { script: "reads" },
    setup: withoutJail,
    figures: [{
      name: `no jail: ${READS} reads: a step`,
      unit: "ms",
      target: 1.7,
      targetRatio: 2.05,
      of: step,
    }],
  },
  {
    name: "no_jail_shell",
    runs: 7,
    model: { script: "shell" },
    setup: withoutJail,
    figures: [
      { name: `no jail: ${SHELLS} commands: a step`, unit: "ms", target: 3, targetRatio: 1.58, of: step },
    ],
  },
];
