import type { StoredFact } from "./fact.ts";

const CJK = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}";
const TERM = new RegExp(`[${CJK}]+|(?:(?![${CJK}])[\\p{L}\\p{N}\\p{M}])+`, "gu");
const IS_CJK = new RegExp(`[${CJK}]`, "u");

/** A hit must reach this part of the best one's score. */
const FLOOR = 0.3;
const K1 = 1.2;
const B = 0.75;
/** A word in the name or the description says more than one in the text. */
const HEAD_WEIGHT = 3;

/** Words; texts without blanks between words count by pairs of characters. */
function terms(text: string): string[] {
  return [...text.toLowerCase().matchAll(TERM)].flatMap(([run]) => {
    const characters = [...run];
    if (!IS_CJK.test(run) || characters.length === 1) return [run];
    return characters.slice(1).map((character, i) => `${characters[i]}${character}`);
  });
}

interface Doc {
  readonly fact: StoredFact;
  readonly counts: ReadonlyMap<string, number>;
  readonly length: number;
}

function docOf(fact: StoredFact): Doc {
  const head = terms(`${fact.name} ${fact.description}`);
  const all = [...Array.from({ length: HEAD_WEIGHT }, () => head).flat(), ...terms(fact.text)];
  const counts = new Map<string, number>();
  for (const term of all) counts.set(term, (counts.get(term) ?? 0) + 1);
  return { fact, counts, length: all.length };
}

export interface FactHit {
  readonly fact: StoredFact;
  readonly score: number;
  readonly snippet: string;
}

/** The facts that fit the query, best first, by BM25 with a floor relative to the best. */
export function searchFacts(facts: readonly StoredFact[], query: string, limit: number): FactHit[] {
  const wanted = [...new Set(terms(query))];
  const docs = facts.map(docOf);
  const average = docs.reduce((sum, doc) => sum + doc.length, 0) / Math.max(1, docs.length);
  const rarity = new Map(wanted.map((term) => {
    const having = docs.filter((doc) => doc.counts.has(term)).length;
    return [term, Math.log(1 + (docs.length - having + 0.5) / (having + 0.5))] as const;
  }));
  const scored = docs.map((doc) => {
    let score = 0;
    for (const [term, weight] of rarity) {
      const count = doc.counts.get(term) ?? 0;
      score += weight * (count * (K1 + 1)) / (count + K1 * (1 - B + B * doc.length / Math.max(1, average)));
    }
    return { fact: doc.fact, score, snippet: snippet(doc.fact.text, wanted) };
  }).filter((hit) => hit.score > 0).sort((a, b) => b.score - a.score || (a.fact.name < b.fact.name ? -1 : 1));
  const best = scored[0]?.score ?? 0;
  return scored.filter((hit) => hit.score >= best * FLOOR).slice(0, limit);
}

const WIDTH = 240;

/** The part of a text that begins shortly before the first of the words, on one line. */
function snippet(text: string, wanted: readonly string[]): string {
  const lower = text.toLowerCase();
  const places = wanted.map((term) => lower.indexOf(term)).filter((at) => at >= 0);
  const from = places.length === 0 ? 0 : Math.max(0, Math.min(...places) - 40);
  const part = text.slice(from, from + WIDTH).replace(/\s+/g, " ").trim();
  return `${from > 0 ? "…" : ""}${part}${from + WIDTH < text.length ? "…" : ""}`;
}
