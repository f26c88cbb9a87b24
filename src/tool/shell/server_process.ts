import type { ProcessGuard, SpawnPlan } from "../services/services.ts";
import { spawnSession } from "./spawn_session.ts";

/** Time that a server may take to end once its input is closed, and again after TERM. */
const GRACE_MS = 500;
const POLL_MS = 10;
const WINDOWS = Deno.build.os === "windows";

/** A server that runs on its standard streams, in a session and process group of its own. */
export class ServerProcess {
  readonly child: Deno.ChildProcess;
  readonly #guard: ProcessGuard | undefined;
  /** It has ended, and nothing of its group is left. */
  #gone = false;

  constructor(child: Deno.ChildProcess, guard: ProcessGuard | undefined) {
    this.child = child;
    this.#guard = guard;
    guard?.add(child.pid);
  }

  /**
   * Waits for the process to end by itself, then asks its group to end, then ends it. Resolves when nothing
   * of the group is left.
   */
  async end(graceMs = GRACE_MS): Promise<void> {
    if (this.#gone) return;
    const group = this.child.pid;
    await until(() => !alive(group), graceMs);
    if (alive(group)) {
      signalGroup(group, "SIGTERM");
      await until(() => !alive(group), GRACE_MS);
    }
    if (alive(group)) signalGroup(group, "SIGKILL");
    await this.child.status;
    this.#gone = true;
    this.#guard?.remove(group);
  }
}

/** Starts a server; throws what the system says where it cannot be started. */
export function startServer(
  plan: SpawnPlan,
  { cwd, guard }: { readonly cwd: string; readonly guard: ProcessGuard | undefined },
): ServerProcess {
  guard?.start();
  return new ServerProcess(spawnSession(plan, { cwd, guard, stdin: "piped" }), guard);
}

async function until(done: () => boolean, ms: number): Promise<void> {
  const end = performance.now() + ms;
  while (!done() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
}

/** SIGCONT does nothing to processes that run, and fails when there are none. */
function alive(group: number): boolean {
  return signalGroup(group, "SIGCONT");
}

function signalGroup(group: number, signal: Deno.Signal): boolean {
  try {
    Deno.kill(WINDOWS ? group : -group, signal);
    return true;
  } catch {
    return false;
  }
}
