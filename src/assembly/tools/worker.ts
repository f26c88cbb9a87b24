import { ReasonixError } from "../../core/mod.ts";
import { createWorkspace, type WorkspaceOptions } from "../../sandbox/mod.ts";
import { loadSearchProcess, loadToolProcess, WORKER_FLAG } from "../../tool/mod.ts";

/**
 * Does the part of an agent's work that this process was started for, named by its first argument. Returns
 * false where that names none. A program that is bundled or compiled together with this library starts itself
 * for such work, so it calls this with its arguments before it does anything else.
 */
export async function runWorker(args: readonly string[]): Promise<boolean> {
  const [flag = ""] = args;
  if (!flag.startsWith(WORKER_FLAG)) return false;
  const role = flag.slice(WORKER_FLAG.length);
  const port = { input: Deno.stdin.readable, write: (bytes: Uint8Array) => Deno.stdout.writeSync(bytes) };
  const { runSearchProcess, SEARCH_ROLE } = await loadSearchProcess();
  const { runToolProcess, TOOL_ROLE } = await loadToolProcess();
  // The data comes from the process that started this one, over its own pipe.
  const paths = (data: unknown) => createWorkspace(data as WorkspaceOptions);
  if (role === SEARCH_ROLE) await runSearchProcess(port);
  else if (role === TOOL_ROLE) await runToolProcess({ paths }, port);
  else throw new ReasonixError(`Cannot start as "${role}": no such worker`, { exit: "usage" });
  return true;
}
