import { message } from "../../../core/mod.ts";
import completeStepText from "./complete_step.md" with { type: "text" };
import exitPlanModeText from "./description.md" with { type: "text" };
import { defineBuiltin } from "../../builtin_tool.ts";
import { failure } from "../../tool.ts";

export const EXIT_PLAN_MODE = defineBuiltin({
  name: "exit_plan_mode",
  description: exitPlanModeText,
  late: true,
  properties: { plan: { type: "string" } },
  required: ["plan"],
  readOnly: true,
  title: () => message`propose a plan`,
  subjects: () => [],
  // Other agents send these with the plan.
  synonyms: { planFilePath: null, allowedPrompts: null, launchSwarm: null },
  load: () =>
    Promise.resolve(async ({ plan }, { services, signal }) => {
      if (!services?.plans) return failure("Cannot propose a plan: this session has no plan mode");
      return await (await services.plans()).propose(String(plan), signal);
    }),
});

export const COMPLETE_STEP = defineBuiltin({
  name: "complete_step",
  description: completeStepText,
  late: true,
  properties: { step: { type: "integer" }, note: { type: "string" } },
  required: ["step"],
  readOnly: true,
  // It changes nothing but says that something was done, which only follows an approval.
  planSafe: false,
  title: ({ step }) => message`complete step ${String(step)}`,
  subjects: () => [],
  load: () =>
    Promise.resolve(async ({ step }, { services }) => {
      if (!services?.plans) return failure("Cannot complete a step: this session has no plan");
      return await (await services.plans()).completeStep(Number(step));
    }),
});
