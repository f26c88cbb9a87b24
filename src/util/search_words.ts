/** Scripts without spaces: each character becomes a word, and queries look for pairs. */
const CJK = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}";
const CJK_CHARACTER = new RegExp(`[${CJK}]`, "gu");
const CJK_ANY = new RegExp(`[${CJK}]`, "u");
const TERM = new RegExp(`[${CJK}]+|(?:(?![${CJK}])[\\p{L}\\p{N}\\p{M}])+`, "gu");

const HEAD = 12_000;
const TAIL = 4_000;

/** Text as the full-text index takes it. */
export function indexable(text: string): string {
  const cut = text.length > HEAD + TAIL ? `${text.slice(0, HEAD)}\n${text.slice(-TAIL)}` : text;
  return CJK_ANY.test(cut) ? cut.replace(CJK_CHARACTER, " $& ") : cut;
}

/** The words of a query: what counts as a hit in a snippet. */
export function termsOf(query: string): string[] {
  return [...new Set([...query.matchAll(TERM)].map(([term]) => term.toLowerCase()))];
}

/** The query in FTS5's language: any of the words, nothing in it interpreted. Empty when it has no word. */
export function matchExpression(query: string): string {
  return termsOf(query).flatMap((term) => {
    if (!CJK_ANY.test(term)) return [`"${term}"`];
    const characters = [...term];
    if (characters.length === 1) return [`"${term}"`];
    return characters.slice(1).map((character, i) => `"${characters[i]} ${character}"`);
  }).join(" OR ");
}

/** The part of a text with most of the words close together, on one line. */
export function snippet(text: string, terms: readonly string[], width = 240): string {
  const lower = text.toLowerCase();
  const locations: { at: number; term: string }[] = [];
  for (const term of terms) {
    for (let at = lower.indexOf(term), n = 0; at >= 0 && n < 50; at = lower.indexOf(term, at + 1), n++) {
      locations.push({ at, term });
    }
  }
  locations.sort((a, b) => a.at - b.at);
  let best = { at: 0, count: 0 };
  for (const { at } of locations) {
    const inside = locations.filter((location) => location.at >= at && location.at < at + width * 0.8);
    const count = new Set(inside.map(({ term }) => term)).size;
    if (count > best.count) best = { at, count };
  }
  const from = Math.max(0, best.at - Math.floor(width / 5));
  const part = text.slice(from, from + width).replace(/\s+/g, " ").trim();
  return `${from > 0 ? "…" : ""}${part}${from + width < text.length ? "…" : ""}`;
}
