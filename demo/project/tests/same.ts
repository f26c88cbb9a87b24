/** Fails unless both values look the same as JSON. */
export function same(actual: unknown, expected: unknown): void {
  const [got, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (got !== wanted) throw new Error(`got ${got}, wanted ${wanted}`);
}
