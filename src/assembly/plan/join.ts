import type { JoinedRun } from "../joined_run.ts";
import { isComplexTask } from "./complex_task.ts";

/** Lets a run have plans from its beginning; a complex task may begin with one. */
export async function join({ assembly, options }: JoinedRun): Promise<void> {
  const { modes, turnParts, controller: { recorder } } = assembly;
  const desk = await assembly.plans();
  if (!options.loaded.config.agent.auto_plan || !desk.attended) return;
  turnParts.add({
    async before(input) {
      const isFree = modes.collaboration === "normal" && modes.permission !== "read-only" && !input.readOnly;
      const isUsers = (input.origin ?? "user") === "user" && input.skill === undefined;
      if (!isFree || !isUsers || !isComplexTask(input.text)) return input;
      await modes.setCollaboration("plan");
      await recorder.record({
        type: "notice",
        level: "info",
        code: "plan",
        text: "This task is complex, so it begins in plan mode: nothing changes before you approve a plan; " +
          "/plan off leaves it",
        said: [["autoPlan"]],
      });
      await modes.tell();
      return input;
    },
  });
}
