/** How often the end of the process that waits for this one is looked for. */
const POLL_MS = 250;
/** A second request to terminate ends the program at once. */
const AGAIN_MS = 5_000;

/**
 * Follows the process that started this one and waits for it: the launcher of the npm package, or npx. KILL
 * ends it alone; the program then ends as if it had been asked to terminate. `launcher` is the value of
 * REASONIX_LAUNCHER, `node` or `npm` and the number of that process, which is empty if the launcher became
 * this process. Processes started from here get neither.
 */
export function followLauncher(launcher: string): void {
  const [kind = "", parent = ""] = launcher.split(":");
  Deno.env.delete("REASONIX_LAUNCHER");
  // The run of npx is this one.
  Deno.env.delete("npm_command");
  Deno.env.set("REASONIX_LAUNCHED", `${kind}:${Deno.pid}`);
  if (!/^\d+$/.test(parent)) return;
  let asked = -Infinity;
  Deno.unrefTimer(setInterval(() => {
    if (isWaiting(Number(parent)) || performance.now() - asked < AGAIN_MS) return;
    asked = performance.now();
    Deno.kill(Deno.pid, "SIGTERM");
  }, POLL_MS));
}

/** On Windows a process keeps the number of its parent when that has ended. */
function isWaiting(parent: number): boolean {
  if (Deno.build.os !== "windows") return Deno.ppid === parent;
  try {
    return process.getBuiltinModule("node:process").kill(parent, 0);
  } catch {
    return false;
  }
}
