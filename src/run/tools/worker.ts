import type { WorkspaceOptions } from "../../sandbox/mod.ts";

/**
 * Does the part of an agent's work that this process was started for, named by its first argument. Returns
 * false where that names none. A program that is bundled or compiled together with this library starts itself
 * for such work, so it calls this with its arguments before it does anything else.
 */
export async function runWorker(args: readonly string[]): Promise<boolean> {
  const { runWorkerProcess } = await import("../../tool/host/worker_process.ts");
  const port = { input: standardInput(), write: (bytes: Uint8Array) => Deno.stdout.writeSync(bytes) };
  // The data comes from the process that started this one, over its own pipe.
  const paths = async (data: unknown) =>
    (await import("../../sandbox/mod.ts")).createWorkspace(data as WorkspaceOptions);
  return await runWorkerProcess(args, { port, paths });
}

/** Reads standard input without streams, which would make the start slower. */
async function* standardInput(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const buffer = new Uint8Array(64 << 10);
  for (let count; (count = await Deno.stdin.read(buffer)) !== null;) yield buffer.subarray(0, count);
}
