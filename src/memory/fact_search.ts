import { indexable, matchExpression, snippet, termsOf } from "../util/search_words.ts";
import type { StoredFact } from "./fact.ts";

/** A hit must reach this part of the best one's score. */
const FLOOR = 0.3;
/** A word in the name or the description says more than one in the text. */
const HEAD_WEIGHT = 3;

export interface FactHit {
  readonly fact: StoredFact;
  readonly snippet: string;
}

/** Finds the facts that fit the query, best first, by BM25 with a floor relative to the best. */
export async function searchFacts(
  facts: readonly StoredFact[],
  query: string,
  limit: number,
): Promise<FactHit[]> {
  const expression = matchExpression(query);
  if (expression === "" || facts.length === 0) return [];
  const { DatabaseSync } = await import("node:sqlite");
  using database = new DatabaseSync(":memory:");
  database.exec(
    `CREATE VIRTUAL TABLE facts USING fts5 (head, text, tokenize = "unicode61 remove_diacritics 2")`,
  );
  const insert = database.prepare("INSERT INTO facts (rowid, head, text) VALUES (?, ?, ?)");
  const sorted = [...facts].sort((a, b) => a.name < b.name ? -1 : 1);
  for (const [id, { name, description, text }] of sorted.entries()) {
    insert.run(id, indexable(`${name} ${description}`), indexable(text));
  }
  const rows = database.prepare(
    `SELECT rowid AS id, -bm25(facts, ${HEAD_WEIGHT}, 1) AS score FROM facts WHERE facts MATCH ?
     ORDER BY score DESC, id`,
  ).all(expression);
  const best = Number(rows[0]?.score ?? 0);
  const terms = termsOf(query);
  return rows.filter(({ score }) => Number(score) >= best * FLOOR).slice(0, limit).flatMap(({ id }) => {
    const fact = sorted[Number(id)];
    return fact ? [{ fact, snippet: snippet(fact.text, terms) }] : [];
  });
}
