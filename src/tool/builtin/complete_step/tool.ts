import { defineBuiltin } from "../../builtin_tool.ts";
import { failure } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const COMPLETE_STEP = defineBuiltin({
  name: "complete_step",
  description,
  late: true,
  schema: {
    type: "object",
    properties: { step: { type: "integer" }, note: { type: "string" } },
    required: ["step"],
    additionalProperties: false,
  },
  readOnly: true,
  // It changes nothing but says that something was done, which only follows an approval.
  planSafe: false,
  title: ({ step }) => `complete step ${step}`,
  subjects: () => [],
  load: () =>
    Promise.resolve(async ({ step }, { services }) => {
      if (!services?.plans) return failure("Cannot complete a step: this session has no plan");
      return await (await services.plans()).completeStep(Number(step));
    }),
});
