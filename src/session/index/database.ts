import type { DatabaseSync } from "node:sqlite";
import { parentDir } from "../paths.ts";

/** Steps from one version of the tables to the next. Only ever appended to. */
const MIGRATIONS: readonly (readonly string[])[] = [[
  `CREATE TABLE sessions (
      id INTEGER PRIMARY KEY,
      path TEXT NOT NULL UNIQUE,
      project TEXT NOT NULL,
      session TEXT NOT NULL,
      cwd TEXT NOT NULL DEFAULT '',
      title TEXT,
      prompt TEXT NOT NULL DEFAULT '',
      model TEXT,
      parent TEXT,
      created TEXT,
      turn INTEGER NOT NULL DEFAULT 0,
      turns INTEGER NOT NULL DEFAULT 0,
      bytes INTEGER NOT NULL,
      mtime INTEGER NOT NULL,
      read INTEGER NOT NULL
    )`,
  `CREATE INDEX sessions_project ON sessions (project, mtime)`,
  `CREATE INDEX sessions_session ON sessions (session)`,
  `CREATE TABLE docs (
      id INTEGER PRIMARY KEY,
      session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
      seq INTEGER NOT NULL,
      turn INTEGER NOT NULL,
      role TEXT NOT NULL,
      time TEXT NOT NULL,
      offset INTEGER NOT NULL,
      length INTEGER NOT NULL
    )`,
  `CREATE INDEX docs_session ON docs (session, seq)`,
  `CREATE VIRTUAL TABLE words USING fts5 (
      text, content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 2"
    )`,
  `CREATE TRIGGER docs_gone AFTER DELETE ON docs BEGIN DELETE FROM words WHERE rowid = old.id; END`,
  `CREATE TABLE spending (
      session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
      seq INTEGER NOT NULL,
      day TEXT NOT NULL,
      model TEXT NOT NULL,
      input INTEGER NOT NULL,
      cached INTEGER NOT NULL,
      output INTEGER NOT NULL,
      reasoning INTEGER NOT NULL,
      currency TEXT,
      amount REAL
    )`,
  `CREATE INDEX spending_session ON spending (session)`,
  `CREATE TABLE resets (
      session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
      seq INTEGER NOT NULL,
      time TEXT NOT NULL,
      kind TEXT NOT NULL,
      reason TEXT NOT NULL
    )`,
  `CREATE INDEX resets_session ON resets (session)`,
  `CREATE VIEW passages AS
    SELECT d.id, d.seq, d.turn, d.role, d.time, d.offset, d.length,
      s.session, s.project, s.title, s.prompt, s.path, s.parent
    FROM docs d JOIN sessions s ON s.id = d.session`,
], [
  `ALTER TABLE spending ADD COLUMN written INTEGER NOT NULL DEFAULT 0`,
]];

/**
 * Opens the index, making or bringing it up to date. It can always be made again from the sessions: what
 * cannot be read is thrown away, and where nothing can be written it lives in memory.
 */
export async function openDatabase(path: string): Promise<DatabaseSync> {
  const { DatabaseSync } = await import("node:sqlite");
  const open = (where: string): DatabaseSync => {
    const database = new DatabaseSync(where);
    try {
      database.exec("PRAGMA busy_timeout = 2000; PRAGMA foreign_keys = ON;");
      if (where !== ":memory:") database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
      migrate(database);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  };
  try {
    Deno.mkdirSync(parentDir(path), { recursive: true, mode: 0o700 });
    Deno.openSync(path, { write: true, create: true, mode: 0o600 }).close();
    return open(path);
  } catch (error) {
    if (isBusy(error) || !removeAll(path)) return open(":memory:");
  }
  try {
    return open(path);
  } catch {
    return open(":memory:");
  }
}

function migrate(database: DatabaseSync): void {
  const version = Number(database.prepare("PRAGMA user_version").get()?.user_version ?? 0);
  if (version > MIGRATIONS.length) {
    throw new Error(`The index is of version ${version}, newer than this program`);
  }
  for (let next = version; next < MIGRATIONS.length; next++) {
    transaction(database, () => {
      for (const statement of MIGRATIONS[next] ?? []) database.exec(statement);
      database.exec(`PRAGMA user_version = ${next + 1}`);
    });
  }
}

export function transaction(database: DatabaseSync, work: () => void): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    work();
    database.exec("COMMIT");
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

/** Reports whether another process is writing the index right now. */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && /database is locked|busy/i.test(error.message);
}

function removeAll(path: string): boolean {
  try {
    for (const suffix of ["", "-wal", "-shm"]) {
      try {
        Deno.removeSync(path + suffix);
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }
    }
    return true;
  } catch {
    return false;
  }
}
