import type { Jobs } from "../../services/services.ts";
import { failure, type ToolContext, type ToolResult } from "../../tool.ts";
import { DEFAULT_CAPS, keepTail } from "../../truncation.ts";
import { describeJob, jobText } from "./job_text.ts";

export function jobs(_args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const list = context.services?.jobs?.list() ?? [];
  const running = list.filter((job) => job.status === "running").length;
  const text = list.length === 0 ? "No background jobs" : list.map(describeJob).join("\n");
  return Promise.resolve({ content: keepTail(text, DEFAULT_CAPS).text, summary: `${running} running` });
}

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

function unknownJob(id: string, jobs: Jobs | undefined): ToolResult {
  const known = (jobs?.list() ?? []).map((job) => job.id);
  return failure(
    `Cannot find the job ${id}`,
    known.length > 0 ? `known: ${known.join(", ")}` : "there are no jobs",
  );
}
