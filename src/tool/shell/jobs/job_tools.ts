import { message } from "../../../core/mod.ts";
import type { Jobs, JobUpdate, JobView } from "./job_table.ts";
import { cleanText, decodeOutput } from "../output_store.ts";
import { failure, type ToolContext, type ToolResult } from "../../tool.ts";
import { type Cut, DEFAULT_CAPS, keepEnds, keepTail, whereFullText } from "../../truncation.ts";

export function jobs(_args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const list = context.services?.jobs?.list() ?? [];
  const running = list.filter((job) => job.status === "running").length;
  const text = list.length === 0 ? "No background jobs" : list.map(describeJob).join("\n");
  return Promise.resolve({
    content: keepTail(text, DEFAULT_CAPS).text,
    summary: message`${running} running`,
  });
}

export async function jobOutput(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const id = String(args.job_id);
  const jobs = context.services?.jobs;
  const seconds = typeof args.wait_seconds === "number" ? args.wait_seconds : 0;
  if (seconds > 0) await jobs?.ended(id, seconds * 1000, context.signal);
  const update = jobs?.newOutput(id);
  if (!update) return unknownJob(id, jobs);
  const { text, truncated } = jobText(update);
  return {
    content: `${text === "" ? "(no new output)" : text}\n[${describeJob(update.view)}]`,
    summary: `${update.bytes.length} bytes, ${update.view.status}`,
    ...(truncated ? { truncated } : {}),
  };
}

export async function jobKill(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const id = String(args.job_id);
  const jobs = context.services?.jobs;
  const view = await jobs?.kill(id);
  const update = jobs?.newOutput(id);
  if (!view || !update) return unknownJob(id, jobs);
  const { text, truncated } = jobText(update);
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

export function describeJob(job: JobView): string {
  const seconds = (((job.endedAt ?? Date.now()) - job.startedAt) / 1000).toFixed(1);
  const command = job.command.length > 200 ? `${job.command.slice(0, 200)}…` : job.command;
  return `${job.id} ${state(job)} after ${seconds} s: ${command.replaceAll("\n", "⏎")}`;
}

function state(job: JobView): string {
  if (job.status === "running") return "running";
  if (job.status === "killed") return job.reason === undefined ? "killed" : `stopped (${job.reason})`;
  return job.signal === undefined ? `exited with code ${job.exitCode ?? "?"}` : `ended by ${job.signal}`;
}

export function jobText(update: JobUpdate): Cut {
  const { bytes, view, skipped, dropped } = update;
  const after = dropped > 0 ? `\n[${dropped} newer bytes were not kept: the disk is full]` : "";
  const plain = decodeOutput(bytes);
  if (plain === undefined) {
    return { text: `[binary output, ${bytes.length} bytes; in ${view.outputFile}]${after}` };
  }
  const before = skipped > 0 ? `[${skipped} bytes left out; ${whereFullText(view.outputFile)}]\n` : "";
  const totals = { fullText: view.outputFile, totalBytes: skipped + bytes.length };
  const cut = keepEnds(before + cleanText(plain).trimEnd(), DEFAULT_CAPS, totals);
  return { ...cut, text: (cut.text + after).trimStart() };
}
