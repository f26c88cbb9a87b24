/**
 * Brings an index up to date with its directory.
 *
 * Contract: each transaction leaves an index that can be searched, and the next update continues from any of
 * them. The result equals the index that is built from nothing.
 */
import type { DatabaseSync } from "node:sqlite";
import { convert } from "../common/bounded.ts";
import { walkFiles } from "../common/files.ts";
import type { DocumentResult } from "../documents/reading.ts";
import { PluginError } from "../common/plugin.ts";
import type { Call } from "../common/tool.ts";
import { chunksOf, indexedGrams, indexedWords } from "./chunks.ts";
import { counted, describeFiles, type Index, indexNamed } from "./indexes.ts";
import type { Context } from "./settings.ts";
import {
  explained,
  hashOf,
  incompleteFiles,
  type IndexedFile,
  indexFiles,
  lockIndex,
  metaOf,
  openForUpdate,
  rows,
  setMeta,
  transact,
} from "./store.ts";
import { BATCH, embed } from "./vectors.ts";

/** The part of a call that an update uses. */
export type Progress = Pick<Call, "signal" | "progress">;

type UpdateReport = Awaited<ReturnType<typeof updateIndex>>;

/** Documents become Markdown by the converter of the plugin `documents`. */
const DOCUMENT = /\.(?:pdf|docx|xlsx|pptx|odt|epub|ipynb|eml|html?|csv)$/i;
const LIMITS = { seconds: 60, heapMb: 512 };
/** A transaction ends with the file that exceeds one of these. */
const MOST_FILES = 100;
const MOST_CHARACTERS = 1_000_000;
/** A file that was written this shortly before it was compared may have changed once more since. */
const FRESH_MS = 2000;
const PROGRESS_MS = 250;

interface Content {
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
  readonly hash: string;
  /** Absent: its bytes are those that the index has, or it has a problem. */
  readonly text?: string;
  readonly problem?: string;
}

/** Rejects with a {@linkcode PluginError} that says what the index has nevertheless. */
export async function updateIndex(context: Context, name: string, call: Progress) {
  const index = indexNamed(context, name);
  await checkRoot(index, context);
  const paths = indexFiles(context.state, name, index.root);
  await Deno.mkdir(context.state, { recursive: true, mode: 0o700 });
  const lock = lockIndex(paths.lock, name);
  try {
    const { database, rebuilt } = openForUpdate(paths.database);
    try {
      return await new Update(context, index, database, call).run(
        rebuilt ? ["The index had another layout and was built again"] : [],
      );
    } catch (error) {
      throw explained(error, paths.database);
    } finally {
      database.close();
    }
  } finally {
    lock[Symbol.dispose]();
  }
}

async function checkRoot({ name, root }: Index, context: Context): Promise<void> {
  const isDirectory = await Deno.stat(root).then((info) => info.isDirectory, () => false);
  if (isDirectory) return;
  throw new PluginError(
    `Cannot update the index ${name}: ${root} is no directory that can be read`,
    `correct indexes.${name}.path, which counts from ${context.workspace}`,
  );
}

class Update {
  readonly #context: Context;
  readonly #index: Index;
  readonly #database: DatabaseSync;
  readonly #call: Progress;
  readonly #known: Map<string, IndexedFile>;
  readonly #began = performance.now();
  readonly #statements: ReturnType<typeof statementsOf>;
  #reported = -Infinity;
  #compared = 0;
  #added = 0;
  #changed = 0;

  constructor(context: Context, index: Index, database: DatabaseSync, call: Progress) {
    this.#context = context;
    this.#index = index;
    this.#database = database;
    this.#call = call;
    this.#known = new Map(
      rows<IndexedFile>(database, "SELECT * FROM files").map((file) => [file.path, file]),
    );
    this.#statements = statementsOf(database);
  }

  async run(notes: string[]) {
    const { name } = this.#index;
    const seen = await this.#readFiles();
    const gone = [...this.#known.values()].filter(({ path }) => !seen.has(path));
    if (gone.length > 0) this.#write(() => gone.forEach((file) => this.#remove(file)));
    const embedded = await this.#embed(notes);
    transact(this.#database, () => {
      setMeta(this.#database, "updated", new Date().toISOString());
      setMeta(this.#database, "unfinished", undefined);
    });
    this.#database.exec("PRAGMA wal_checkpoint(PASSIVE)");
    const [counts] = rows<{ files: number; chunks: number }>(
      this.#database,
      "SELECT (SELECT count(*) FROM files) AS files, (SELECT count(*) FROM chunks) AS chunks",
    );
    return {
      index: name,
      files: counts?.files ?? 0,
      chunks: counts?.chunks ?? 0,
      added: this.#added,
      changed: this.#changed,
      removed: gone.length,
      /** Chunks that the provider was sent. */
      embedded,
      ...incompleteFiles(this.#database),
      notes,
      seconds: Math.round((performance.now() - this.#began) / 10) / 100,
    };
  }

  /** Indexes each file that differs; resolves to the paths of all that there are. */
  async #readFiles(): Promise<ReadonlySet<string>> {
    const { root, include, exclude } = this.#index;
    const { settings, hidden, workspace } = this.#context;
    const { signal } = this.#call;
    const seen = new Set<string>();
    let batch: Content[] = [];
    let characters = 0;
    const flush = () => {
      if (batch.length > 0) this.#write(() => batch.forEach((content) => this.#store(content)));
      batch = [];
      characters = 0;
    };
    const maxBytes = settings.max_file_mb * 1e6;
    for await (const file of walkFiles(root, { hidden, workspace, include, exclude, signal })) {
      signal.throwIfAborted();
      seen.add(file.path);
      const known = this.#known.get(file.path);
      if (known && isUnchanged(known, file)) continue;
      const content = file.size > maxBytes
        ? { ...file, hash: "", problem: `it is larger than max_file_mb = ${settings.max_file_mb}` }
        : await this.#read(file, known);
      if (content === undefined) {
        seen.delete(file.path);
        continue;
      }
      batch.push(content);
      characters += content.text?.length ?? 0;
      if (batch.length >= MOST_FILES || characters >= MOST_CHARACTERS) flush();
      this.#compared = seen.size;
      this.#progress(`${this.#index.name}: ${seen.size} files compared`, 0);
    }
    flush();
    return seen;
  }

  /** Undefined for a file that is gone. */
  async #read(
    file: { readonly path: string; readonly size: number; readonly mtimeMs: number },
    known: IndexedFile | undefined,
  ): Promise<Content | undefined> {
    const { signal } = this.#call;
    let bytes: Uint8Array<ArrayBuffer>;
    try {
      bytes = await Deno.readFile(`${this.#index.root}/${file.path}`, { signal });
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Deno.errors.NotFound) return undefined;
      return { ...file, hash: "", problem: "it cannot be read" };
    }
    const hash = hashOf(bytes).toHex();
    if (known?.hash === hash) return { ...file, hash };
    if (!DOCUMENT.test(file.path)) return { ...file, hash, ...textOf(bytes) };
    try {
      return { ...file, hash, ...await this.#convert(bytes, file.path) };
    } catch (error) {
      signal.throwIfAborted();
      return { ...file, hash, problem: error instanceof Error ? error.message : String(error) };
    }
  }

  /** The text of all pages, which are converted in parts. */
  async #convert(bytes: Uint8Array<ArrayBuffer>, name: string): Promise<Pick<Content, "text" | "problem">> {
    const { entry } = this.#context;
    const parts: string[] = [];
    const cut: string[] = [];
    let isText = false;
    for (let next: number | undefined = 1; next !== undefined;) {
      // The worker takes the bytes.
      const input = { bytes: bytes.slice(), name, ...(next > 1 ? { pages: [[next, Infinity]] } : {}) };
      const part: DocumentResult = await convert(entry, "document", input, LIMITS, this.#call.signal);
      parts.push(part.markdown);
      cut.push(...part.cut ?? []);
      isText ||= part.textless !== true;
      next = part.next;
    }
    if (!isText) return { problem: "its pages are images without text" };
    return { text: parts.join("\n\n"), ...(cut.length > 0 ? { problem: cut.join(", ") } : {}) };
  }

  #store({ path, size, mtimeMs, hash, text, problem }: Content): void {
    const known = this.#known.get(path);
    const checked = Date.now();
    if (known?.hash === hash && text === undefined && (problem ?? known.problem) === known.problem) {
      this.#database.prepare("UPDATE files SET size = ?, mtime = ?, checked = ? WHERE id = ?")
        .run(size, mtimeMs, checked, known.id);
      return;
    }
    if (known) {
      this.#remove(known);
      this.#changed++;
    } else this.#added++;
    const lines = text === undefined ? 0 : text.split(/\r\n|\n|\r/).length;
    const { file, chunk, words, grams } = this.#statements;
    const { lastInsertRowid } = file.run(path, hash, size, mtimeMs, checked, lines, problem ?? null);
    for (const { from, to, title, text: body } of chunksOf(path, text ?? "")) {
      const hash = hashOf(embeddedText(title, body));
      const { lastInsertRowid: id } = chunk.run(lastInsertRowid, from, to, title, hash, body);
      words.run(id, ...wordsOf(path, title, body));
      const runs = indexedGrams(body);
      if (runs !== "") grams.run(id, runs);
    }
  }

  /** The tables of words know no text: to remove a row, they take what was inserted. */
  #remove({ id, path }: IndexedFile): void {
    const { removeWords, removeGrams } = this.#statements;
    const sql = "SELECT id, title, text FROM chunks WHERE file = ?";
    for (const chunk of rows<{ id: number; title: string; text: string }>(this.#database, sql, id)) {
      removeWords.run(chunk.id, ...wordsOf(path, chunk.title, chunk.text));
      const runs = indexedGrams(chunk.text);
      if (runs !== "") removeGrams.run(chunk.id, runs);
    }
    this.#database.prepare("DELETE FROM chunks WHERE file = ?").run(id);
    this.#database.prepare("DELETE FROM files WHERE id = ?").run(id);
  }

  /** Fetches the vectors that are missing; resolves to their number. */
  async #embed(notes: string[]): Promise<number> {
    const { embedding } = this.#context.settings;
    const { name } = this.#index;
    const { signal } = this.#call;
    const before = metaOf(this.#database, "embedding_signature");
    if (before !== embedding) {
      if (before !== undefined && embedding !== undefined) {
        notes.push(`The embedding is ${embedding} instead of ${before}: all chunks are embedded again`);
      }
      this.#dropVectors(embedding);
    }
    // An update that was killed leaves the mark of unfinished work.
    if (metaOf(this.#database, "unfinished") === undefined) return 0;
    this.#write(() => this.#database.exec("DELETE FROM vectors WHERE hash NOT IN (SELECT hash FROM chunks)"));
    if (embedding === undefined) return 0;
    let missing = this.#missing();
    let done = 0;
    while (missing.length > 0) {
      const total = done + missing.length;
      const batch = missing.slice(0, BATCH);
      const vectors = await embed(this.#context, batch.map(({ text }) => text), signal).catch((error) => {
        signal.throwIfAborted();
        throw new PluginError(
          `The words of the index ${name} are up to date, but ${counted(missing.length, "chunk")} ${
            missing.length === 1 ? "has no vector" : "have no vectors"
          }: ` +
            (error instanceof PluginError ? error.text : String(error)),
        );
      });
      const dimensions = vectors[0]?.length ?? 0;
      const expected = Number(metaOf(this.#database, "vector_dim") ?? dimensions);
      if (dimensions !== expected) {
        notes.push(
          `${embedding} sends vectors of ${dimensions} dimensions instead of ${expected}: ` +
            "all chunks are embedded again",
        );
        this.#dropVectors(embedding);
      }
      this.#write(() => {
        setMeta(this.#database, "vector_dim", String(dimensions));
        const insert = this.#database.prepare("INSERT OR REPLACE INTO vectors VALUES (?, ?)");
        for (const [at, { hash }] of batch.entries()) {
          const vector = vectors[at];
          if (vector) insert.run(hash, new Uint8Array(vector.buffer));
        }
      });
      done += batch.length;
      missing = dimensions === expected ? missing.slice(BATCH) : this.#missing();
      this.#progress(`${name}: ${done} of ${total} chunks embedded`, done, total);
    }
    return done;
  }

  #dropVectors(embedding: string | undefined): void {
    this.#write(() => {
      this.#database.exec("DELETE FROM vectors");
      setMeta(this.#database, "vector_dim", undefined);
      setMeta(this.#database, "embedding_signature", embedding);
    });
  }

  #missing(): readonly { readonly hash: Uint8Array; readonly text: string }[] {
    return rows<{ hash: Uint8Array; title: string; text: string }>(
      this.#database,
      "SELECT hash, title, text FROM chunks WHERE hash NOT IN (SELECT hash FROM vectors) " +
        "GROUP BY hash ORDER BY min(id)",
    ).map(({ hash, title, text }) => ({ hash, text: embeddedText(title, text) }));
  }

  /** One transaction, after which searches read vectors again. */
  #write(work: () => void): void {
    transact(this.#database, () => {
      work();
      setMeta(this.#database, "revision", crypto.randomUUID());
      setMeta(this.#database, "unfinished", "1");
    });
  }

  #progress(message: string, done: number, total?: number): void {
    if (performance.now() - this.#reported < PROGRESS_MS) return;
    this.#reported = performance.now();
    // Of both phases, since the number may only grow.
    this.#call.progress(message, this.#compared + done, total === undefined ? total : this.#compared + total);
  }
}

function statementsOf(database: DatabaseSync) {
  return {
    file: database.prepare(
      "INSERT INTO files (path, hash, size, mtime, checked, lines, problem) VALUES (?, ?, ?, ?, ?, ?, ?)",
    ),
    chunk: database.prepare(
      "INSERT INTO chunks (file, first, last, title, hash, text) VALUES (?, ?, ?, ?, ?, ?)",
    ),
    words: database.prepare("INSERT INTO words (rowid, path, title, body) VALUES (?, ?, ?, ?)"),
    removeWords: database.prepare(
      "INSERT INTO words (words, rowid, path, title, body) VALUES ('delete', ?, ?, ?, ?)",
    ),
    grams: database.prepare("INSERT INTO grams (rowid, body) VALUES (?, ?)"),
    removeGrams: database.prepare("INSERT INTO grams (grams, rowid, body) VALUES ('delete', ?, ?)"),
  };
}

function isUnchanged(
  known: IndexedFile,
  { size, mtimeMs }: { readonly size: number; readonly mtimeMs: number },
): boolean {
  return known.hash !== "" && known.size === size && known.mtime === mtimeMs &&
    known.checked - known.mtime > FRESH_MS;
}

function wordsOf(path: string, title: string, text: string): string[] {
  return [path, title, text].map(indexedWords);
}

function embeddedText(title: string, text: string): string {
  return title === "" ? text : `${title}\n${text}`;
}

function textOf(bytes: Uint8Array): { readonly text: string } | { readonly problem: string } {
  const utf16 = bytes[0] === 0xff && bytes[1] === 0xfe
    ? "utf-16le"
    : bytes[0] === 0xfe && bytes[1] === 0xff
    ? "utf-16be"
    : undefined;
  if (utf16 === undefined && bytes.includes(0)) return { problem: "it is no text" };
  try {
    return { text: new TextDecoder(utf16 ?? "utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return { problem: "it is not in UTF-8" };
  }
}

/** One line for people, then the files without all of their text and what else there is to say. */
export function describeUpdate(context: Context, report: UpdateReport): string {
  const { index, files, chunks, added, changed, removed, embedded, notes, seconds } = report;
  const facts = [
    `${index}: ${counted(files, "file")}, ${counted(chunks, "chunk")}`,
    `${added} added, ${changed} changed, ${removed} removed`,
    ...(context.settings.embedding === undefined ? [] : [`${embedded} embedded`]),
    `${seconds} s`,
  ];
  return [
    facts.join("; "),
    ...notes,
    ...describeFiles(context, indexNamed(context, index), report),
  ].join("\n");
}
