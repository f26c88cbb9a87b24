import type { TurnCheckpoints } from "../control/mod.ts";
import type { RunBase } from "./run_base.ts";
import type { GuardedTools } from "./tools/run_tools.ts";

/** A run as features see it: everything below the turns. */
export interface RunContext extends RunBase, GuardedTools {
  readonly checkpointer: TurnCheckpoints;
  /** Writes the first events of this process, once. */
  readonly open: () => Promise<void>;
}
