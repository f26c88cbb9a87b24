import type { Assembly } from "./assembly.ts";
import { lazy } from "../util/lazy.ts";
import type { PlanDesk, PlanDeskParts } from "./plan/plan_desk.ts";
import type { AssemblyOptions } from "./run_options.ts";

/** The run that something joins. */
export interface JoinedRun {
  readonly assembly: Assembly;
  readonly options: AssemblyOptions;
  /** Puts another run together, for agents that work on a part of the task. */
  readonly assemble: (options: AssemblyOptions) => Promise<Assembly>;
}

/** Something that joins a run beside its model and its tools. */
interface Extension {
  /** Whether this run has any use for it; cheap. */
  readonly wanted: (run: JoinedRun) => boolean;
  readonly load: () => Promise<{
    /** Adds turn parts, answers the ports of its tools; records nothing, since nothing is open yet. */
    readonly join: (run: JoinedRun) => void | Promise<void>;
  }>;
}

/** The plans of a run, which are made when somebody has to do with one; `parts` are known by then. */
export function plansWhenNeeded(parts: () => PlanDeskParts): () => Promise<PlanDesk> {
  return lazy(async () => new (await import("./plan/plan_desk.ts")).PlanDesk(parts()));
}

/** Everything that may join a run, in the order in which it takes part in turns: one line per entry. */
const EXTENSIONS: readonly Extension[] = [
  { wanted: usesPlans, load: () => import("./plan/join.ts") },
];

/** Plan mode is on, may come by itself, or was left with a plan. */
function usesPlans({ assembly, options }: JoinedRun): boolean {
  return options.permissionMode === "plan" || options.loaded.config.agent.auto_plan ||
    assembly.session.state.collaboration === "plan" || assembly.session.state.plan !== undefined;
}

/** Lets everything join that the run has a use for; what nobody uses is not loaded. */
export async function joinExtensions(run: JoinedRun): Promise<void> {
  for (const { wanted, load } of EXTENSIONS) {
    if (wanted(run)) await (await load()).join(run);
  }
}
