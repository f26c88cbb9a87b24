import { defineBuiltin } from "../../builtin_tool.ts";
import { texts } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const READ_ONLY_TASK = defineBuiltin({
  name: "read_only_task",
  description,
  schema: {
    type: "object",
    properties: {
      agent: { type: "string", description: "Default: explore" },
      prompt: { type: "string" },
      background: { type: "boolean" },
      resume: { type: "string" },
    },
    required: ["prompt"],
    additionalProperties: false,
  },
  unoffered: { description: { type: "string" } },
  readOnly: true,
  family: "Task",
  title: ({ agent, description, prompt }) => `${agent ?? "explore"}: ${description ?? prompt}`,
  synonyms: {
    subagent_type: "agent",
    agent_type: "agent",
    task: "prompt",
    run_in_background: "background",
    task_id: "resume",
    model: null,
    isolation: null,
  },
  subjects: ({ agent }) => texts(agent ?? "explore"),
  load: async () => (await import("../../agents/task_tools.ts")).readOnlyTask,
});
