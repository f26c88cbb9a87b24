import { message } from "../../../core/mod.ts";
import taskText from "./description.md" with { type: "text" };
import readOnlyTaskText from "./read_only_task.md" with { type: "text" };
import taskOutputText from "./task_output.md" with { type: "text" };
import taskStopText from "./task_stop.md" with { type: "text" };
import { defineBuiltin } from "../../builtin_tool.ts";
import { texts } from "../../tool.ts";

export const TASK = defineBuiltin({
  name: "task",
  description: taskText,
  properties: {
    agent: { type: "string" },
    prompt: { type: "string" },
    description: { type: "string", description: "3 to 6 words" },
    background: { type: "boolean", description: "Returns an id at once" },
    isolation: { type: "string", enum: ["worktree"] },
    resume: { type: "string", description: "Id of an earlier task to continue" },
  },
  required: ["prompt"],
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
  load: async () => (await import("./task.ts")).task,
});

export const READ_ONLY_TASK = defineBuiltin({
  name: "read_only_task",
  description: readOnlyTaskText,
  properties: {
    agent: { type: "string", description: "Default: explore" },
    prompt: { type: "string" },
    background: { type: "boolean" },
    resume: { type: "string" },
  },
  required: ["prompt"],
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
  load: async () => (await import("./task.ts")).readOnlyTask,
});

export const TASK_OUTPUT = defineBuiltin({
  name: "task_output",
  description: taskOutputText,
  late: true,
  properties: {
    id: { type: "string" },
    wait_seconds: { type: "integer", minimum: 0, maximum: 300, description: "Wait for its end" },
  },
  required: ["id"],
  readOnly: true,
  title: ({ id }) => message`answer of task ${String(id)}`,
  synonyms: { task_id: "id", wait: "wait_seconds", block: null },
  load: async () => (await import("./task.ts")).taskOutput,
});

export const TASK_STOP = defineBuiltin({
  name: "task_stop",
  description: taskStopText,
  late: true,
  properties: { id: { type: "string" } },
  required: ["id"],
  readOnly: true,
  title: ({ id }) => message`stop task ${String(id)}`,
  synonyms: { task_id: "id", shell_id: "id" },
  load: async () => (await import("./task.ts")).taskStop,
});
