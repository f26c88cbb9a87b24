/** Makes a function that does its work when it is first called and returns the same promise from then on. */
export function lazy<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => loading ??= load();
}

/** Returns the result of some work; undefined where it throws. */
export function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
