/** Entry of worker processes that touch no file of the workspace, when the program runs from its sources. */
import { runWorkerProcess } from "./worker_process.ts";

await runWorkerProcess(Deno.args, {
  port: { input: Deno.stdin.readable, write: (bytes) => Deno.stdout.writeSync(bytes) },
  paths: () => Promise.reject(new Error("This process has no workspace")),
});
