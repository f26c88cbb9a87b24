/** Edit distance with neighbouring swaps counted as one, cut off above `limit`. */
function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let best = Math.min(
        (previous[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (previous[j - 1] ?? 0) + (same ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, (before[j - 2] ?? 0) + 1);
      }
      row.push(best);
    }
    before = previous;
    previous = row;
  }
  return previous[b.length] ?? limit + 1;
}

/** The names a person may have meant by `name`, nearest first, at most `count`. Case does not matter. */
export function suggestNames(name: string, known: Iterable<string>, count = 3): string[] {
  const wanted = name.toLowerCase();
  const limit = Math.min(4, Math.floor(wanted.length / 3));
  const scored: { name: string; score: number }[] = [];
  for (const candidate of known) {
    const other = candidate.toLowerCase();
    const contains = wanted.length >= 3 &&
      (other.includes(wanted) || (other.length >= 3 && wanted.includes(other)));
    const score = other === wanted
      ? 0
      : Math.min(distance(wanted, other, limit), contains ? limit : limit + 1);
    if (score <= limit) scored.push({ name: candidate, score });
  }
  scored.sort((a, b) => a.score - b.score || (a.name < b.name ? -1 : 1));
  return scored.slice(0, count).map((entry) => entry.name);
}
