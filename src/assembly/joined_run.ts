import type { ToolRegistry } from "../tool/mod.ts";
import type { Assembly } from "./assembly.ts";
import type { RunAgents } from "./internal.ts";
import type { AssemblyOptions } from "./run_options.ts";
import type { GuardedTools } from "./tools/guarded_tools.ts";

/** The run that something joins. */
export interface JoinedRun {
  readonly assembly: Assembly;
  readonly options: AssemblyOptions;
  readonly registry: ToolRegistry;
  readonly gate: GuardedTools["gate"];
  readonly tools: GuardedTools["tools"];
  readonly agents: () => Promise<RunAgents>;
  /** Puts another run together, for agents that work on a part of the task. */
  readonly assemble: (options: AssemblyOptions) => Promise<Assembly>;
}
