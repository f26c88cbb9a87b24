/**
 * The symbols of a workspace, and their cache: one SQLite file for each workspace in the state directory.
 *
 * A file whose size and time of change are known is not read. One that was read is parsed only if its content
 * is new. The cache holds nothing that the workspace does not: it is replaced when it cannot be read.
 */
import { createHash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import type { PluginContext } from "../common/plugin.ts";
import type { Call } from "../common/tool.ts";
import { languageOf, type MapLanguage } from "./languages.ts";
import { type FileSymbols, SymbolParser } from "./parser.ts";

export interface MapSettings {
  readonly exclude: readonly string[];
  readonly max_files: number;
}

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
}

interface Known {
  readonly size: number;
  readonly mtime: number;
  /** Language and hash of its content; empty for a file without symbols. */
  readonly key: string;
  readonly symbols: FileSymbols | undefined;
}

/** A change of what is stored, of a query or of a grammar needs another one. */
const FORMAT = 1;
const MAX_BYTES = 1_000_000;
/** A file that was changed less than this before it was read may change again at the same time. */
const RACY_MS = 100;
/** A cancelled run keeps what it has written. */
const BATCH = 200;
/** Time without a look at what the client sent. */
const TURN_MS = 20;

export class SymbolIndex {
  readonly #context: PluginContext<MapSettings>;
  readonly #parser: SymbolParser;
  #database: DatabaseSync | undefined;
  #known = new Map<string, Known>();
  #snapshot: Snapshot | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(context: PluginContext<MapSettings>) {
    this.#context = context;
    this.#parser = new SymbolParser(context.entry);
  }

  /** Returns the symbols of the present state; the same object as long as no file changes. */
  async update(call: Call): Promise<Snapshot> {
    const next = this.#last.catch(() => {}).then(() => this.#update(call));
    this.#last = next;
    return await next;
  }

  async #update(call: Call): Promise<Snapshot> {
    const { workspace, settings: { exclude, max_files } } = this.#context;
    const database = this.#database ??= this.#open();
    const { signal } = call;
    signal.throwIfAborted();
    const present = new Map<string, Known>();
    const changed: { path: string; size: number; mtime: number; language: MapLanguage }[] = [];
    let unsupported = 0, beyond = 0;
    for await (const { path, size, mtimeMs } of walkFiles(workspace, { exclude, signal })) {
      const language = languageOf(path);
      if (!language) unsupported++;
      else if (present.size + changed.length >= max_files) beyond++;
      else {
        const known = this.#known.get(path);
        if (known?.size === size && known.mtime === mtimeMs) present.set(path, known);
        else changed.push({ path, size, mtime: mtimeMs, language });
      }
    }
    const removed = [...this.#known.keys()].filter((path) => !present.has(path));
    const write = writer(database);
    let shown = performance.now(), turn = shown;
    using _ = { [Symbol.dispose]: write.commit };
    for (const [index, { path, size, mtime, language }] of changed.entries()) {
      const now = performance.now();
      if (now - turn > TURN_MS) {
        await new Promise((resolve) => setTimeout(resolve, 0));
        signal.throwIfAborted();
        turn = performance.now();
      }
      if (now - shown > 1000) {
        call.progress(`Parsed ${index} of ${changed.length} files`, index, changed.length);
        shown = now;
      }
      const known = await this.#symbolsOf(path, size, mtime, language);
      this.#known.set(path, known);
      present.set(path, known);
      write.file(path, known);
      if (index % BATCH === BATCH - 1) write.commit();
    }
    for (const path of removed) if (!present.has(path)) write.remove(path);
    write.commit();
    if (this.#snapshot && changed.length === 0 && removed.length === 0) {
      const { unsupported: before, beyond: left } = this.#snapshot;
      if (before === unsupported && left === beyond) return this.#snapshot;
    }
    this.#known = present;
    const files = [...present].sort(([a], [b]) => a < b ? -1 : 1)
      .flatMap(([path, { symbols }]) => symbols ? [{ path, symbols }] : []);
    const broken = files.filter(({ symbols }) => symbols.broken).length;
    return this.#snapshot = { files, unsupported, broken, skipped: present.size - files.length, beyond };
  }

  async #symbolsOf(path: string, size: number, mtime: number, language: MapLanguage): Promise<Known> {
    const time = Date.now() - mtime < RACY_MS ? -1 : mtime;
    const skipped = { size, mtime: time, key: "", symbols: undefined };
    if (size > MAX_BYTES) return skipped;
    let bytes: Uint8Array;
    try {
      bytes = Deno.readFileSync(`${this.#context.workspace}/${path}`);
    } catch {
      return skipped;
    }
    if (bytes.subarray(0, 8_000).includes(0)) return skipped;
    const text = new TextDecoder().decode(bytes);
    if (isMinified(text)) return skipped;
    const key = `${language.name}:${createHash("sha256").update(bytes).digest("base64url")}`;
    const stored = this.#database?.prepare("SELECT data FROM symbols WHERE key = ?").get(key)?.data;
    const symbols = typeof stored === "string"
      ? JSON.parse(stored)
      : await this.#parser.parse(language, text);
    return { size, mtime: time, key, symbols };
  }

  /** Opens the cache and reads it. */
  #open(): DatabaseSync {
    const { state, workspace } = this.#context;
    if (state === "") return created(":memory:");
    Deno.mkdirSync(state, { recursive: true, mode: 0o700 });
    const path = `${state}/${createHash("sha256").update(workspace).digest("hex").slice(0, 16)}.sqlite`;
    try {
      Deno.mkdirSync(state, { recursive: true, mode: 0o700 });
      return this.#read(path);
    } catch (error) {
      this.#context.log(
        `Cannot read ${path}, builds it again: ${error instanceof Error ? error.message : error}`,
      );
    }
    this.#known.clear();
    try {
      for (const end of ["", "-wal", "-shm"]) remove(path + end);
      return created(path);
    } catch (error) {
      this.#context.log(
        `Cannot write ${path}, maps in memory: ${error instanceof Error ? error.message : error}`,
      );
      return created(":memory:");
    }
  }

  #read(path: string): DatabaseSync {
    const database = created(path);
    const rows = database.prepare(
      "SELECT path, size, mtime, files.key, data FROM files LEFT JOIN symbols ON symbols.key = files.key",
    );
    for (const { path, size, mtime, key, data } of rows.iterate()) {
      const symbols = typeof data === "string" ? JSON.parse(data) : undefined;
      if (key !== "" && !symbols) continue;
      this.#known.set(String(path), { size: Number(size), mtime: Number(mtime), key: String(key), symbols });
    }
    return database;
  }
}

function remove(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

function created(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  const version = database.prepare("PRAGMA user_version").get()?.user_version;
  if (version !== FORMAT) {
    database.exec(`BEGIN IMMEDIATE;
      DROP TABLE IF EXISTS files; DROP TABLE IF EXISTS symbols;
      CREATE TABLE files (path TEXT PRIMARY KEY, size INTEGER, mtime REAL, key TEXT) WITHOUT ROWID;
      CREATE TABLE symbols (key TEXT PRIMARY KEY, data TEXT);
      PRAGMA user_version = ${FORMAT}; COMMIT`);
  }
  return database;
}

function writer(database: DatabaseSync) {
  const open = () => database.isTransaction || database.exec("BEGIN IMMEDIATE");
  return {
    file(path: string, { size, mtime, key, symbols }: Known): void {
      open();
      database.prepare("REPLACE INTO files VALUES (?, ?, ?, ?)").run(path, size, mtime, key);
      if (!symbols) return;
      database.prepare("INSERT OR IGNORE INTO symbols VALUES (?, ?)").run(key, JSON.stringify(symbols));
    },
    remove(path: string): void {
      open();
      database.prepare("DELETE FROM files WHERE path = ?").run(path);
    },
    /** Contents of other branches stay, as many as there are files now. */
    commit(): void {
      if (!database.isTransaction) return;
      const count = (table: string) => Number(database.prepare(`SELECT count(*) n FROM ${table}`).get()?.n);
      if (count("symbols") > 2 * count("files") + BATCH) {
        database.exec("DELETE FROM symbols WHERE key NOT IN (SELECT key FROM files)");
      }
      database.exec("COMMIT");
    },
  };
}

function isMinified(text: string): boolean {
  return text.length > 5_000 && text.length / (text.split("\n", text.length / 300 + 2).length) > 300;
}

interface WalkedFile {
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
}

/** Files below a directory in the order of their paths, without hidden ones and those of packages. */
async function* walkFiles(
  root: string,
  options: { readonly signal: AbortSignal; readonly exclude: readonly string[] },
  below = "",
): AsyncIterable<WalkedFile> {
  options.signal.throwIfAborted();
  const entries = [...Deno.readDirSync(`${root}/${below}`)].sort((a, b) => a.name < b.name ? -1 : 1);
  for (const { name, isDirectory, isFile } of entries) {
    const path = below + name;
    if (name.startsWith(".") || name === "node_modules" || options.exclude.includes(path)) continue;
    if (isDirectory) yield* walkFiles(root, options, `${path}/`);
    if (!isFile) continue;
    const { size, mtime } = Deno.statSync(`${root}/${path}`);
    yield { path, size, mtimeMs: mtime?.getTime() ?? 0 };
  }
}
