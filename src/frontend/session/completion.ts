interface Ranked {
  /** Shown, and compared with the query. */
  readonly label: string;
  /** Other words to search in; matches come after those of labels. */
  readonly also?: string;
  /** Comes after all others, however well it matches. */
  readonly last?: boolean;
}

export interface Scored<T> {
  readonly item: T;
  readonly score: number;
}

/** Sorts in place, best first; stable. */
export function byScore<T>(found: Scored<T>[]): Scored<T>[] {
  return found.sort((a, b) => a.score - b.score);
}

/**
 * Returns the items that contain the characters of the query in order, with scores (less is better): the
 * same, a prefix, the start of a word, a part, scattered characters; shorter ones first. Case does not
 * matter.
 */
export function scored<T extends Ranked>(items: readonly T[], query: string): Scored<T>[] {
  const wanted = query.toLowerCase();
  const found: Scored<T>[] = [];
  for (const item of items) {
    const score = wanted === "" ? 0 : scoreOf(item.label, wanted) ?? alsoScore(item, wanted);
    if (score !== undefined) found.push({ item, score: item.last ? score + LAST : score });
  }
  return found;
}

/** Scores of one kind of match differ by less. */
export const KIND = 1000;
/** Scores of items that come last. */
export const LAST = 10 * KIND;

function alsoScore({ also }: Ranked, wanted: string): number | undefined {
  return also?.toLowerCase().includes(wanted) ? LAST - 1 : undefined;
}

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

export interface CompletionItem extends Ranked {
  readonly detail?: string;
  /** Replaces the completed part. */
  readonly insert: string;
  /** More can follow: the menu continues with the next list. */
  readonly more?: boolean;
  /** Nothing can follow: Enter inserts it and sends the draft. */
  readonly sends?: boolean;
}

/** The part of a draft that a source completes. */
export interface CompletionMatch {
  /** Start of the completed part; it ends at the caret. */
  readonly from: number;
  /** The part of it that is compared with the items. */
  readonly query: string;
  /** Name of the list to choose from; it is loaded again when the name changes. */
  readonly list: string;
  /** The list depends on the typed text: the last one stays until the next is loaded. */
  readonly grows?: true;
  /** The best item is chosen without the arrow keys: Enter takes it. */
  readonly preselect: boolean;
}

/** A list of items, and whether there are more than it has. */
export interface CompletionList {
  readonly items: readonly CompletionItem[];
  readonly cut?: boolean;
  /** Finds the best of a list that is too long for `items`, which is empty then. */
  readonly search?: (query: string, most: number) => readonly Scored<CompletionItem>[];
}

/**
 * Completes drafts: commands, arguments, files. Sources that match at the same offset share a menu.
 */
export interface CompletionSource {
  /** Matches the end of a text; called after each key, so it looks at the text only. */
  match(before: string): CompletionMatch | undefined;
  /** All items of a list, best first. A rejection means none. */
  items(list: string): Promise<CompletionList>;
}

const MAX_ITEMS = 200;

/** The best items, each text to put in once. */
function best(found: Scored<CompletionItem>[]): CompletionItem[] {
  const items = new Map<string, CompletionItem>();
  for (const { item } of byScore(found)) {
    if (!items.has(item.insert)) items.set(item.insert, item);
    if (items.size === MAX_ITEMS) break;
  }
  return [...items.values()];
}

interface Matched {
  readonly source: CompletionSource;
  readonly match: CompletionMatch;
}

/** The sources for the end of a text that share a menu. */
function matching(sources: readonly CompletionSource[], before: string): readonly Matched[] {
  const matches = sources.flatMap((source) => {
    const match = source.match(before);
    return match ? [{ source, match }] : [];
  });
  return matches.filter(({ match }) => match.from === matches[0]?.match.from);
}

/** The best items of lists for their queries. */
function bestOf(lists: readonly { match: CompletionMatch; list: CompletionList | undefined }[]) {
  return best(
    lists.flatMap(({ match: { query }, list }) =>
      list?.search?.(query, MAX_ITEMS) ?? scored(list?.items ?? [], query)
    ),
  );
}

/** The items for the end of a text once all their lists are loaded, and the start of what they replace. */
export async function completionsOf(
  sources: readonly CompletionSource[],
  before: string,
): Promise<{ readonly from: number; readonly items: readonly CompletionItem[] }> {
  const lists = await Promise.all(
    matching(sources, before).map(async ({ source, match }) => {
      return { match, list: await source.items(match.list).catch(() => undefined) };
    }),
  );
  return { from: lists[0]?.match.from ?? before.length, items: bestOf(lists) };
}

interface Offer {
  readonly match: CompletionMatch;
  readonly items: readonly CompletionItem[];
  readonly cut: boolean;
}

/** The completion menu at the caret. */
export class Completion {
  readonly #sources: readonly CompletionSource[];
  readonly #changed: () => void;
  #lists = new Map<string, CompletionList | "loading">();
  #before = "";
  #offer: Offer | undefined;
  #selected = -1;
  /** Start of the part whose menu was closed with Esc; it stays closed for that part. */
  #leftAt: number | undefined;

  /** `changed` is called when items have come. */
  constructor(sources: readonly CompletionSource[], changed: () => void) {
    this.#sources = sources;
    this.#changed = changed;
  }

  get items(): readonly CompletionItem[] {
    return this.#offer?.items ?? [];
  }

  get cut(): boolean {
    return this.#offer?.cut ?? false;
  }

  get open(): boolean {
    return this.items.length > 0;
  }

  /** Index of the chosen item; -1 for none. */
  get selected(): number {
    return this.#selected;
  }

  /** The selected item, and the start of the part of the draft that it replaces. */
  chosen(): { readonly item: CompletionItem; readonly from: number } | undefined {
    const item = this.items[this.#selected];
    return item && this.#offer ? { item, from: this.#offer.match.from } : undefined;
  }

  /** Typing `/` accepts the selected directory: a prefix of its name was typed, and none has that name. */
  get descends(): boolean {
    const { query = "" } = this.#offer?.match ?? {};
    const chosen = this.items[this.#selected]?.label ?? "";
    const isName = chosen.indexOf("/") === chosen.length - 1;
    return query !== "" && isName && !this.items.some(({ label }) => label === `${query}/`);
  }

  /** Selects the next or previous item, around the ends. */
  step(by: 1 | -1): void {
    const { length } = this.items;
    if (length === 0) return;
    const from = this.#selected < 0 && by < 0 ? 0 : this.#selected;
    this.#selected = (from + by + length) % length;
  }

  /** Closes the menu until something else is completed. */
  leave(): void {
    this.#leftAt = this.#offer?.match.from;
    this.#close();
  }

  /** Opens a closed menu again. */
  reopen(): void {
    this.#leftAt = undefined;
    this.update(this.#before);
  }

  /** Takes the text before the caret after it has changed. */
  update(before: string): void {
    this.#before = before;
    const here = matching(this.#sources, before);
    const [first] = here;
    if (!first || (this.#leftAt !== undefined && first.match.from === this.#leftAt)) {
      if (!first) this.#leftAt = undefined;
      this.#close();
      return;
    }
    this.#leftAt = undefined;
    const lists = here.map(({ source, match }) => ({ match, list: this.#list(source, match) }));
    const found = bestOf(lists);
    const typed = before.slice(first.match.from);
    const isWhole = found.length === 1 && found[0]?.insert.trimEnd() === typed;
    const items = isWhole ? [] : found;
    const isSame = this.#offer?.match.from === first.match.from &&
      this.#offer.match.query === first.match.query && this.#offer.match.list === first.match.list;
    this.#offer = { match: first.match, items, cut: lists.some(({ list }) => list?.cut) };
    if (isSame && this.#selected >= 0) this.#selected = Math.min(this.#selected, items.length - 1);
    else this.#selected = first.match.preselect && items.length > 0 ? 0 : -1;
  }

  #close(): void {
    this.#offer = undefined;
    this.#selected = -1;
    this.#lists.clear();
  }

  /** The loaded list with the longest prefix of a key. */
  #earlier(key: string): CompletionList | undefined {
    let best: [key: string, list: CompletionList] | undefined;
    for (const [each, list] of this.#lists) {
      if (list !== "loading" && key.startsWith(each) && each.length >= (best?.[0].length ?? 0)) {
        best = [each, list];
      }
    }
    return best?.[1];
  }

  #list(source: CompletionSource, { list, grows }: CompletionMatch): CompletionList | undefined {
    const key = `${this.#sources.indexOf(source)} ${list}`;
    const known = this.#lists.get(key);
    if (known === undefined) {
      const lists = this.#lists;
      lists.set(key, "loading");
      const arrived = (found: CompletionList) => {
        if (lists.get(key) !== "loading") return;
        lists.set(key, found);
        this.update(this.#before);
        this.#changed();
      };
      source.items(list).then(arrived, () => arrived({ items: [] }));
    }
    if (known !== undefined && known !== "loading") return known;
    return grows ? this.#earlier(key) : undefined;
  }
}
