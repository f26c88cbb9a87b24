/**
 * The symbols of a workspace, and their cache: one SQLite file for each workspace in the state directory.
 *
 * A file whose size and time of change are known is not read. One that was read is parsed only if its content
 * is new. The cache has nothing that the workspace has not: one that cannot be read is replaced.
 */
import { createHash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { walkFiles } from "../common/files.ts";
import { type PluginContext, PluginError } from "../common/plugin.ts";
import type { Answer, Call } from "../common/tool.ts";
import { languageOf, type MapLanguage } from "./languages.ts";
import { type FileSymbols, SymbolParser } from "./parser.ts";

export interface MapSettings {
  readonly include?: readonly string[] | undefined;
  readonly exclude: readonly string[];
  readonly max_files: number;
}

/** A source file. Its symbols are loaded when they are needed. */
export interface MappedFile {
  /** Relative to the workspace, with slashes. */
  readonly path: string;
  readonly symbols: FileSymbols;
}

/** The symbols of one state of the tree. */
export interface Snapshot {
  /** Sorted by path. */
  readonly files: readonly MappedFile[];
  /** Files of other languages. */
  readonly unsupported: number;
  /** Files with syntax errors, which are mapped as far as they can be read. */
  readonly broken: number;
  /** Files that are binary, minified, over the limit of size, or unreadable. */
  readonly skipped: number;
  /** Source files beyond `max_files`. */
  readonly beyond: number;
  /** Digest of all paths and contents. */
  readonly state: string;
}

interface Known {
  readonly size: number;
  readonly mtime: number;
  /** Language and hash of the content; empty for a skipped file. */
  readonly key: string;
  readonly broken: boolean;
  symbols?: FileSymbols;
}

/** Another one is due when a query, a grammar, the rank or the form of what is stored changes. */
const FORMAT = 4;
const TABLES = `BEGIN IMMEDIATE;
  DROP TABLE IF EXISTS files; DROP TABLE IF EXISTS symbols; DROP TABLE IF EXISTS answers;
  CREATE TABLE files (path TEXT PRIMARY KEY, size INTEGER, mtime REAL, key TEXT, broken INTEGER) WITHOUT ROWID;
  CREATE TABLE symbols (key TEXT PRIMARY KEY, data TEXT);
  CREATE TABLE answers (state TEXT, question TEXT, data TEXT, PRIMARY KEY (state, question));
  PRAGMA user_version = ${FORMAT}; COMMIT`;
const MAX_BYTES = 1_000_000;
/** A file that was changed less than this before it was read may change again at the same time. */
const RACY_MS = 100;
/** Files of one transaction: a cancelled call keeps what it has parsed. */
const BATCH = 200;
/** Time without a look at what the client sent. */
const TURN_MS = 20;

export class SymbolIndex {
  readonly #context: PluginContext<MapSettings>;
  readonly #parser: SymbolParser;
  #opened: DatabaseSync | undefined;
  #known = new Map<string, Known>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(context: PluginContext<MapSettings>) {
    this.#context = context;
    this.#parser = new SymbolParser(context.entry);
  }

  /** Returns the symbols of the present state. */
  async update(call: Pick<Call, "signal" | "progress">): Promise<Snapshot> {
    const next = this.#last.catch(() => {}).then(() => this.#update(call));
    this.#last = next;
    return await next;
  }

  /** Returns the answer to a question about a state that was asked before, or makes it. */
  answer({ state }: Snapshot, question: string, make: () => Answer): Answer {
    const database = this.#database;
    const find = database.prepare("SELECT data FROM answers WHERE state = ? AND question = ?");
    const stored = find.get(state, question);
    if (stored) return JSON.parse(String(stored.data));
    const made = make();
    database.prepare("DELETE FROM answers WHERE state <> ?").run(state);
    database.prepare("REPLACE INTO answers VALUES (?, ?, ?)").run(state, question, JSON.stringify(made));
    return made;
  }

  async #update({ signal, progress }: Pick<Call, "signal" | "progress">): Promise<Snapshot> {
    const { workspace, hidden, settings: { include, exclude, max_files } } = this.#context;
    const database = this.#database;
    const present = new Map<string, Known>();
    const changed: (readonly [path: string, size: number, mtime: number, language: MapLanguage])[] = [];
    const options = { hidden, exclude, signal, ...(include ? { include } : {}) };
    let unsupported = 0, beyond = 0;
    for await (const { path, size, mtimeMs } of walkFiles(workspace, options)) {
      const language = languageOf(path);
      const known = this.#known.get(path);
      if (!language) unsupported++;
      else if (present.size + changed.length >= max_files) beyond++;
      else if (known?.size === size && known.mtime === mtimeMs) present.set(path, known);
      else changed.push([path, size, mtimeMs, language]);
    }
    if (changed.length > BATCH) {
      await this.#parser.prepare(new Set(changed.map(([, , , language]) => language)));
    }
    using _transaction = { [Symbol.dispose]: () => database.isTransaction && commit(database) };
    let shown = performance.now(), turn = shown;
    for (const [index, [path, size, mtime, language]] of changed.entries()) {
      const now = performance.now();
      if (now - turn > TURN_MS) {
        await new Promise((resolve) => setTimeout(resolve, 0));
        signal.throwIfAborted();
        turn = performance.now();
      }
      if (now - shown > 1000) {
        progress(`Parsed ${index} of ${changed.length} files`, index, changed.length);
        shown = now;
      }
      const known = await this.#read(path, size, mtime, language);
      this.#known.set(path, known);
      present.set(path, known);
      if (!database.isTransaction) database.exec("BEGIN IMMEDIATE");
      database.prepare("REPLACE INTO files VALUES (?, ?, ?, ?, ?)")
        .run(path, size, known.mtime, known.key, Number(known.broken));
      if (index % BATCH === BATCH - 1) commit(database);
    }
    for (const path of this.#known.keys()) {
      if (!present.has(path)) database.prepare("DELETE FROM files WHERE path = ?").run(path);
    }
    this.#known = present;
    const parts = [`${unsupported} ${beyond}`];
    const files: MappedFile[] = [];
    let broken = 0;
    for (const [path, known] of [...present].sort(([a], [b]) => a < b ? -1 : 1)) {
      parts.push(path, known.key);
      if (known.broken) broken++;
      const load = () => known.symbols ??= this.#load(known.key);
      if (known.key !== "") {
        files.push({
          path,
          get symbols() {
            return load();
          },
        });
      }
    }
    const state = createHash("sha256").update(parts.join("\0")).digest("base64url");
    return { files, unsupported, broken, skipped: present.size - files.length, beyond, state };
  }

  async #read(path: string, size: number, mtime: number, language: MapLanguage): Promise<Known> {
    const known = { size, mtime: Date.now() - mtime < RACY_MS ? -1 : mtime, key: "", broken: false };
    const bytes = size > MAX_BYTES ? undefined : readSource(`${this.#context.workspace}/${path}`);
    if (!bytes) return known;
    const key = `${language.name}:${createHash("sha256").update(bytes).digest("base64url")}`;
    const stored = this.#database.prepare("SELECT data FROM symbols WHERE key = ?").get(key);
    if (stored) return { ...known, key, broken: JSON.parse(String(stored.data)).broken };
    const symbols = await this.#parser.parse(language, new TextDecoder().decode(bytes));
    this.#database.prepare("REPLACE INTO symbols VALUES (?, ?)").run(key, JSON.stringify(symbols));
    return { ...known, key, broken: symbols.broken, symbols };
  }

  #load(key: string): FileSymbols {
    const stored = this.#database.prepare("SELECT data FROM symbols WHERE key = ?").get(key);
    if (stored) return JSON.parse(String(stored.data));
    this.#known.clear();
    throw new PluginError("Another process has changed the cache of the map meanwhile", "call again");
  }

  /** The cache, which is opened and read on first use. */
  get #database(): DatabaseSync {
    if (this.#opened) return this.#opened;
    const { state, workspace, log } = this.#context;
    const name = createHash("sha256").update(workspace).digest("hex").slice(0, 16);
    const path = state === "" ? ":memory:" : `${state}/${name}.sqlite`;
    if (state !== "") Deno.mkdirSync(state, { recursive: true, mode: 0o700 });
    try {
      return this.#opened = this.#open(path);
    } catch (error) {
      log(`Replaces the cache ${path}: ${error instanceof Error ? error.message : error}`);
      for (const end of ["", "-wal", "-shm"]) removeFile(path + end);
      return this.#opened = this.#open(path);
    }
  }

  #open(path: string): DatabaseSync {
    const database = new DatabaseSync(path);
    database.exec("PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    if (database.prepare("PRAGMA user_version").get()?.user_version !== FORMAT) database.exec(TABLES);
    for (const { path, size, mtime, key, broken } of database.prepare("SELECT * FROM files").iterate()) {
      const known = { size: Number(size), mtime: Number(mtime), key: String(key), broken: broken === 1 };
      this.#known.set(String(path), known);
    }
    return database;
  }
}

/** Keeps the contents of other branches, as many as there are files now. */
function commit(database: DatabaseSync): void {
  const count = (table: string) => Number(database.prepare(`SELECT count(*) n FROM ${table}`).get()?.n);
  if (count("symbols") > 2 * count("files") + BATCH) {
    database.exec("DELETE FROM symbols WHERE key NOT IN (SELECT key FROM files)");
  }
  database.exec("COMMIT");
}

/** Returns nothing for a file that is binary, minified or unreadable. */
function readSource(path: string): Uint8Array | undefined {
  try {
    const bytes = Deno.readFileSync(path);
    let lines = 1;
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) lines++;
    const isMinified = bytes.length > 5_000 && bytes.length / lines > 300;
    return bytes.subarray(0, 8_000).includes(0) || isMinified ? undefined : bytes;
  } catch {
    return undefined;
  }
}

function removeFile(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
