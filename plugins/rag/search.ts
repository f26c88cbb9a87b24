/** Searches indexes by words and by vectors, and shows what was found. */
import type { DatabaseSync } from "node:sqlite";
import { hiddenPaths } from "../common/files.ts";
import { cleanLine, framed } from "../common/material.ts";
import { PluginError } from "../common/plugin.ts";
import { type Answer, type Call, pageOf } from "../common/tool.ts";
import { textQueries } from "./chunks.ts";
import { counted, describeFiles, type Index, indexesNamed, indexNamed, shownPath, uriOf } from "./indexes.ts";
import type { Context } from "./settings.ts";
import { explained, findUpdater, incompleteFiles, indexFiles, metaOf, openIndex, rows } from "./store.ts";
import { embed, VectorSearch } from "./vectors.ts";

export interface Query {
  readonly query: string;
  readonly indexes?: readonly string[] | undefined;
  readonly top_k?: number | undefined;
}

interface Row {
  readonly id: number;
  readonly file: number;
  readonly path: string;
  /** Lines, 1-indexed and inclusive. */
  readonly first: number;
  readonly last: number;
  readonly title: string;
  readonly mtime: number;
  readonly size: number;
}

type Scored = Row & { readonly score: number };

/** A passage of a file, one chunk or several that were joined. */
interface Hit extends Scored {
  readonly index: Index;
  readonly lines: readonly string[];
  /** The file changed since the update of the index. */
  readonly stale: boolean;
}

/** Candidates of each ranking. */
const DEPTH = 100;
/** The constant of reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009. */
const RRF = 60;
/** Weights of path, title and text in bm25. */
const WEIGHTS = "4.0, 3.0, 1.0";
const MAX_TITLE = 120;

export class Searcher {
  readonly #context: Context;
  readonly #vectors = new VectorSearch();

  constructor(context: Context) {
    this.#context = context;
  }

  /** The best passages of all indexes. Rejects with a {@linkcode PluginError} where one was never built. */
  async search({ query, indexes, top_k }: Query, { signal }: Pick<Call, "signal">): Promise<Answer> {
    const { settings } = this.#context;
    const chosen = indexesNamed(this.#context, indexes);
    if (query.trim() === "") throw new PluginError("Cannot search for nothing: query is empty");
    const notes: string[] = [];
    let vector: Float32Array | undefined;
    try {
      [vector] = await embed(this.#context, [query], signal);
    } catch (error) {
      signal.throwIfAborted();
      notes.push(`Searched by words alone: ${error instanceof PluginError ? error.text : String(error)}`);
    }
    const hits: Hit[] = [];
    for (const index of chosen) {
      const { database: path, lock } = indexFiles(this.#context.state, index.name, index.root);
      const updater = findUpdater(lock);
      if (updater !== undefined) {
        notes.push(`The index ${index.name} is being updated by ${updater}: it may be incomplete`);
      }
      const found = withIndex(path, index.name, (database) => {
        database.exec("BEGIN");
        if (updater === undefined && metaOf(database, "unfinished") !== undefined) {
          notes.push(`The last update of the index ${index.name} did not finish; run rag_update`);
        }
        return this.#searchIndex({ index, path, database, vector, query, limit: top_k }, notes);
      });
      hits.push(...found);
    }
    const best = hits.sort(byScore).slice(0, top_k ?? settings.top_k);
    return this.#shown(query, chosen, best, notes);
  }

  #searchIndex(
    { index, path, database, vector, query, limit }: {
      readonly index: Index;
      readonly path: string;
      readonly database: DatabaseSync;
      readonly vector: Float32Array | undefined;
      readonly query: string;
      readonly limit: number | undefined;
    },
    notes: string[],
  ): readonly Hit[] {
    const { settings } = this.#context;
    const { words, grams } = textQueries(query);
    const rankings = [
      matches(database, "words", words, WEIGHTS),
      matches(database, "grams", grams, "1.0"),
      this.#nearest(index, path, database, vector, notes),
    ];
    const scores = new Map<number, number>();
    for (const ranking of rankings) {
      for (const [rank, id] of ranking.entries()) {
        scores.set(id, (scores.get(id) ?? 0) + 1 / (RRF + rank + 1));
      }
    }
    const isHidden = this.#hidden(index);
    const best = [...scores].sort(([, a], [, b]) => b - a).slice(0, DEPTH).map(([id]) => id);
    const candidates = rows<Row>(
      database,
      "SELECT chunks.id, file, path, first, last, title, mtime, size FROM chunks JOIN files ON files.id = file " +
        "WHERE chunks.id IN (SELECT value FROM json_each(?))",
      JSON.stringify(best),
    ).filter(({ path }) => !isHidden(path)).map((row) => ({ ...row, score: scores.get(row.id) ?? 0 }));
    const cap = Math.min(limit ?? settings.top_k, settings.per_index_cap ?? Infinity);
    return this.#merged(candidates.sort(byScore).slice(0, cap)).map((row) => ({
      ...row,
      index,
      lines: linesOf(database, row.file, row.first, row.last),
      stale: isStale(`${index.root}/${row.path}`, row),
    }));
  }

  /** Another session may have indexed files that this one may not read. */
  #hidden({ root }: Index): (path: string) => boolean {
    return hiddenPaths(this.#context.hidden, root, this.#context.workspace);
  }

  #nearest(
    { name }: Index,
    path: string,
    database: DatabaseSync,
    vector: Float32Array | undefined,
    notes: string[],
  ): readonly number[] {
    if (vector === undefined) return [];
    const { embedding, similarity_threshold: threshold } = this.#context.settings;
    const signature = metaOf(database, "embedding_signature");
    const dimensions = Number(metaOf(database, "vector_dim") ?? 0);
    if (signature === embedding && dimensions === vector.length) {
      return this.#vectors.nearest(path, database, vector, { threshold, limit: DEPTH });
    }
    const has = dimensions === 0 ? "no vectors" : `vectors of ${signature} with ${dimensions} dimensions`;
    notes.push(
      `The index ${name} was searched by words alone: it has ${has}, and the query ${vector.length} dimensions ` +
        `of ${embedding}; run rag_update`,
    );
    return [];
  }

  /** Joins passages of a file that are at most `merge_gap` lines apart; the best score counts. */
  #merged(found: readonly Scored[]): readonly Scored[] {
    const { merge_adjacent, merge_gap } = this.#context.settings;
    if (!merge_adjacent) return found;
    const merged: Scored[] = [];
    for (const row of found.toSorted((a, b) => compare(a.path, b.path) || a.first - b.first || a.id - b.id)) {
      const before = merged.at(-1);
      if (before?.file !== row.file || row.first - before.last - 1 > merge_gap) {
        merged.push(row);
        continue;
      }
      const titles = before.title.split("; ");
      const title = titles.includes(row.title)
        ? before.title
        : [before.title, row.title].filter(Boolean).join("; ");
      const score = Math.max(before.score, row.score);
      merged[merged.length - 1] = { ...before, last: Math.max(before.last, row.last), title, score };
    }
    return merged.sort(byScore);
  }

  #shown(query: string, indexes: readonly Index[], found: readonly Hit[], notes: readonly string[]): Answer {
    const { attach_mode, total_chars_budget, group_by_file } = this.#context.settings;
    const hits = group_by_file ? groupedByFile(found) : found;
    const names = indexes.map(({ name }) => name).join(", ");
    const shownHits = new Map<Hit, string>();
    const left: string[] = [];
    let budget = total_chars_budget;
    // The best passages get the budget, whatever their order in the result.
    for (const hit of found) {
      const reference = `${shownPath(this.#context, hit.index, hit.path)}:${hit.first}-${hit.last}`;
      const title = cleanLine(hit.title, MAX_TITLE);
      const head = [reference, title, hit.stale ? "changed since the update of the index" : ""].filter(
        Boolean,
      );
      const shown = attach_mode === "summary" ? this.#preview(query, hit) : numbered(hit.first, hit.lines);
      const block = [cleanLine(head.join(" · "), 1000), ...shown];
      const fitting = cut(block, budget);
      if (fitting.length < 2) {
        left.push(reference);
        continue;
      }
      const missing = block.length - fitting.length;
      if (missing > 0) fitting.push(`[${counted(missing, "more line")}]`);
      const text = fitting.join("\n");
      shownHits.set(hit, text);
      budget -= text.length;
    }
    const blocks = hits.flatMap((hit) => shownHits.get(hit) ?? []);
    if (left.length > 0) blocks.push(`[left out by total_chars_budget: ${left.join(", ")}]`);
    const data = {
      results: hits.map(({ index, path, first, last, title, score, stale }) => ({
        index: index.name,
        path: shownPath(this.#context, index, path),
        from: first,
        to: last,
        title,
        score: Math.round(score * 1e5) / 1e5,
        uri: uriOf(index.name, path, first, last),
        ...(stale ? { stale } : {}),
      })),
      notes,
    };
    if (hits.length === 0) return { text: [...notes, `Nothing found in ${names}`].join("\n"), data };
    const source = `${
      counted(hits.length, "passage")
    } in ${names}, best first; more: rag://INDEX/PATH#L10-40`;
    return { text: framed({ name: source, notes }, blocks.join("\n\n")), data };
  }

  /** The first lines, from the first one that has a word of the query. */
  #preview(query: string, { first, lines }: Hit): readonly string[] {
    const words = query.toLowerCase().match(/[\p{L}\p{N}_]{3,}|\p{Script=Han}{2}/gu) ?? [];
    const at = lines.findIndex((line) => words.some((word) => line.toLowerCase().includes(word)));
    const start = Math.max(at, 0);
    return numbered(first + start, lines.slice(start, start + this.#context.settings.preview_lines));
  }

  /** Lines of an indexed file, as a resource. `path` may end in `#L10` or `#L10-40`. */
  read(name: string, path: string): string {
    const index = indexNamed(this.#context, name);
    const [, encoded = "", from, to] = /^(.*?)(?:#L(\d+)(?:-L?(\d+))?)?$/s.exec(path) ?? [];
    const file = decoded(encoded);
    const { database } = indexFiles(this.#context.state, name, index.root);
    return withIndex(database, name, (database) => {
      const [found] = rows<{ id: number; lines: number }>(
        database,
        "SELECT id, lines FROM files WHERE path = ?",
        file,
      );
      if (!found || this.#hidden(index)(file)) {
        throw new PluginError(`The index ${name} has no file ${JSON.stringify(file)}`, "search for its path");
      }
      const last = Math.min(Number(to ?? from ?? found.lines), found.lines);
      const all = linesOf(database, found.id, 1, last);
      const offset = Number(from ?? 1);
      if (offset < 1 || last < offset) {
        throw new PluginError(
          `Cannot show lines ${from}-${to ?? from} of ${file}: it has ${found.lines} lines`,
        );
      }
      const page = pageOf(all, { offset, limit: last - offset + 1 });
      return framed({ name: shownPath(this.#context, index, file), lines: found.lines }, page.text);
    });
  }

  /** One line for each index, and lines about files that it has only in part, or not. */
  status(names: readonly string[] = []): string {
    return indexesNamed(this.#context, names).map((index) => {
      const { database: path, lock } = indexFiles(this.#context.state, index.name, index.root);
      const updater = findUpdater(lock);
      const database = openIndex(path);
      const facts = database
        ? factsOf(database)
        : ["not built yet; run: reasonix plugin rag update " + index.name];
      const files = database ? describeFiles(this.#context, index, incompleteFiles(database)) : [];
      database?.close();
      const now = updater === undefined ? [] : [`being updated by ${updater}`];
      return [`${index.name} (${index.root}): ${[...facts, ...now].join("; ")}`, ...files].join("\n");
    }).join("\n");
  }
}

function factsOf(database: DatabaseSync): readonly string[] {
  const [found] = rows<{ files: number; chunks: number; vectors: number }>(
    database,
    "SELECT (SELECT count(*) FROM files) AS files, (SELECT count(*) FROM chunks) AS chunks, " +
      "(SELECT count(*) FROM chunks JOIN vectors USING (hash)) AS vectors",
  );
  const signature = metaOf(database, "embedding_signature");
  const updated = metaOf(database, "updated");
  return [
    `${counted(found?.files ?? 0, "file")}, ${counted(found?.chunks ?? 0, "chunk")}`,
    signature === undefined
      ? "words only"
      : `${found?.vectors} vectors of ${signature}, ${metaOf(database, "vector_dim") ?? 0} dimensions`,
    updated === undefined ? "its first update has not finished" : `updated ${updated}`,
    ...(updated !== undefined && metaOf(database, "unfinished") !== undefined
      ? ["its last update has not finished"]
      : []),
  ];
}

function withIndex<T>(path: string, name: string, work: (database: DatabaseSync) => T): T {
  const database = openIndex(path);
  if (!database) {
    throw new PluginError(`The index ${name} has not been built yet`, `call rag_update with index ${name}`);
  }
  try {
    return work(database);
  } catch (error) {
    throw explained(error, path);
  } finally {
    database.close();
  }
}

/** Ranked identifiers of chunks. */
function matches(
  database: DatabaseSync,
  table: "words" | "grams",
  query: string,
  weights: string,
): readonly number[] {
  if (query === "") return [];
  const sql = `SELECT rowid AS id FROM ${table} WHERE ${table} MATCH ? AND rank MATCH 'bm25(${weights})' ` +
    `ORDER BY rank LIMIT ${DEPTH}`;
  return rows<{ id: number }>(database, sql, query).map(({ id }) => id);
}

/** Lines of a file from its chunks; lines between chunks are blank. */
function linesOf(database: DatabaseSync, file: number, from: number, to: number): readonly string[] {
  const lines = new Array<string>(Math.max(to - from + 1, 0)).fill("");
  const found = rows<{ first: number; text: string }>(
    database,
    "SELECT first, text FROM chunks WHERE file = ? AND last >= ? AND first <= ? ORDER BY first, id",
    file,
    from,
    to,
  );
  for (const { first, text } of found) {
    for (const [at, line] of text.split("\n").entries()) {
      const position = first + at - from;
      if (position >= 0 && position < lines.length) lines[position] += line;
    }
  }
  return lines;
}

function isStale(path: string, { mtime, size }: Row): boolean {
  try {
    const info = Deno.statSync(path);
    return info.size !== size || info.mtime?.getTime() !== mtime;
  } catch {
    return true;
  }
}

function groupedByFile(hits: readonly Hit[]): readonly Hit[] {
  const groups = Map.groupBy(hits, ({ index, path }) => `${index.name}/${path}`);
  return [...groups.values()].flatMap((group) => group.sort((a, b) => a.first - b.first));
}

function numbered(from: number, lines: readonly string[]): readonly string[] {
  return lines.map((line, at) => `${from + at}\t${line}`);
}

/** The first lines that fit; a line that is longer than all of it is cut. */
function cut(lines: readonly string[], budget: number): string[] {
  let left = budget;
  const fitting: string[] = [];
  for (const line of lines) {
    if (line.length + 1 > left) {
      if (fitting.length === 1 && left > 100) {
        fitting.push(`${line.slice(0, left - 20).toWellFormed()}… [line cut]`);
      }
      break;
    }
    fitting.push(line);
    left -= line.length + 1;
  }
  return fitting;
}

function byScore(a: Scored, b: Scored): number {
  return b.score - a.score || compare(a.path, b.path) || a.first - b.first || a.id - b.id;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
