import type { Assembly } from "../assembly.ts";
import type { AssemblyOptions } from "../run_options.ts";

/** Lets a session have the goal that it was left with. */
export async function join(
  { assembly, options }: { readonly assembly: Assembly; readonly options: AssemblyOptions },
): Promise<void> {
  await assembly.goals();
  // A copy of the mode that the goal was left in; plan mode, asked for, ends the goal.
  if (options.permissionMode !== "plan" && assembly.modes.collaboration === "normal") {
    await assembly.modes.setCollaboration("goal");
  }
}
