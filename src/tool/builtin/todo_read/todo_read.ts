import { checklist, progressOf } from "../../services/todo_list.ts";
import type { ToolContext, ToolResult } from "../../tool.ts";

export function todoRead(_args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const items = context.services?.todos?.get() ?? [];
  return Promise.resolve({ content: checklist(items), summary: progressOf(items) });
}
