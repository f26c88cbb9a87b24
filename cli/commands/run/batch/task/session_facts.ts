import { type ExitName, NO_SPENDING, type Spending } from "../../../../../src/core/mod.ts";
import { loadEvents, type SessionPaths, type SessionState } from "../../../../../src/session/mod.ts";
import { isFile } from "../../../../../src/path/probe.ts";
import { FileLock } from "../../../../../src/util/lock.ts";

/** A run whose batch was killed is gone by then. */
const BUSY_MS = 10_000;

/** How a run of a task ended. */
export interface TaskOutcome {
  readonly reason: ExitName;
  readonly answer: string;
  readonly error?: string;
}

/** What is known of the session of a task. */
export interface SessionFacts {
  readonly exists: boolean;
  /** It holds a turn, whatever became of it. */
  readonly begun: boolean;
  /** The end that its last turn came to, when that was an answer. */
  readonly done?: TaskOutcome;
  readonly spending: Spending;
  readonly durationMs: number;
  readonly model?: string | undefined;
}

/** What the log of a session says; of one that does not exist, nothing. */
export function stateOf({ path }: SessionPaths): SessionFacts {
  const state = isFile(path) ? readState(path) : undefined;
  if (state?.session === undefined) {
    return { exists: false, begun: false, spending: NO_SPENDING, durationMs: 0 };
  }
  const last = state.turns.at(-1);
  const { usage, costs, unpriced, durationMs, model } = state;
  return {
    exists: true,
    begun: last !== undefined,
    spending: { usage, costs, unpriced },
    durationMs,
    model,
    ...(last?.reason === "done" ? { done: { reason: "done", answer: last.answer ?? "" } } : {}),
  };
}

function readState(path: string): SessionState | undefined {
  try {
    return loadEvents(path, undefined, "messages").state;
  } catch {
    return undefined;
  }
}

/** Waits until nobody writes the session: the run of a batch that was killed ends a moment after it. */
export async function released({ lock }: SessionPaths, signal: AbortSignal): Promise<void> {
  if (!isFile(lock)) return;
  for (const end = performance.now() + BUSY_MS; performance.now() < end && !signal.aborted;) {
    const taken = FileLock.tryAcquire(lock);
    if (taken.held) return taken.lock.release();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Money in whatever currency. */
export function amountOf({ costs }: Spending): number {
  return Object.values(costs).reduce((sum, each) => sum + each, 0);
}
