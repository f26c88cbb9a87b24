import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { isUsable } from "../state/messages.ts";
import { titleOf } from "../catalogue/catalogue.ts";
import { docOf, type DocRole } from "./ingest.ts";
import { matchExpression, snippet, termsOf } from "../../util/search_words.ts";

export interface SearchOptions {
  readonly query: string;
  /** Project directory to search; all projects when absent. */
  readonly project?: string;
  /** Session id left out, such as the one that asks. */
  readonly exclude?: string;
  /** At most this many hits, 10 when absent. */
  readonly limit?: number;
  /** Characters of a snippet; 240 when absent. */
  readonly width?: number;
}

export interface SearchHit {
  readonly session: string;
  readonly project: string;
  readonly title: string;
  readonly seq: number;
  readonly turn: number;
  readonly role: DocRole;
  readonly time: string;
  /** BM25, larger is better; comparable within one search only. */
  readonly score: number;
  readonly snippet: string;
}

export interface SearchResult {
  readonly hits: readonly SearchHit[];
  /** Hits that were left out because they share only common words with the query. */
  readonly trimmed: number;
}

/** A hit must reach this part of the best one's score. */
const FLOOR = 0.3;
const CANDIDATES = 60;

/** The latest passages that match are weighed; only with nothing but common words are there more. */
const LATEST = 6_000;

/** Best rows looked at before project and session are; where most of those belong elsewhere, all rows are. */
const FIRST_LOOK = 400;

/** A word in more than this part of all passages says nothing while a rarer one is there. */
const COMMON = 0.1;

export function searchDocs(database: DatabaseSync, options: SearchOptions): SearchResult {
  const expression = matchExpression(tellingWords(database, termsOf(options.query)).join(" "));
  if (expression === "") return { hits: [], trimmed: 0 };
  const first = candidates(database, expression, { ...options, look: FIRST_LOOK });
  const rows = first.length >= (options.limit ?? 10)
    ? first
    : candidates(database, expression, { ...options, look: -1 });
  const unique = withoutCopies(rows);
  const best = Number(unique[0]?.score ?? 0);
  const good = unique.filter((row, i) => i === 0 || Number(row.score) >= best * FLOOR);
  const terms = termsOf(options.query);
  const hits = good.slice(0, options.limit ?? 10).map((row): SearchHit => ({
    session: String(row.session),
    project: String(row.project),
    title: row.title === null ? titleOf(String(row.prompt)) : String(row.title),
    seq: Number(row.seq),
    turn: Number(row.turn),
    role: row.role as DocRole,
    time: String(row.time),
    score: Number(row.score),
    snippet: snippet(readDoc(String(row.path), Number(row.offset), Number(row.length)), terms, options.width),
  }));
  return { hits, trimmed: unique.length - good.length };
}

type Row = Record<string, SQLOutputValue>;

function candidates(
  database: DatabaseSync,
  expression: string,
  options: SearchOptions & { readonly look: number },
): Row[] {
  const { project = null, exclude = null, look } = options;
  return database.prepare(
    `SELECT p.*, -w.score AS score FROM (SELECT * FROM (
         SELECT rowid AS id, bm25(words) AS score FROM words WHERE words MATCH ?1 ORDER BY rowid DESC LIMIT ${LATEST}
       ) ORDER BY score LIMIT ?2) w
     JOIN passages p ON p.id = w.id
     WHERE (?3 IS NULL OR p.project = ?3) AND (?4 IS NULL OR p.session <> ?4) ORDER BY w.score LIMIT ${CANDIDATES}`,
  ).all(expression, look, project, exclude);
}

/**
 * Leaves common words out as long as there are others: every passage that has one would have to be weighed,
 * for next to no difference.
 */
function tellingWords(database: DatabaseSync, terms: readonly string[]): readonly string[] {
  const total = Number(database.prepare("SELECT COUNT(*) AS n FROM docs").get()?.n ?? 0);
  const most = Math.max(Math.floor(total * COMMON), 20);
  const count = database.prepare(
    "SELECT COUNT(*) AS n FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)",
  );
  const found = terms.map((term) => ({
    term,
    docs: Number(count.get(matchExpression(term), most + 1)?.n ?? 0),
  }));
  const rare = found.filter(({ docs }) => docs <= most);
  return rare.some(({ docs }) => docs > 0) ? rare.map(({ term }) => term) : terms;
}

/** A copied session repeats its parent's lines: of equal ones the original stays, or the best copy. */
function withoutCopies(rows: readonly Row[]): Row[] {
  const line = (row: Row) => `${row.seq} ${row.time} ${row.length}`;
  const seen = new Set(rows.filter((row) => row.parent === null).map(line));
  return rows.filter((row) => {
    if (row.parent === null) return true;
    if (seen.has(line(row))) return false;
    seen.add(line(row));
    return true;
  });
}

export interface AroundOptions {
  readonly session: string;
  readonly seq: number;
  /** Pieces before and after, 4 when absent. */
  readonly before?: number;
  readonly after?: number;
  /** Characters of each piece, 2,000 when absent. */
  readonly maxChars?: number;
}

export interface TranscriptPiece {
  readonly seq: number;
  readonly turn: number;
  readonly role: DocRole;
  readonly time: string;
  readonly text: string;
  /** Characters left out at the end. */
  readonly cut: number;
}

export function aroundHit(database: DatabaseSync, options: AroundOptions): TranscriptPiece[] {
  const select = (side: string, limit: number) =>
    database.prepare(
      `SELECT * FROM passages WHERE session = ? AND seq ${side} LIMIT ?`,
    ).all(options.session, options.seq, Math.max(0, Math.min(limit, 50)));
  const rows = [
    ...select("< ? ORDER BY seq DESC", options.before ?? 4).reverse(),
    ...select(">= ? ORDER BY seq", (options.after ?? 4) + 1),
  ];
  const max = options.maxChars ?? 2000;
  return rows.map((row) => {
    const text = readDoc(String(row.path), Number(row.offset), Number(row.length));
    return {
      seq: Number(row.seq),
      turn: Number(row.turn),
      role: row.role as DocRole,
      time: String(row.time),
      text: text.slice(0, max),
      cut: Math.max(0, text.length - max),
    };
  });
}

/** The index holds words only; the text is read from its line in the session file. */
function readDoc(path: string, offset: number, length: number): string {
  try {
    using file = Deno.openSync(path, { read: true });
    file.seekSync(offset, Deno.SeekMode.Start);
    const bytes = new Uint8Array(length);
    for (let filled = 0; filled < length;) {
      const count = file.readSync(bytes.subarray(filled));
      if (count === null) break;
      filled += count;
    }
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isUsable(value) ? docOf(value)?.text ?? "" : "";
  } catch {
    return "";
  }
}
