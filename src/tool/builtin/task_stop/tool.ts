import { defineBuiltin } from "../../builtin_tool.ts";
import description from "./description.md" with { type: "text" };

export const TASK_STOP = defineBuiltin({
  name: "task_stop",
  description,
  late: true,
  schema: {
    type: "object",
    properties: { id: { type: "string" } },
    required: ["id"],
    additionalProperties: false,
  },
  readOnly: true,
  title: ({ id }) => `stop task ${id}`,
  synonyms: { task_id: "id", shell_id: "id" },
  load: async () => (await import("../../agents/task_tools.ts")).taskStop,
});
