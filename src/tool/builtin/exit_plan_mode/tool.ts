import { defineBuiltin } from "../../builtin_tool.ts";
import { failure } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const EXIT_PLAN_MODE = defineBuiltin({
  name: "exit_plan_mode",
  description,
  late: true,
  schema: {
    type: "object",
    properties: { plan: { type: "string" } },
    required: ["plan"],
    additionalProperties: false,
  },
  readOnly: true,
  title: () => "propose a plan",
  subjects: () => [],
  // Other agents send these beside the plan.
  synonyms: { planFilePath: null, allowedPrompts: null, launchSwarm: null },
  load: () =>
    Promise.resolve(async ({ plan }, { services, signal }) => {
      if (!services?.plans) return failure("Cannot propose a plan: this session has no plan mode");
      return await (await services.plans()).propose(String(plan), signal);
    }),
});
