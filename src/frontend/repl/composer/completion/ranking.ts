interface Ranked {
  readonly label: string;
  /** Other words that find it, behind those that their labels find. */
  readonly also?: string;
  readonly last?: boolean;
}

/** An item that a query finds; a lower score is better. */
export interface Scored<T> {
  readonly item: T;
  readonly score: number;
}

/** Best first; equals stay in their order. */
export function byScore<T>(found: Scored<T>[]): Scored<T>[] {
  return found.sort((a, b) => a.score - b.score);
}

/**
 * The items that have the characters of the query in this order, each with its score: the same, a beginning,
 * the beginning of a word, a part, and scattered characters. Among equals shorter ones come first. Case does
 * not matter.
 */
export function scored<T extends Ranked>(items: readonly T[], query: string): Scored<T>[] {
  const wanted = query.toLowerCase();
  const found: Scored<T>[] = [];
  for (const item of items) {
    const score = wanted === "" ? 0 : scoreOf(item.label, wanted) ?? foundBeside(item, wanted);
    if (score !== undefined) found.push({ item, score: item.last ? score + LAST : score });
  }
  return found;
}

/** Scores of one kind of match differ by less. */
export const KIND = 1000;
/** Scores from here on stand for what comes last. */
export const LAST = 10 * KIND;

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
    return (beginsWord(label, at) ? 2 : 3) * KIND + longer;
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

/** Reports whether a word begins at an offset: after a sign, or with an upper-case letter. */
export function beginsWord(label: string, at: number): boolean {
  const [code, next] = [label.charCodeAt(at - 1), label.charCodeAt(at)];
  // The patterns of Unicode cost too much for 100,000 paths.
  if (code < 128 && next < 128) return !isWordCode(code) || (isUpperCode(next) && isLowerCode(code));
  const before = label[at - 1] ?? " ";
  return /[^\p{L}\p{N}]/u.test(before) || (/\p{Lu}/u.test(label[at] ?? "") && /\p{Ll}/u.test(before));
}

const isUpperCode = (code: number) => code >= 65 && code <= 90;
const isLowerCode = (code: number) => code >= 97 && code <= 122;
const isWordCode = (code: number) => isUpperCode(code) || isLowerCode(code) || (code >= 48 && code <= 57);
