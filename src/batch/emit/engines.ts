import { github } from "./github.ts";
import { kubernetes } from "./kubernetes.ts";
import { parallel } from "./parallel.ts";
import { type EmitPlan, type PlanInput, planOf } from "./plan.ts";
import { maxArraySize, slurm } from "./slurm.ts";

interface Engine {
  readonly emit: (plan: EmitPlan) => string | Promise<string>;
  /** Indexes that it takes at most. */
  readonly maxIndexes: number | (() => Promise<number>);
}

/** The engines that `reasonix batch emit` writes for. */
export const ENGINES: Readonly<Record<string, Engine>> = {
  kubernetes: { emit: kubernetes, maxIndexes: 100_000 },
  slurm: { emit: slurm, maxIndexes: maxArraySize },
  github: { emit: github, maxIndexes: 256 },
  parallel: { emit: parallel, maxIndexes: Infinity },
};

/** Returns what an engine runs. Throws a ReasonixError for a batch that it cannot do. */
export async function emitFor(
  { emit, maxIndexes }: Engine,
  input: Omit<PlanInput, "maxIndexes">,
): Promise<string> {
  const limit = typeof maxIndexes === "number" ? maxIndexes : await maxIndexes();
  return await emit(planOf({ ...input, maxIndexes: limit }));
}
