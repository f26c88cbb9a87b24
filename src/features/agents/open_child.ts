import { errorMessage, ReasonixError } from "../../core/mod.ts";
import { SessionBusyError } from "../../session/mod.ts";
import type { Assembly, AssemblyOptions, RunContext } from "../../run/mod.ts";
import type { AgentRunParts } from "./agent_run.ts";
import { agentModel } from "./child_model.ts";
import { childOptions, type ChildTask } from "./child_options.ts";
import type { Isolation } from "./isolation.ts";

/** Assembles the run of an agent. */
export type Assemble = (options: AssemblyOptions) => Promise<Assembly>;

/** A run for an agent that can begin. */
type OpenedChild = Pick<AgentRunParts, "child" | "notes" | "input" | "end">;

/** Puts together the run in which an agent works on a task; a string says, for the model, why not. */
export async function openChild(
  run: RunContext,
  assemble: Assemble,
  task: ChildTask,
): Promise<OpenedChild | string> {
  const { recorder, options } = run;
  let isolation: Isolation | undefined;
  try {
    if (task.isolated) isolation = await (await import("./isolation.ts")).isolate(run, task.agent, task.id);
    const elsewhere = isolation ? { paths: isolation.paths } : {};
    const child = await assemble(await childOptions(run, { ...task, ...elsewhere }));
    const skill = await instructionsOf(task, child);
    const { fellBack } = task.model === undefined ? agentModel(options.loaded, task.agent) : {};
    if (fellBack !== undefined) {
      await recorder.record({ type: "notice", level: "warning", code: "agents", text: fellBack });
    }
    return {
      child,
      notes: fellBack === undefined ? [] : [fellBack],
      ...(isolation ? { end: isolation.end } : {}),
      ...(skill === undefined ? {} : { input: { references: [skill] } }),
    };
  } catch (error) {
    await isolation?.end(AbortSignal.abort());
    return problemOf(error);
  }
}

/**
 * The instructions of the skill that an agent follows; what it allows counts for the agent. Throws a
 * ReasonixError when they cannot be read.
 */
async function instructionsOf({ agent: { skill } }: ChildTask, child: Assembly): Promise<string | undefined> {
  if (skill === undefined) return undefined;
  const activated = await child.inputs.skills?.activate(skill) ?? `There is no skill "${skill}"`;
  if (typeof activated !== "string") return activated.content;
  await child[Symbol.asyncDispose]();
  throw new ReasonixError(activated);
}

function problemOf(error: unknown): string {
  if (error instanceof SessionBusyError) return `Another program is working on this task: ${error.message}`;
  if (error instanceof ReasonixError) {
    return `Cannot begin: ${error.message}${error.remedy ? `; ${error.remedy}` : ""}`;
  }
  return `Cannot begin: ${errorMessage(error)}`;
}
