/** A line within this time of a question, in ms, was typed before it. */
export const READING_MS = 300;

/**
 * Calls `task` once after `ms` milliseconds; the returned function cancels it. The first `setTimeout` of a
 * process loads a module for 6–7 ms; this costs a tenth.
 */
export function after(ms: number, task: () => void): () => void {
  const signal = AbortSignal.timeout(ms);
  signal.addEventListener("abort", task, { once: true });
  return () => signal.removeEventListener("abort", task);
}

/** Waits for a value until the signal aborts, and rejects with its reason then; the work continues. */
export async function unlessAborted<T>(value: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal?.reason);
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted) stop();
  try {
    return await Promise.race([promise, value]);
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

/** Waits for `work`, but at most `ms` milliseconds; the work then continues. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const clear = after(ms, late.resolve);
  await Promise.race([work, late.promise]).finally(clear);
}

/** Milliseconds, monotonic, and a timer; for tests another one. */
export interface Clock {
  now(): number;
  after(ms: number, task: () => void): void;
}

export const CLOCK: Clock = { now: () => performance.now(), after };

/** Does a task at once, and then at most once per interval. */
export class Pace {
  readonly #ms: number;
  readonly #task: () => void;
  readonly #clock: Clock;
  #at = -Infinity;
  #isDue = false;

  constructor(ms: number, task: () => void, clock: Clock = CLOCK) {
    [this.#ms, this.#task, this.#clock] = [ms, task, clock];
  }

  /** There is something to do. */
  touch(): void {
    const wait = this.#at + this.#ms - this.#clock.now();
    if (wait <= 0) return this.#run();
    if (this.#isDue) return;
    this.#isDue = true;
    this.#clock.after(Math.ceil(wait), () => {
      this.#isDue = false;
      this.#run();
    });
  }

  #run(): void {
    this.#at = this.#clock.now();
    this.#task();
  }
}
