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
