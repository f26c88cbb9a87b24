import { defineBuiltin } from "../../builtin_tool.ts";
import { checklist, progressOf } from "../../services/todo_list.ts";
import type { ToolContext, ToolResult } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const TODO_READ = defineBuiltin({
  name: "todo_read",
  description,
  schema: { type: "object", properties: {}, additionalProperties: false },
  readOnly: true,
  title: () => "read the todo list",
  load: () => Promise.resolve(todoRead),
});

function todoRead(_args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const items = context.services?.todos?.get() ?? [];
  return Promise.resolve({ content: checklist(items), summary: progressOf(items) });
}
