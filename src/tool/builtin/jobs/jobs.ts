import { describeJob } from "../../shell/job_text.ts";
import type { ToolContext, ToolResult } from "../../tool.ts";
import { DEFAULT_CAPS, keepTail } from "../../truncation.ts";

export function jobs(_args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const list = context.services?.jobs?.list() ?? [];
  const running = list.filter((job) => job.status === "running").length;
  const text = list.length === 0 ? "No background jobs" : list.map(describeJob).join("\n");
  return Promise.resolve({ content: keepTail(text, DEFAULT_CAPS).text, summary: `${running} running` });
}
