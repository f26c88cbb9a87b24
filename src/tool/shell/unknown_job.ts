import type { Jobs } from "../services/services.ts";
import { failure, type ToolResult } from "../tool.ts";

export function unknownJob(id: string, jobs: Jobs | undefined): ToolResult {
  const known = (jobs?.list() ?? []).map((job) => job.id);
  return failure(
    `Cannot find the job ${id}`,
    known.length > 0 ? `known: ${known.join(", ")}` : "there are no jobs",
  );
}
