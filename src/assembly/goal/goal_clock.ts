import { after } from "../../util/timer.ts";

/** Tells the time of a goal and waits between its turns. */
export interface GoalClock {
  /** Milliseconds, monotonic. */
  now(): number;
  /** Milliseconds since 1970. */
  date(): number;
  /** Contract: resolves early when the signal aborts; never rejects. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export const REAL_CLOCK: GoalClock = {
  now: () => performance.now(),
  date: () => Date.now(),
  wait: (ms, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const cancel = after(ms, done);
      function done(): void {
        cancel();
        signal.removeEventListener("abort", done);
        resolve();
      }
      signal.addEventListener("abort", done, { once: true });
    }),
};
