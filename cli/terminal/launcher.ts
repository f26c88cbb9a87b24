import { attempt } from "../../src/util/lazy.ts";
/** Interval of looking for the processes that wait for this one. */
const POLL_MS = 250;
/** A second request to terminate ends the program at once. */
const AGAIN_MS = 5_000;

/**
 * Follows the processes that started this one and wait for it: the launcher of the npm package, npx and its
 * shell. KILL ends them alone; the program then ends as if it had been asked to terminate. `launcher` is the
 * value of REASONIX_LAUNCHER: `node` or `npm`, the numbers of those processes, and the name of the package.
 * Processes that are started from here do not get it.
 */
export function followLauncher(launcher: string): void {
  const [kind = "", waiting = "", name = ""] = launcher.split(":");
  Deno.env.delete("REASONIX_LAUNCHER");
  // The run of npx is this one.
  Deno.env.delete("npm_command");
  Deno.env.set("REASONIX_LAUNCHED", `${kind}:${Deno.pid}:${name}`);
  const [parent, ...others] = waiting.split(",").filter((word) => /^\d+$/.test(word)).map(Number);
  if (parent === undefined) return;
  let asked = -Infinity;
  Deno.unrefTimer(setInterval(() => {
    if (isParent(parent) && others.every(isRunning)) return;
    if (performance.now() - asked < AGAIN_MS) return;
    asked = performance.now();
    Deno.kill(Deno.pid, "SIGTERM");
  }, POLL_MS));
}

/** On Windows a process keeps the number of its parent when that has ended. */
function isParent(pid: number): boolean {
  return Deno.build.os === "windows" ? isRunning(pid) : Deno.ppid === pid;
}

function isRunning(pid: number): boolean {
  return attempt(() => process.getBuiltinModule("node:process").kill(pid, 0)) ?? false;
}
