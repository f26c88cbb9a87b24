import type { Features, RunContext } from "../../run/mod.ts";
import { isComplexTask } from "./complex_task.ts";

/** Lets a run have plans from its beginning; a complex task may begin with one. */
export async function join(
  { modes, extensions, recorder, options }: RunContext,
  { plans }: Features,
): Promise<void> {
  const desk = await plans();
  if (!options.loaded.config.agent.auto_plan || !desk.attended) return;
  extensions.add({
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
