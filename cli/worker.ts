import { ReasonixError } from "../src/core/mod.ts";
import { createWorkspace, type WorkspaceOptions } from "../src/sandbox/mod.ts";
import { loadSearchProcess, loadToolProcess, WORKER_FLAG } from "../src/tool/mod.ts";

/** Does the part of the program's work that this process was started for, named by its first argument. */
export async function runWorker(flag: string): Promise<void> {
  const role = flag.slice(WORKER_FLAG.length);
  const port = { input: Deno.stdin.readable, write: (bytes: Uint8Array) => Deno.stdout.writeSync(bytes) };
  const { runSearchProcess, SEARCH_ROLE } = await loadSearchProcess();
  if (role === SEARCH_ROLE) return await runSearchProcess(port);
  const { runToolProcess, TOOL_ROLE } = await loadToolProcess();
  // The data comes from the process that started this one, over its own pipe.
  const paths = (data: unknown) => createWorkspace(data as WorkspaceOptions);
  if (role === TOOL_ROLE) return await runToolProcess({ paths }, port);
  throw new ReasonixError(`Cannot start as "${role}": no such worker`, { exit: "usage" });
}
