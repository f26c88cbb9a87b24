import type { ShellStarter } from "../services/services.ts";
import type { SpawnPlan } from "../services/services.ts";
import { type SessionOptions, spawnSession } from "./spawn_session.ts";

/** A shell reads its command byte by byte; from here on starting another one is faster. */
const LONGEST = 2000;

interface Waiting {
  readonly child: Deno.ChildProcess;
  readonly input: WritableStreamDefaultWriter<Uint8Array>;
  readonly key: string;
}

/**
 * One shell that was started ahead and waits for its command, because starting it takes longer than most
 * commands take. It runs that one command and ends with it. Nothing of a command can reach the next one.
 *
 * Contract: the shell that waits ends at disposal, and whenever the program does, since its input closes
 * then.
 */
export class SpareShell implements ShellStarter, AsyncDisposable {
  #waiting: Waiting | undefined;
  #over = false;

  run(command: string, plan: SpawnPlan, options: SessionOptions): Deno.ChildProcess | undefined {
    const key = keyOf(plan, options.cwd);
    const fits = this.#waiting?.key === key && command.length <= LONGEST;
    const ready = fits ? this.#waiting : undefined;
    if (ready) {
      this.#waiting = undefined;
      ready.child.ref();
      // Should it have died just now, its end tells.
      ready.input.write(new TextEncoder().encode(`${command}\0`)).then(() => ready.input.close())
        .catch(() => {});
    }
    // While the command runs nothing else is to be done.
    if (key !== undefined && !this.#over && this.#waiting?.key !== key) this.#prepare(plan, options, key);
    return ready?.child;
  }

  #prepare(plan: SpawnPlan, options: SessionOptions, key: string): void {
    void this.#discard();
    try {
      const child = spawnSession(plan, { ...options, stdin: "piped" });
      child.unref();
      const waiting: Waiting = { child, input: child.stdin.getWriter(), key };
      this.#waiting = waiting;
      void child.status.then(() => this.#waiting === waiting ? this.#discard() : undefined);
    } catch {
      // The next command starts its own shell, or says why it cannot.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over = true;
    await this.#discard();
  }

  async #discard(): Promise<void> {
    if (!this.#waiting) return;
    const { child, input } = this.#waiting;
    this.#waiting = undefined;
    child.ref();
    try {
      child.kill("SIGKILL");
    } catch {
      // It has ended already.
    }
    await Promise.allSettled([input.abort(), child.stdout.cancel(), child.stderr.cancel(), child.status]);
  }
}

/**
 * Returns what makes two shells the same: how they were started, and the directory itself, which may be a new
 * one of the same name.
 */
function keyOf(plan: SpawnPlan, cwd: string): string | undefined {
  try {
    const { dev, ino } = Deno.statSync(cwd);
    return JSON.stringify([plan, cwd, dev, ino]);
  } catch {
    return undefined;
  }
}
