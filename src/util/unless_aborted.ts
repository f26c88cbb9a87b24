/**
 * Waits for a value, but no longer than until the signal aborts: then it rejects with the signal's reason, and
 * what was waited for goes on.
 */
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
