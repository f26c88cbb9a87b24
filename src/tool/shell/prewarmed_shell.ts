import type { NextShell, ShellStarter } from "../services/services.ts";
import { spawnSession } from "./spawn_session.ts";

/** A shell reads its command byte by byte; from here on starting another one is faster. */
const LONGEST = 2000;

/** What waits for longer than this is not worth its memory. */
const IDLE_MS = 60_000;

/**
 * What changed less than this before it was looked at may change again without a new time, since the times of
 * files advance in ticks: of some milliseconds, or of a second or two where there are only whole seconds.
 */
const SETTLED_MS = 20;
const SETTLED_COARSE_MS = 2100;

interface Waiting {
  readonly child: Deno.ChildProcess;
  readonly input: WritableStreamDefaultWriter<Uint8Array>;
  readonly key: string;
  readonly since: number;
}

/**
 * One shell that was started ahead and waits for its command, because starting it takes longer than most
 * commands take: with a jail, in that jail. It runs that one command and ends with it. Nothing of a command
 * can reach the next one.
 *
 * Contract: a shell is only used where one that is started now would be the same in every respect (see
 * {@linkcode WaitingPlan}). The shell that waits ends after a minute, at disposal, and whenever the program
 * does, since its input closes then.
 */
export class PrewarmedShell implements ShellStarter, AsyncDisposable {
  #waiting: Waiting | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #over = false;

  run(command: string, wanted: () => NextShell): Deno.ChildProcess | undefined {
    clearTimeout(this.#timer);
    const waiting = this.#waiting;
    if (!waiting || command.length > LONGEST) return undefined;
    if (waiting.key !== keyOf(wanted())) {
      void this.#discard();
      return undefined;
    }
    this.#waiting = undefined;
    waiting.child.ref();
    // Should it have died just now, its end tells.
    waiting.input.write(new TextEncoder().encode(`${command}\0`)).then(() => waiting.input.close())
      .catch(() => {});
    return waiting.child;
  }

  get waits(): boolean {
    return this.#waiting !== undefined;
  }

  prepare(next: () => NextShell | undefined, inMs = 0): void {
    clearTimeout(this.#timer);
    if (this.#over) return;
    if (inMs > 0) return this.#later(() => this.prepare(next), inMs);
    const wanted = possible(next);
    const key = wanted && keyOf(wanted);
    if (this.#waiting && this.#waiting.key === key) return this.#endLater();
    void this.#discard();
    if (!wanted || key === undefined) return;
    const soon = unsettledFor(wanted.plan.changed);
    if (soon > 0) return this.#later(() => this.prepare(next), soon);
    this.#start(wanted, key);
    this.#endLater();
  }

  #start({ plan, cwd, guard }: NextShell, key: string): void {
    try {
      const child = spawnSession(plan, { cwd, guard, stdin: "piped" });
      child.unref();
      const waiting: Waiting = { child, input: child.stdin.getWriter(), key, since: Date.now() };
      this.#waiting = waiting;
      void child.status.then(() => this.#waiting === waiting ? this.#discard() : undefined);
    } catch {
      // The next command starts its own shell, or says why it cannot.
    }
  }

  #endLater(): void {
    const age = this.#waiting ? Date.now() - this.#waiting.since : 0;
    this.#later(() => void this.#discard(), Math.max(0, IDLE_MS - age));
  }

  #later(work: () => void, ms: number): void {
    this.#timer = setTimeout(work, ms);
    Deno.unrefTimer(this.#timer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over = true;
    clearTimeout(this.#timer);
    await this.#discard();
  }

  async #discard(): Promise<void> {
    if (!this.#waiting) return;
    const { child, input } = this.#waiting;
    this.#waiting = undefined;
    child.ref();
    for (const target of [-child.pid, child.pid]) {
      try {
        Deno.kill(target, "SIGKILL");
      } catch {
        // It has ended already, or is no group yet.
      }
    }
    await Promise.allSettled([input.abort(), child.stdout.cancel(), child.stderr.cancel(), child.status]);
  }
}

/** What cannot be prepared is left to the command, which says why it cannot run. */
function possible(next: () => NextShell | undefined): NextShell | undefined {
  try {
    return next();
  } catch {
    return undefined;
  }
}

function unsettledFor(changed: number): number {
  const needed = changed % 1000 === 0 ? SETTLED_COARSE_MS : SETTLED_MS;
  return changed === 0 ? 0 : changed + needed - Date.now();
}

/**
 * Returns what makes two shells the same: how they were started and what their jail rests on, and the
 * directory itself, which may be a new one of the same name.
 */
function keyOf({ plan: { command, args, env, basis }, cwd }: NextShell): string | undefined {
  try {
    const { dev, ino } = Deno.statSync(cwd);
    return JSON.stringify([command, args, env, basis, cwd, dev, ino]);
  } catch {
    return undefined;
  }
}
