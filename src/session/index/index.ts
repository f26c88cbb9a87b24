import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { message, type Spending, usageError } from "../../core/mod.ts";
import { projectDir } from "../../path/project_dir.ts";
import { defined } from "../../util/json.ts";
import { matchExpression, snippet, termsOf } from "../../util/search_words.ts";
import { projectDirs, type SessionInfo } from "../catalogue/catalogue.ts";
import { titleOf } from "../state/state.ts";
import { isUsable } from "../state/state.ts";
import { docOf, type DocRole, isBusy, openDatabase, refreshProject } from "./database.ts";
import { readPieceOf } from "../../util/file_bytes.ts";

export interface StatsOptions {
  readonly by: "day" | "model" | "project" | "session" | "project_model";
  readonly project?: string;
  /** First day, YYYY-MM-DD (UTC). */
  readonly since?: string;
}

export interface StatsRow extends Spending {
  /** The day, model, working directory or session id; a JSON array of working directory and model. */
  readonly key: string;
  readonly sessions: number;
  readonly requests: number;
}

const KEYS: Readonly<Record<StatsOptions["by"], string>> = {
  day: "p.day",
  model: "p.model",
  project: "s.cwd",
  session: "s.session",
  project_model: "json_array(s.cwd, p.model)",
};

/**
 * Usage as the servers reported it, grouped. A copied session repeats its parent's requests under their
 * numbers and times; they are counted once, where they were made.
 */
function statsRows(database: DatabaseSync, options: StatsOptions): StatsRow[] {
  const { by, project = null, since = null } = options;
  const from = `FROM spending p JOIN sessions s ON s.id = p.session
     WHERE (?1 IS NULL OR s.project = ?1) AND (?2 IS NULL OR p.day >= ?2) AND
       (s.parent IS NULL OR NOT EXISTS (SELECT 1 FROM sessions o JOIN spending q ON q.session = o.id WHERE
         o.session = s.parent AND q.seq = p.seq AND q.day = p.day AND q.input = p.input AND q.output = p.output))`;
  const key = KEYS[by];
  const costs = new Map<string, Record<string, number>>();
  const money = database.prepare(
    `SELECT ${key} AS key, p.currency, SUM(p.amount) AS amount ${from} AND p.currency IS NOT NULL GROUP BY 1, 2`,
  );
  for (const row of money.all(project, since)) {
    const known = costs.get(String(row.key)) ?? {};
    costs.set(String(row.key), { ...known, [String(row.currency)]: Number(row.amount) });
  }
  const rows = database.prepare(
    `SELECT ${key} AS key, COUNT(DISTINCT s.id) AS sessions, COUNT(*) AS requests, SUM(p.input) AS input,
       SUM(p.cached) AS cached, SUM(p.output) AS output, SUM(p.reasoning) AS reasoning,
       SUM(p.written) AS written,
       SUM(p.currency IS NULL) AS unpriced ${from} GROUP BY 1 ORDER BY 1`,
  );
  return rows.all(project, since).map((row) => ({
    key: String(row.key),
    sessions: Number(row.sessions),
    requests: Number(row.requests),
    usage: {
      inputTokens: Number(row.input),
      cachedTokens: Number(row.cached),
      outputTokens: Number(row.output),
      reasoningTokens: Number(row.reasoning),
      ...(Number(row.written) > 0 ? { cacheWriteTokens: Number(row.written) } : {}),
    },
    costs: costs.get(String(row.key)) ?? {},
    unpriced: Number(row.unpriced),
  }));
}

/** A request that did not begin with the one before it. */
export interface CacheReset {
  readonly session: string;
  readonly seq: number;
  readonly time: string;
  /** "prefix": system prompt, tools or model; "fold" and "prune": a compaction. */
  readonly kind: string;
  readonly reason: string;
}

function cacheResets(
  database: DatabaseSync,
  options: { readonly project?: string; readonly session?: string },
): CacheReset[] {
  const { project = null, session = null } = options;
  const rows = database.prepare(
    `SELECT s.session, r.seq, r.time, r.kind, r.reason FROM resets r JOIN sessions s ON s.id = r.session
     WHERE (?1 IS NULL OR s.project = ?1) AND (?2 IS NULL OR s.session = ?2) ORDER BY r.time, r.seq`,
  ).all(project, session);
  return rows.map((row) => ({
    session: String(row.session),
    seq: Number(row.seq),
    time: String(row.time),
    kind: String(row.kind),
    reason: String(row.reason),
  }));
}

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

function searchDocs(database: DatabaseSync, options: SearchOptions): SearchResult {
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

interface AroundOptions {
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

function aroundHit(database: DatabaseSync, options: AroundOptions): TranscriptPiece[] {
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
    const value: unknown = JSON.parse(new TextDecoder().decode(readPieceOf(path, offset, length)));
    return isUsable(value) ? docOf(value)?.text ?? "" : "";
  } catch {
    return "";
  }
}

/** A listed session with facts that need the whole file. */
export interface IndexedSession extends SessionInfo {
  readonly project: string;
  readonly turns: number;
}

/**
 * Titles, full text and spending of the sessions under a Reasonix home, in `<home>/index.sqlite`. Derived
 * from the session files: each call first takes in what changed in the projects it is about, so the file may
 * be deleted at any time.
 */
export class SessionIndex {
  readonly #database: DatabaseSync;
  readonly #home: string;

  private constructor(database: DatabaseSync, home: string) {
    this.#database = database;
    this.#home = home;
  }

  static async open(home: string): Promise<SessionIndex> {
    return new SessionIndex(await openDatabase(`${home.replace(/[\\/]+$/, "")}/index.sqlite`), home);
  }

  /** Takes in what changed; of all projects when none is named. */
  refresh(project?: string): void {
    for (const each of project === undefined ? this.#projects() : [project]) {
      try {
        refreshProject(this.#database, each);
      } catch (error) {
        // Another process is doing the same: what is there already will do.
        if (!isBusy(error)) throw error;
      }
    }
  }

  #projects(): string[] {
    const known = this.#database.prepare("SELECT DISTINCT project FROM sessions").all();
    return [...new Set([...projectDirs(this.#home), ...known.map((row) => String(row.project))])];
  }

  /** Sessions, latest change first; of all projects when none is named. */
  list(options: { readonly project?: string; readonly limit?: number } = {}): IndexedSession[] {
    this.refresh(options.project);
    const where = options.project === undefined ? "" : "WHERE project = ?";
    const rows = this.#database.prepare(
      `SELECT * FROM sessions ${where} ORDER BY mtime DESC, session DESC LIMIT ?`,
    ).all(...(options.project === undefined ? [] : [options.project]), options.limit ?? -1);
    return rows.map((row) => {
      const updated = new Date(Number(row.mtime)).toISOString();
      return {
        id: String(row.session),
        path: String(row.path),
        project: String(row.project),
        cwd: String(row.cwd),
        title: row.title === null ? titleOf(String(row.prompt)) : String(row.title),
        prompt: String(row.prompt),
        ...(row.model === null ? {} : { model: String(row.model) }),
        ...(row.parent === null ? {} : { parent: String(row.parent) }),
        created: row.created === null ? updated : String(row.created),
        updated,
        bytes: Number(row.bytes),
        turns: Number(row.turns),
      };
    });
  }

  search(options: SearchOptions): SearchResult {
    this.refresh(options.project);
    return searchDocs(this.#database, options);
  }

  around(options: AroundOptions): TranscriptPiece[] {
    return aroundHit(this.#database, options);
  }

  stats(options: StatsOptions): StatsRow[] {
    this.refresh(options.project);
    return statsRows(this.#database, options);
  }

  /** Every change of a request's prefix, with its reason, oldest first. */
  cacheResets(options: { readonly project?: string; readonly session?: string } = {}): CacheReset[] {
    this.refresh(options.project);
    return cacheResets(this.#database, options);
  }

  close(): void {
    this.#database.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** A question the `history` tool puts to earlier sessions. */
export interface HistoryQuery extends Pick<SearchOptions, "query" | "limit" | "exclude"> {
  readonly home: string;
  readonly cwd: string;
  /** "project": sessions of this working directory; "global": all of them. */
  readonly scope: "project" | "global";
}

export interface HistoryAnswer {
  readonly hits: readonly SearchHit[];
  /** Advice on what to try next; set when there is no hit. */
  readonly guidance?: string;
}

/**
 * Searches what was said and seen in earlier sessions. A session file keeps everything, also what compactions
 * took out of the conversation, so there is no second place to look.
 */
export async function searchHistory(question: HistoryQuery): Promise<HistoryAnswer> {
  using index = await SessionIndex.open(question.home);
  const { home, cwd, query, scope, exclude, limit } = question;
  const project = scope === "project" ? projectDir(home, cwd) : undefined;
  const { hits } = index.search({ query, ...defined({ project, exclude, limit }) });
  return hits.length > 0 ? { hits } : { hits, guidance: guidance(question) };
}

function guidance(question: HistoryQuery): string {
  const wider = question.scope === "project"
    ? 'search again with scope "global" to include other projects'
    : "the wording may have been different: try other names for the same thing";
  return `No earlier message matches "${question.query}". Use fewer and rarer words, such as an identifier, a file name ` +
    `or a part of an error message; or ${wider}.`;
}

export interface AroundQuery extends Omit<AroundOptions, "maxChars"> {
  readonly home: string;
}

/** Reads a bounded piece of a transcript around a hit. Throws ReasonixError when there is no such session. */
export async function readAround(question: AroundQuery): Promise<TranscriptPiece[]> {
  const { home, ...options } = question;
  using index = await SessionIndex.open(home);
  let pieces = index.around(options);
  if (pieces.length === 0) {
    index.refresh();
    pieces = index.around(options);
  }
  if (pieces.length > 0) return pieces;
  throw usageError(
    message`Cannot read around event ${question.seq} of session ${question.session}: no such session`,
    message`use the session and seq of a search hit`,
  );
}
