/** Pairs of lines that are compared; beyond them the lines are taken in order. */
const MAX_PAIRS = 2500;

/** For each new line the index of the removed line that it takes the place of: in order, the most alike. */
export function partnersOf(
  fresh: readonly string[],
  removed: readonly string[],
): readonly (number | undefined)[] {
  if (fresh.length === 1 && removed.length === 1) return [0];
  if (fresh.length * removed.length > MAX_PAIRS) return removed.map((_, index) => index);
  const [a, b] = [fresh.map(wordsOf), removed.map(wordsOf)];
  const likeness = a.map((one) => b.map((other) => alike(one, other)));
  /** The best sum of the new lines from `i` on and the removed ones from `j` on. */
  const best = Array.from({ length: a.length + 1 }, () => new Float64Array(b.length + 1));
  const at = (i: number, j: number) => best[i]?.[j] ?? 0;
  const paired = (i: number, j: number) => (likeness[i]?.[j] ?? 0) + at(i + 1, j + 1);
  for (let i = a.length - 1; i >= 0; i--) {
    const row = best[i] ?? new Float64Array();
    for (let j = b.length - 1; j >= 0; j--) row[j] = Math.max(at(i + 1, j), at(i, j + 1), paired(i, j));
  }
  const partners: (number | undefined)[] = fresh.map(() => undefined);
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (at(i, j) === paired(i, j) && (likeness[i]?.[j] ?? 0) > 0) partners[i++] = j++;
    else if (at(i, j) === at(i, j + 1)) j++;
    else i++;
  }
  return partners;
}

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.match(/[\p{L}\p{N}\p{M}_]+|[^\s]/gu));
}

/** 1 for the same words and signs; 0 where less than half of them are. */
function alike(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  const share = 2 * one.intersection(other).size / Math.max(one.size + other.size, 1);
  return share < 0.5 ? 0 : share;
}
