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
  return byScore(scored(items, query)).map(({ item }) => item);
}

/** An item that a query finds; a lower score is better. */
export interface Scored<T> {
  readonly item: T;
  readonly score: number;
}

export function byScore<T>(found: Scored<T>[]): Scored<T>[] {
  return found.sort((a, b) => a.score - b.score);
}

/** The items that {@linkcode ranked} finds, in their own order. */
export function scored<T extends Ranked>(items: readonly T[], query: string): Scored<T>[] {
  const wanted = query.toLowerCase();
  const found: Scored<T>[] = [];
  for (const item of items) {
    const score = wanted === "" ? 0 : scoreOf(item.label, wanted) ?? foundBeside(item, wanted);
    if (score !== undefined) found.push({ item, score: item.last ? score + LAST : score });
  }
  return found;
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

function beginsWord(label: string, at: number): boolean {
  const [code, next] = [label.charCodeAt(at - 1), label.charCodeAt(at)];
  // The patterns of Unicode cost too much for 100,000 paths.
  if (code < 128 && next < 128) return !isWordCode(code) || (isUpperCode(next) && isLowerCode(code));
  const before = label[at - 1] ?? " ";
  return /[^\p{L}\p{N}]/u.test(before) || (/\p{Lu}/u.test(label[at] ?? "") && /\p{Ll}/u.test(before));
}

const isUpperCode = (code: number) => code >= 65 && code <= 90;
const isLowerCode = (code: number) => code >= 97 && code <= 122;
const isWordCode = (code: number) => isUpperCode(code) || isLowerCode(code) || (code >= 48 && code <= 57);

/**
 * The paths of a tree, found by their names first, then by their directories, then by scattered characters.
 *
 * A search of 100,000 paths takes a few milliseconds: what a query of one more character finds is among what
 * the query before has found.
 */
export class PathIndex {
  readonly #paths: string[] = [];
  readonly #lower: string[] = [];
  readonly #letters: number[] = [];
  /** Offsets of the names. */
  readonly #names: number[] = [];
  #earlier: { readonly query: string; readonly found: readonly number[] } | undefined;

  get size(): number {
    return this.#paths.length;
  }

  /** Adds a path; that of a directory ends with a slash. */
  add(path: string): void {
    const lower = path.toLowerCase();
    // Lengths stay the same, so that offsets count for both.
    this.#lower.push(lower.length === path.length ? lower : path);
    this.#paths.push(path);
    this.#names.push(path.lastIndexOf("/", path.length - 2) + 1);
    this.#letters.push(lettersOf(lower));
    this.#earlier = undefined;
  }

  /** At most so many paths, best first. */
  search(query: string, most: number): Scored<string>[] {
    const wanted = query.toLowerCase();
    if (wanted === "") return [];
    const letters = lettersOf(wanted);
    const { query: before = "", found: among } = this.#earlier ?? {};
    const narrowed = before !== "" && wanted.startsWith(before) ? among : undefined;
    const found: number[] = [];
    let best: Scored<string>[] = [];
    let bar = LAST;
    const count = narrowed?.length ?? this.#paths.length;
    for (let at = 0; at < count; at++) {
      const index = narrowed?.[at] ?? at;
      if (((this.#letters[index] ?? 0) & letters) !== letters) continue;
      const path = this.#paths[index] ?? "";
      const score = pathScore(path, this.#lower[index] ?? "", this.#names[index] ?? 0, wanted);
      if (score === undefined) continue;
      found.push(index);
      if (score >= bar) continue;
      best.push({ item: path, score });
      if (best.length < most * 8) continue;
      best = byScore(best).slice(0, most);
      bar = best.at(-1)?.score ?? LAST;
    }
    this.#earlier = { query: wanted, found };
    return byScore(best).slice(0, most);
  }
}

/** The letters and digits of a text as bits. */
function lettersOf(text: string): number {
  let letters = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 97 && code <= 122) letters |= 1 << (code - 97);
    else if (code >= 48 && code <= 57) letters |= 1 << 26;
    else if (code > 127) letters |= 1 << 27;
  }
  return letters;
}

/** As `scoreOf`; {@linkcode LAST} where the characters are there, but scattered too much to be meant. */
function pathScore(path: string, lower: string, name: number, wanted: string): number | undefined {
  const longer = Math.min(lower.length - wanted.length, KIND - 1);
  if (longer < 0) return undefined;
  const inName = lower.indexOf(wanted, wanted.includes("/") ? 0 : name);
  if (inName >= 0) {
    const left = lower.length - inName - wanted.length;
    if (inName === name && (left === 0 || (left === 1 && lower.endsWith("/")))) return longer;
    const kind = inName === name || inName === 0 ? 1 : beginsWord(path, inName) ? 2 : 3;
    return kind * KIND + longer;
  }
  if (lower.includes(wanted)) return 3 * KIND + Math.min(KIND / 2 + longer, KIND - 1);
  const nameGaps = gapsOf(path, lower, wanted, name);
  const gaps = nameGaps ?? gapsOf(path, lower, wanted, 0);
  if (gaps === undefined) return undefined;
  if (gaps > wanted.length / 2) return LAST;
  return (nameGaps === undefined ? 5 : 4) * KIND + Math.min(gaps * 20 + longer, KIND - 1);
}

/** How often characters were skipped in the middle of a word; undefined where a character is missing. */
function gapsOf(path: string, lower: string, wanted: string, start: number): number | undefined {
  let gaps = 0;
  let from = start;
  for (let index = 0; index < wanted.length; index++) {
    const at = lower.indexOf(wanted[index] ?? "", from);
    if (at < 0) return undefined;
    if (at > from && !beginsWord(path, at)) gaps++;
    from = at + 1;
  }
  return gaps;
}
