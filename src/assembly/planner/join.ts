import type { JoinedRun } from "../joined_run.ts";
import { settingModel } from "../provider.ts";
import { Coordinator } from "./coordinator.ts";

/** Lets another model plan, unless it is that of the run. Throws a ReasonixError where there is no such model. */
export async function join(run: JoinedRun): Promise<void> {
  const { assembly, options: { loaded } } = run;
  const model = await settingModel(loaded, "agent.planner_model", loaded.config.agent.planner_model);
  const { provider, id } = assembly.provider.model;
  if (model !== `${provider}/${id}`) assembly.turnParts.add(new Coordinator(run, model));
}
