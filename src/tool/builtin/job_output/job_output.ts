import { describeJob, jobText } from "../../shell/job_text.ts";
import { unknownJob } from "../../shell/unknown_job.ts";
import type { ToolContext, ToolResult } from "../../tool.ts";

export async function jobOutput(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const id = String(args.job_id);
  const jobs = context.services?.jobs;
  const seconds = typeof args.wait_seconds === "number" ? args.wait_seconds : 0;
  if (seconds > 0) await jobs?.ended(id, seconds * 1000, context.signal);
  const news = jobs?.news(id);
  if (!news) return unknownJob(id, jobs);
  const { text, truncated } = jobText(news);
  return {
    content: `${text === "" ? "(no new output)" : text}\n[${describeJob(news.view)}]`,
    summary: `${news.bytes.length} bytes, ${news.view.status}`,
    ...(truncated ? { truncated } : {}),
  };
}
