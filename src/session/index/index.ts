import type { DatabaseSync } from "node:sqlite";
import { projectDirs, type SessionInfo, titleOf } from "../catalogue/catalogue.ts";
import { isBusy, openDatabase } from "./database.ts";
import { refreshProject } from "./ingest.ts";
import {
  aroundHit,
  type AroundOptions,
  searchDocs,
  type SearchOptions,
  type SearchResult,
} from "./search.ts";
import { type CacheReset, cacheResets, type StatsOptions, type StatsRow, statsRows } from "./stats.ts";
import type { TranscriptPiece } from "./search.ts";

/** A listed session with what only the whole file can tell. */
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

  /** Best passages for a query (BM25). */
  search(options: SearchOptions): SearchResult {
    this.refresh(options.project);
    return searchDocs(this.#database, options);
  }

  /** The transcript around a hit. */
  around(options: AroundOptions): TranscriptPiece[] {
    return aroundHit(this.#database, options);
  }

  /** Tokens and money by day, model or project. */
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
