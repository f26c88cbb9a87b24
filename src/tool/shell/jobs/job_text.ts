import type { JobNews, JobView } from "../../services/services.ts";
import { type Cut, DEFAULT_CAPS, keepEnds, whereFullText } from "../../truncation.ts";
import { cleanText } from "../clean_text.ts";
import { decodeOutput } from "../decode_output.ts";

/** One line about a job. */
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

/** New output as the model reads it. */
export function jobText(news: JobNews): Cut {
  const { bytes, view, skipped, dropped } = news;
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
