import { defineBuiltin } from "../../builtin_tool.ts";
import { texts } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const TASK = defineBuiltin({
  name: "task",
  description,
  schema: {
    type: "object",
    properties: {
      agent: { type: "string" },
      prompt: { type: "string" },
      description: { type: "string", description: "3 to 6 words" },
      background: { type: "boolean", description: "Returns an id at once" },
      isolation: { type: "string", enum: ["worktree"] },
      resume: { type: "string", description: "Id of an earlier task to continue" },
    },
    required: ["prompt"],
    additionalProperties: false,
  },
  readOnly: false,
  delegates: true,
  family: "Task",
  title: ({ agent, description, prompt }) => `${agent ?? "general"}: ${description ?? prompt}`,
  synonyms: {
    subagent_type: "agent",
    agent_type: "agent",
    subagent: "agent",
    task: "prompt",
    run_in_background: "background",
    task_id: "resume",
    model: null,
  },
  subjects: ({ agent }) => texts(agent ?? "general"),
  load: async () => (await import("../../agents/task_tools.ts")).task,
});
