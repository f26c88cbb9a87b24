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

/** A value that is loaded when it is first wanted; undefined until `loaded` is called, and if that fails. */
export function eventual<T>(load: () => Promise<T>, loaded: () => void): () => T | undefined {
  let value: T | undefined;
  const begin = lazy(() =>
    load().then((result) => {
      value = result;
      loaded();
    }, () => {})
  );
  return () => {
    void begin();
    return value;
  };
}
