import type { TurnState } from "../../src/control/mod.ts";

const ENDS = ["done", "failed", "stopped"] as const;
const WORKING = ["preparing", "generating", "running_tools", "compacting", "verifying"] as const;
const WAITING = ["awaiting_approval", "awaiting_answer"] as const;
const REST: readonly TurnState[] = ["preparing", "compacting", "idle", ...WAITING];

/** From any work a turn continues with any other, waits for a person, or ends. */
const from = (work: TurnState): readonly TurnState[] => [
  ...WORKING.filter((other) => other !== work),
  ...WAITING,
  ...ENDS,
];

/** The states that can follow each one. A turn begins with `preparing`, and ends with one of ENDS. */
export const TRANSITIONS: Readonly<Record<TurnState, readonly TurnState[]>> = {
  idle: ["preparing", "compacting", ...WAITING],
  preparing: from("preparing"),
  generating: from("generating"),
  running_tools: from("running_tools"),
  compacting: [...from("compacting"), "idle"],
  verifying: from("verifying"),
  awaiting_approval: ["awaiting_answer", ...WORKING, "idle", ...ENDS],
  awaiting_answer: ["awaiting_approval", ...WORKING, "idle", ...ENDS],
  done: REST,
  failed: REST,
  stopped: REST,
};
