import { describeJob, jobText } from "../../shell/job_text.ts";
import { unknownJob } from "../../shell/unknown_job.ts";
import type { ToolContext, ToolResult } from "../../tool.ts";

export async function jobKill(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const id = String(args.job_id);
  const jobs = context.services?.jobs;
  const view = await jobs?.kill(id);
  const news = jobs?.news(id);
  if (!view || !news) return unknownJob(id, jobs);
  const { text, truncated } = jobText(news);
  return {
    content: [describeJob(view), ...(text === "" ? [] : [text])].join("\n"),
    summary: view.status,
    ...(truncated ? { truncated } : {}),
  };
}
