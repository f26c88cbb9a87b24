import { usageError } from "../../core/mod.ts";
import type { WorkspacePolicy } from "../tool.ts";
import { type LinePort, WORKER_FLAG } from "./worker.ts";

export interface WorkerDeps {
  readonly port: LinePort;
  readonly paths: (data: unknown) => Promise<WorkspacePolicy>;
}

/** Runs the role named by the first argument, and loads only its code; false where it names none. */
export async function runWorkerProcess(
  [flag = ""]: readonly string[],
  { port, paths }: WorkerDeps,
): Promise<boolean> {
  if (!flag.startsWith(WORKER_FLAG)) return false;
  const role = flag.slice(WORKER_FLAG.length);
  if (role === "tools") {
    const { runToolProcess } = await import("./tool_process.ts");
    await runToolProcess({ paths }, port);
  } else if (role === "search") {
    const { runSearchProcess } = await import("../search/fallback_scan.ts");
    await runSearchProcess(port);
  } else if (role === "schema") {
    const { runSchemaProcess } = await import("./schema_check.ts");
    await runSchemaProcess(port);
  } else throw usageError(`Cannot start as "${role}": no such worker`);
  return true;
}
