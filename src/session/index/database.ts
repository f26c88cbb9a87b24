import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Event, EventOf } from "../../core/mod.ts";
import { scanJsonl } from "../../util/json.ts";
import { indexable } from "../../util/search_words.ts";
import { sessionIds } from "../catalogue/catalogue.ts";
import { parentDir, type SessionPaths, sessionPaths } from "../paths.ts";
import { isUsable } from "../state/state.ts";
import { attempt } from "../../util/lazy.ts";

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
  return attempt(() => open(path)) ?? open(":memory:");
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

function transaction(database: DatabaseSync, work: () => void): void {
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

export type DocRole = "user" | "assistant" | "tool" | "digest";

/** Tools that look things up here: a question would find itself, and an answer what it was made of. */
const SEARCHES: ReadonlySet<string> = new Set(["history", "memory"]);

/** The searchable text of an event, or undefined when it has none. */
export function docOf(event: Event): { readonly role: DocRole; readonly text: string } | undefined {
  switch (event.type) {
    case "message.user":
      return event.origin === "user" || event.origin === "steer"
        ? { role: "user", text: event.content }
        : undefined;
    case "message.end": {
      const calls = (event.calls ?? []).filter((call) => !SEARCHES.has(call.name))
        .map((call) => `${call.name} ${call.arguments}`);
      const text = [event.content, ...calls].filter((part) => part !== "").join("\n");
      return text === "" ? undefined : { role: "assistant", text };
    }
    case "tool.end":
      return SEARCHES.has(event.name) ? undefined : { role: "tool", text: event.content };
    case "compaction":
      return event.action === "prune" || event.digest === ""
        ? undefined
        : { role: "digest", text: event.digest };
    default:
      return undefined;
  }
}

interface Row {
  readonly id: number;
  readonly path: string;
  readonly bytes: number;
  readonly mtime: number;
  readonly read: number;
  readonly turn: number;
}

/**
 * Brings the index up to date with the files of a project. A file that only grew is read from where it was
 * left.
 */
export function refreshProject(database: DatabaseSync, project: string): void {
  const rows = new Map<string, Row>();
  const select = database.prepare(
    "SELECT id, path, bytes, mtime, read, turn FROM sessions WHERE project = ?",
  );
  for (const row of select.all(project)) rows.set(String(row.path), row as object as Row);
  const stale: { paths: SessionPaths; stat: Deno.FileInfo; row: Row | undefined }[] = [];
  for (const id of sessionIds(project)) {
    const paths = sessionPaths(project, id);
    const stat = attempt(() => Deno.statSync(paths.path));
    if (!stat) continue;
    const row = rows.get(paths.path);
    rows.delete(paths.path);
    if (!row || row.bytes !== stat.size || row.mtime !== (stat.mtime?.getTime() ?? 0)) {
      stale.push({ paths, stat, row });
    }
  }
  if (stale.length === 0 && rows.size === 0) return;
  transaction(database, () => {
    const remove = database.prepare("DELETE FROM sessions WHERE id = ?");
    for (const row of rows.values()) remove.run(row.id);
    const writer = new SessionWriter(database);
    for (const { paths, stat, row } of stale) {
      const grown = row && stat.size >= row.read ? row : undefined;
      if (row && !grown) remove.run(row.id);
      writer.write({ project, paths, stat, row: grown });
    }
  });
}

interface WriteJob {
  readonly project: string;
  readonly paths: SessionPaths;
  readonly stat: Deno.FileInfo;
  readonly row: Row | undefined;
}

class SessionWriter {
  readonly #database: DatabaseSync;
  readonly #doc: StatementSync;
  readonly #words: StatementSync;
  readonly #spending: StatementSync;
  readonly #reset: StatementSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#doc = database.prepare(
      "INSERT INTO docs (session, seq, turn, role, time, offset, length) VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    this.#words = database.prepare("INSERT INTO words (rowid, text) VALUES (?, ?)");
    this.#spending = database.prepare("INSERT INTO spending VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    this.#reset = database.prepare("INSERT INTO resets VALUES (?, ?, ?, ?, ?)");
  }

  write({ project, paths, stat, row }: WriteJob): void {
    const bytes = stat.size;
    const mtime = stat.mtime?.getTime() ?? 0;
    const from = row?.read ?? 0;
    const id = row?.id ?? Number(
      this.#database.prepare(
        "INSERT INTO sessions (path, project, session, bytes, mtime, read) VALUES (?, ?, ?, 0, 0, 0)",
      ).run(paths.path, project, paths.id).lastInsertRowid,
    );
    let turn = row?.turn ?? 0;
    const report = scanJsonl(paths.path, (value, { offset, length }) => {
      if (!isUsable(value)) return;
      if (value.type === "turn.start") turn = value.turn;
      this.#facts(id, value);
      const doc = docOf(value);
      if (!doc) return;
      const key = this.#doc.run(id, value.seq, turn, doc.role, value.time ?? "", offset, length);
      this.#words.run(key.lastInsertRowid, indexable(doc.text));
    }, { from });
    this.#database.prepare("UPDATE sessions SET bytes = ?, mtime = ?, read = ?, turn = ? WHERE id = ?")
      .run(bytes, mtime, report.end, turn, id);
  }

  #facts(id: number, event: Event): void {
    const set = (column: string, value: string | null) =>
      this.#database.prepare(`UPDATE sessions SET ${column} = ? WHERE id = ?`).run(value, id);
    switch (event.type) {
      case "session.start":
        this.#database.prepare("UPDATE sessions SET cwd = ?, created = ?, parent = ? WHERE id = ?")
          .run(event.cwd ?? "", event.time ?? null, event.parent?.session ?? null, id);
        break;
      case "session.rename":
        set("title", event.title);
        break;
      case "turn.start":
        this.#database.prepare("UPDATE sessions SET turns = turns + 1 WHERE id = ?").run(id);
        break;
      case "message.user":
        if (event.origin === "user") {
          this.#database.prepare("UPDATE sessions SET prompt = ? WHERE id = ? AND prompt = ''")
            .run(event.content.slice(0, 400), id);
        }
        break;
      case "context.prefix":
        set("model", event.model ?? null);
        this.#reset.run(
          id,
          event.seq,
          event.time ?? "",
          "prefix",
          [event.reason, event.detail].filter(Boolean).join(": "),
        );
        break;
      case "compaction":
        this.#reset.run(id, event.seq, event.time ?? "", event.action ?? "fold", event.reason ?? "");
        break;
      case "message.end":
      case "image.described":
      case "subagent.end":
        this.#spend(id, event);
        break;
    }
  }

  #spend(id: number, event: EventOf<"message.end" | "image.described" | "subagent.end">): void {
    if (!event.usage) return;
    const { inputTokens, cachedTokens, outputTokens, reasoningTokens, cacheWriteTokens = 0 } = event.usage;
    const { currency = null, amount = null } = event.cost ?? {};
    const day = (event.time ?? "").slice(0, 10);
    const counts = [inputTokens, cachedTokens, outputTokens, reasoningTokens];
    const { type, model = "" } = event;
    // Events of agents name the provider; a model has one row, whichever agent called it.
    const name = type === "subagent.end" ? model.slice(model.indexOf("/") + 1) : model;
    this.#spending.run(id, event.seq, day, name, ...counts, currency, amount, cacheWriteTokens);
  }
}
