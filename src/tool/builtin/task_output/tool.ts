import { defineBuiltin } from "../../builtin_tool.ts";
import description from "./description.md" with { type: "text" };

export const TASK_OUTPUT = defineBuiltin({
  name: "task_output",
  description,
  late: true,
  schema: {
    type: "object",
    properties: {
      id: { type: "string" },
      wait_seconds: { type: "integer", minimum: 0, maximum: 300, description: "Wait for its end" },
    },
    required: ["id"],
    additionalProperties: false,
  },
  readOnly: true,
  title: ({ id }) => `answer of task ${id}`,
  synonyms: { task_id: "id", wait: "wait_seconds", block: null },
  load: async () => (await import("../../agents/task_tools.ts")).taskOutput,
});
