/** The meaning of `[tools] writes` for the model, in the same words wherever it is told. */
import type { ToolSettings } from "./tool.ts";

export type WritePolicy = ToolSettings["writes"];

/** Returns what to do in place of changing a file. */
export function insteadOfWriting(writes: Exclude<WritePolicy, "allow">): string {
  return writes === "deny"
    ? "put the change into your answer as a unified diff"
    : "use the edit tools, which show the diff without writing it";
}

/** A remark for a command that seems to have failed because it cannot change the workspace. */
export function readOnlyRemark(writes: WritePolicy, output: string): string | undefined {
  if (writes === "allow" || !/read-only file system|\bEROFS\b|operation not permitted/i.test(output)) {
    return undefined;
  }
  return `[commands cannot change the workspace in this run; ${insteadOfWriting(writes)}]`;
}
