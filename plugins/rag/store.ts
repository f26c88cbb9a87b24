/** One index: an SQLite file, and the lock of the process that updates it. */
import { createHash } from "node:crypto";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { PluginError } from "../common/plugin.ts";

/**
 * A file of another layout is built again. The layout includes the way in which texts are split into words:
 * rows of the tables of words are removed by the words that were inserted.
 */
const LAYOUT = 1;
const SCHEMA = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE files (
  id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, hash TEXT NOT NULL, size INTEGER NOT NULL,
  mtime REAL NOT NULL, checked REAL NOT NULL, lines INTEGER NOT NULL, problem TEXT);
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY, file INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  title TEXT NOT NULL, hash BLOB NOT NULL, text TEXT NOT NULL);
CREATE INDEX chunks_of_file ON chunks (file);
CREATE INDEX chunks_of_hash ON chunks (hash);
CREATE TABLE vectors (hash BLOB PRIMARY KEY, vector BLOB NOT NULL);
CREATE VIRTUAL TABLE words USING fts5 (path, title, body, content='',
  tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE grams USING fts5 (body, content='', tokenize='trigram');
INSERT INTO meta VALUES ('unfinished', '1');
PRAGMA user_version = ${LAYOUT};`;

/** A file as the index knows it. */
export interface IndexedFile {
  readonly id: number;
  readonly path: string;
  /** Of its bytes. */
  readonly hash: string;
  readonly size: number;
  readonly mtime: number;
  /** Milliseconds since 1970 at which it was last compared. */
  readonly checked: number;
  readonly lines: number;
  /** The reason why it has no chunks; where it has some, the part of its text that they are. */
  readonly problem: string | null;
}

/** The paths of an index, by its name and its directory. */
export function indexFiles(state: string, name: string, root: string): { database: string; lock: string } {
  if (state === "") {
    throw new PluginError("The plugin rag has no state directory", "start it with: reasonix plugin rag");
  }
  const id = createHash("sha256").update(root).digest("hex").slice(0, 12);
  const base = `${state}/${name}-${id}`;
  return { database: `${base}.sqlite`, lock: `${base}.lock` };
}

/** Opens an index for searching; undefined where none was built with this layout. */
export function openIndex(path: string): DatabaseSync | undefined {
  try {
    Deno.statSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  const database = new DatabaseSync(path, { timeout: 5000 });
  if (layoutOf(database) === LAYOUT) return database;
  database.close();
  return undefined;
}

/** Opens an index for an update, which makes it again where its file cannot be used. */
export function openForUpdate(path: string): { database: DatabaseSync; rebuilt: boolean } {
  const existing = openIndex(path);
  if (existing) return { database: existing, rebuilt: false };
  let rebuilt = false;
  for (const end of ["", "-wal", "-shm"]) {
    try {
      Deno.removeSync(path + end);
      rebuilt ||= end === "";
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  const database = new DatabaseSync(path, { timeout: 5000 });
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
  transact(database, () => database.exec(SCHEMA));
  return { database, rebuilt };
}

function layoutOf(database: DatabaseSync): number {
  try {
    return Number(database.prepare("PRAGMA user_version").get()?.user_version);
  } catch {
    return -1;
  }
}

/** Runs the work in one transaction, which a failure takes back. */
export function transact<T>(database: DatabaseSync, work: () => T): T {
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/** A failure of SQLite with the file that it is about; other errors as they are. */
export function explained(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !("errcode" in error)) return error;
  return new PluginError(
    `Cannot use ${path}: ${error.message}`,
    "free the disk, or delete the file and update",
  );
}

/** The rows of a query, in the shape that its columns have. */
export function rows<T>(database: DatabaseSync, sql: string, ...values: SQLInputValue[]): readonly T[] {
  return database.prepare(sql).all(...values) as T[];
}

/** Files whose text the index has not, or only in part, which `problem` says. */
export function incompleteFiles(database: DatabaseSync) {
  const found = rows<{ path: string; problem: string; chunks: number }>(
    database,
    "SELECT path, problem, EXISTS (SELECT 1 FROM chunks WHERE file = files.id) AS chunks FROM files " +
      "WHERE problem IS NOT NULL ORDER BY path",
  );
  const of = (isPart: boolean) =>
    found.filter(({ chunks }) => (chunks > 0) === isPart).map(({ path, problem }) => ({ path, problem }));
  return { skipped: of(false), partial: of(true) };
}

export function metaOf(database: DatabaseSync, key: string): string | undefined {
  return rows<{ value: string }>(database, "SELECT value FROM meta WHERE key = ?", key)[0]?.value;
}

export function setMeta(database: DatabaseSync, key: string, value: string | undefined): void {
  if (value === undefined) database.prepare("DELETE FROM meta WHERE key = ?").run(key);
  else database.prepare("INSERT OR REPLACE INTO meta VALUES (?, ?)").run(key, value);
}

/** The identity of a chunk's text with its title, which its vector belongs to. */
export function hashOf(text: string | Uint8Array): Uint8Array {
  return createHash("sha256").update(text).digest().subarray(0, 16);
}

/**
 * Takes the lock of an index, or throws a {@linkcode PluginError} that names the process which has it. The
 * kernel releases it when this process ends.
 */
export function lockIndex(path: string, name: string): Disposable {
  const file = Deno.openSync(path, { create: true, read: true, write: true, mode: 0o600 });
  if (!file.tryLockSync(true)) {
    file.close();
    throw new PluginError(
      `The index ${name} is being updated by ${updaterOf(path)}`,
      "wait until it has finished; it can be searched meanwhile",
    );
  }
  file.truncateSync(0);
  file.writeSync(new TextEncoder().encode(`process ${Deno.pid} since ${new Date().toISOString()}`));
  return { [Symbol.dispose]: () => releaseLock(file) };
}

/** The process that updates an index; undefined where none does. */
export function findUpdater(path: string): string | undefined {
  let file: Deno.FsFile;
  try {
    file = Deno.openSync(path, { read: true });
  } catch {
    return undefined;
  }
  const isFree = file.tryLockSync(false);
  releaseLock(file);
  return isFree ? undefined : updaterOf(path);
}

/** Ends a lock although a program that is just being started has the file open, too. */
function releaseLock(file: Deno.FsFile): void {
  file.unlockSync();
  file.close();
}

function updaterOf(path: string): string {
  try {
    return Deno.readTextFileSync(path) || "another process";
  } catch {
    return "another process";
  }
}
