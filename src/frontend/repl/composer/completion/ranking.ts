interface Ranked {
  readonly label: string;
  /** Other words that find it, behind those that their labels find. */
  readonly also?: string;
  readonly last?: boolean;
}

/**
 * The items that have the characters of the query in this order, best first: the same, a beginning, the
 * beginning of a word, a part, and scattered characters. Among equals shorter ones come first, then the order
 * that they came in. Case does not matter.
 */
export function ranked<T extends Ranked>(items: readonly T[], query: string): T[] {
  const wanted = query.toLowerCase();
  const scored: { readonly item: T; readonly score: number }[] = [];
  for (const item of items) {
    const score = wanted === "" ? 0 : scoreOf(item.label, wanted) ?? foundBeside(item, wanted);
    if (score !== undefined) scored.push({ item, score: item.last ? score + LAST : score });
  }
  return scored.sort((a, b) => a.score - b.score).map(({ item }) => item);
}

const KIND = 1000;
const LAST = 10 * KIND;

function foundBeside({ also }: Ranked, wanted: string): number | undefined {
  return also?.toLowerCase().includes(wanted) ? LAST - 1 : undefined;
}

/** Less is better; undefined where a character is missing. */
function scoreOf(label: string, wanted: string): number | undefined {
  const text = label.toLowerCase();
  const longer = Math.min(text.length - wanted.length, KIND - 1);
  const at = text.indexOf(wanted);
  if (at === 0) return longer === 0 ? 0 : KIND + longer;
  if (at > 0) {
    const beginsWord = /[^\p{L}\p{N}]$/u.test(text.slice(0, at)) || isCamel(label, at);
    return (beginsWord ? 2 : 3) * KIND + longer;
  }
  let gaps = 0;
  let from = 0;
  for (const character of wanted) {
    const found = text.indexOf(character, from);
    if (found < 0) return undefined;
    if (found > from) gaps++;
    from = found + character.length;
  }
  return 4 * KIND + Math.min(gaps * 20 + longer, KIND - 1);
}

function isCamel(label: string, at: number): boolean {
  return /\p{Lu}/u.test(label[at] ?? "") && /\p{Ll}/u.test(label[at - 1] ?? "");
}
