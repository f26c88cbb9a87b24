/** Memory of the whole process tree: separate runs that sample it continuously. */
import { type Figure, treeMemory, workerMemory } from "../figures.ts";
import { AGENTS, LONG_STEPS, READS, TASK_STEPS } from "../model/scripts.ts";
import { parallelAgents } from "../programs.ts";
import type { Scenario } from "../scenario.ts";

interface Peak extends Pick<Scenario, "changes" | "setup" | "floor"> {
  readonly script: string;
  readonly title: string;
  readonly runs: number;
  readonly target?: number;
  /** Milliseconds of thinking, with each of which it is run; absent: 0 and 300. */
  readonly thinks?: readonly number[];
  /** It thinks before the first replies and then before each so-many-th. */
  readonly every?: number;
  readonly figures?: readonly Figure[];
}

function peaks({ script, title, target, thinks = [0, 300], every, figures = [], ...plan }: Peak): Scenario[] {
  return thinks.map((think) => ({
    ...plan,
    name: `memory_${script}${think === 0 ? "" : `_${think}`}`,
    memory: true,
    model: { script, think, ...(every === undefined ? {} : { every }) },
    figures: [
      {
        name: `${title}${thinks.length === 1 ? "" : `, ${think} ms of thinking`}`,
        unit: "MB",
        ...(target === undefined ? {} : { target }),
        of: treeMemory,
      },
      ...think === 0 ? figures : [],
    ],
  }));
}

export const MEMORY: readonly Scenario[] = [
  ...peaks({ script: "hello", title: "one question", runs: 7, target: 50 }),
  ...peaks({ script: "stream", title: "2 MB answer", runs: 5, target: 65 }),
  ...peaks({ script: "reads", title: `${READS} reads`, runs: 3, target: 65, every: 20 }),
  ...peaks({ script: "long", title: `${LONG_STEPS} reads of 8 KB`, runs: 3, target: 150, every: 40 }),
  ...peaks({
    script: "writes",
    title: "20 writes",
    runs: 5,
    thinks: [0],
    changes: true,
    figures: [{ name: "20 writes: the process that writes", unit: "MB", target: 35, of: workerMemory }],
  }),
  ...peaks({
    script: "task",
    title: `task of ${TASK_STEPS} mixed steps`,
    runs: 3,
    target: 110,
    changes: true,
    every: 4,
  }),
  ...peaks({
    script: "agents_1",
    title: "1 agent",
    runs: 3,
    thinks: [0],
    setup: parallelAgents,
    floor: null,
  }),
  ...peaks({
    script: "agents_8",
    title: `${AGENTS} agents at once`,
    runs: 3,
    thinks: [0],
    setup: parallelAgents,
    floor: null,
  }),
];
