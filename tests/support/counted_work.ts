type Method = (this: unknown, ...given: never[]) => unknown;

/** Reading a character, and putting a state on a list or taking it off. */
const COUNTED = [[String.prototype, ["charAt", "charCodeAt"]], [Array.prototype, ["push", "pop"]]] as const;

/**
 * Counts the calls of the methods by which matchers go through texts and states, until it is disposed of:
 * their work, which is the same on every machine and under any load. What happens within a regular expression
 * is not counted.
 */
export function countWork(): Disposable & { readonly steps: number } {
  let steps = 0;
  const undo: (() => void)[] = [];
  for (const [owner, names] of COUNTED) {
    const methods = owner as unknown as Record<string, Method | undefined>;
    for (const name of names) {
      const method = methods[name];
      if (!method) throw new TypeError(`There is no method ${name}`);
      undo.push(() => methods[name] = method);
      methods[name] = function (...given) {
        steps++;
        return method.apply(this, given);
      };
    }
  }
  return {
    get steps() {
      return steps;
    },
    [Symbol.dispose]() {
      for (const each of undo) each();
    },
  };
}
