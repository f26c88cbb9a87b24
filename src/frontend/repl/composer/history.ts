import { nextCharacter, previousCharacter } from "./buffer.ts";
import type { Piece } from "./draft.ts";
import type { Frame } from "../screen/view.ts";
import type { InputEvent } from "../terminal/terminal.ts";
import { writeFully } from "../../../util/atomic_write.ts";
import { displayWidth, fitDisplay } from "../../../util/display_width.ts";
import { isRecord, parseJson } from "../../../util/json.ts";
import { lazy } from "../../../util/lazy.ts";
import { terminalSafe } from "../../../util/terminal_text.ts";
import { after } from "../../../util/timer.ts";
import type { Palette } from "../../../view/mod.ts";

/** Longer entries are kept in memory only. */
const MAX_ENTRY_BYTES = 256 * 1024;
/** A larger file is cut to its newest half. */
const MAX_FILE_BYTES = 2 * 1024 * 1024;

const LINE_FEED = new Uint8Array([10]);

/**
 * Reads the history of a directory: one JSON line per entry, `{"at": RFC 3339, "pieces": […]}`.
 * Broken lines are skipped. Errors of reading and writing are ignored: the history is a convenience, and the
 * messages are in the sessions.
 */
function readHistory(path: string): Piece[][] {
  let text: string;
  try {
    text = Deno.readTextFileSync(path);
  } catch {
    return [];
  }
  return text.split("\n").flatMap((line) => {
    const pieces = line === "" ? undefined : piecesOf(parseJson(line));
    return pieces ? [pieces] : [];
  });
}

/** Appends an entry; several processes may do so at the same time. */
function appendHistory(path: string, pieces: readonly Piece[]): void {
  const entry = { at: new Date().toISOString(), pieces: pieces.map(storable) };
  const line = new TextEncoder().encode(`${JSON.stringify(entry)}\n`);
  if (line.length > MAX_ENTRY_BYTES) return;
  try {
    Deno.mkdirSync(path.replace(/[\\/][^\\/]*$/, ""), { recursive: true, mode: 0o700 });
    using file = Deno.openSync(path, { read: true, append: true, create: true, mode: 0o600 });
    // Another process may be cutting the file; it is in use for a moment only.
    file.lockSync(true);
    if (file.statSync().size + line.length > MAX_FILE_BYTES) {
      // Drops the older half in place: other processes have the same file open.
      const text = Deno.readTextFileSync(path);
      const from = text.indexOf("\n", Math.floor(text.length / 2)) + 1;
      file.truncateSync(0);
      writeFully(file, new TextEncoder().encode(text.slice(from)));
    }
    if (!endsWithLine(file)) writeFully(file, LINE_FEED);
    writeFully(file, line);
  } catch { /* no history then */ }
}

/** False when the last writer was killed within a line. */
function endsWithLine(file: Deno.FsFile): boolean {
  if (file.statSync().size === 0) return true;
  file.seekSync(-1, Deno.SeekMode.End);
  const last = new Uint8Array(1);
  file.readSync(last);
  return last[0] === LINE_FEED[0];
}

/** Replaces images of the clipboard: the session has them. */
function storable(piece: Piece): Piece {
  return typeof piece !== "string" && piece.kind === "image" ? "[image]" : piece;
}

function piecesOf(value: unknown): Piece[] | undefined {
  if (!isRecord(value) || !Array.isArray(value.pieces)) return undefined;
  const pieces = value.pieces.flatMap((piece) => pieceOf(piece) ?? []);
  return pieces.length > 0 ? pieces : undefined;
}

function pieceOf(value: unknown): Piece | undefined {
  if (typeof value === "string") return value.toWellFormed();
  if (!isRecord(value)) return undefined;
  const { kind, content, path } = value;
  if (kind === "paste" && typeof content === "string") return { kind, content: content.toWellFormed() };
  return kind === "file" && typeof path === "string" ? { kind, path } : undefined;
}

interface HistoryOptions {
  /** Path of the history file; absent: nothing is saved. */
  readonly path?: () => Promise<string>;
  /** Loads the redactor for saved texts; rejects where the secrets are not known. */
  readonly redactor?: () => Promise<(text: string) => string>;
}

const MAX_ENTRIES = 2000;
const WRITE_DELAY_MS = 100;

/** Sent messages and discarded drafts of a directory. Repeated ones move to the end. */
export class History {
  readonly #options: HistoryOptions;
  readonly #path: () => Promise<string | undefined>;
  #entries: readonly Entry[] = [];
  #writing: Promise<void> = Promise.resolve();
  readonly #closing = Promise.withResolvers<void>();
  #loading: Promise<void> | undefined;
  #loaded = false;

  constructor(options: HistoryOptions = {}) {
    this.#options = options;
    this.#path = lazy(async () => await options.path?.().catch(() => undefined));
  }

  /** Oldest first; before loading, only what was added. */
  get entries(): readonly Entry[] {
    return this.#entries;
  }

  get loaded(): boolean {
    return this.#loaded;
  }

  load(): Promise<void> {
    return this.#loading ??= this.#path().then((path) => {
      this.#entries = lastOccurrences([
        ...(path === undefined ? [] : readHistory(path)).map(entryOf),
        ...this.#entries,
      ]);
      this.#loaded = true;
    });
  }

  /** Adds a draft; the saved copy is redacted. */
  add(pieces: readonly Piece[]): void {
    this.#entries = lastOccurrences([...this.entries, entryOf(pieces)]);
    this.#writing = this.#writing.then(async () => {
      // What was sent is on its way first.
      await Promise.race([
        new Promise<void>((resolve) => after(WRITE_DELAY_MS, resolve)),
        this.#closing.promise,
      ]);
      const path = await this.#path();
      if (path === undefined) return;
      const known = this.#options.redactor?.() ?? loadPlainRedactor();
      // Leaving does not wait for a session that is still being opened.
      const left = this.#closing.promise.then(() => new Promise<void>((resolve) => after(1, resolve)))
        .then(loadPlainRedactor);
      const redact = await Promise.race([known, left]).catch(loadPlainRedactor);
      appendHistory(path, pieces.map((piece) => redacted(piece, redact)));
    });
  }

  /** Writes pending entries; waits only for the disk. */
  close(): Promise<void> {
    this.#closing.resolve();
    return this.#writing;
  }
}

interface Entry {
  readonly pieces: readonly Piece[];
  readonly text: string;
  readonly key: string;
}

function entryOf(pieces: readonly Piece[]): Entry {
  const text = pieces.filter((piece) => typeof piece === "string").join("");
  return { pieces, text, key: pieces.length === 1 ? text : JSON.stringify(pieces) };
}

/** Keeps the last occurrence of each entry. */
function lastOccurrences(entries: readonly Entry[]): Entry[] {
  const byKey = new Map<string, Entry>();
  for (const entry of entries) {
    byKey.delete(entry.key);
    byKey.set(entry.key, entry);
  }
  return [...byKey.values()].slice(-MAX_ENTRIES);
}

/** Recognizes secrets by their form only. */
const loadPlainRedactor = lazy(async () => (await import("../../../util/redact.ts")).createRedactor([]));

function redacted(piece: Piece, redact: (text: string) => string): Piece {
  if (typeof piece === "string") return redact(piece);
  return piece.kind === "paste" ? { kind: "paste", content: redact(piece.content) } : piece;
}

/** A position in the history, with the draft that it started from. */
export class HistoryWalk {
  readonly #entries: readonly Entry[];
  readonly #draft: readonly Piece[];
  readonly #prefix: string;
  #at: number;

  /** Visits only entries that begin with `prefix`. */
  constructor(entries: readonly Entry[], draft: readonly Piece[], prefix: string) {
    this.#entries = entries;
    this.#draft = draft;
    this.#prefix = prefix;
    this.#at = entries.length;
  }

  older(): readonly Piece[] | undefined {
    const before = this.#entries.slice(0, this.#at);
    const at = before.findLastIndex(({ text }) => text.startsWith(this.#prefix));
    if (at < 0) return undefined;
    this.#at = at;
    return this.#entries[at]?.pieces;
  }

  /** The next newer entry, then the draft; undefined when the draft is already shown. */
  newer(): readonly Piece[] | undefined {
    if (this.#at === this.#entries.length) return undefined;
    const at = this.#entries.findIndex(({ text }, index) =>
      index > this.#at && text.startsWith(this.#prefix)
    );
    this.#at = at < 0 ? this.#entries.length : at;
    return at < 0 ? this.#draft : this.#entries[at]?.pieces;
  }
}

interface HistoryMatch {
  readonly entry: number;
  readonly text: string;
  readonly pieces: readonly Piece[];
  readonly at: number;
}

/** The newest entry before index `before` with the text; capitals in `wanted` make case matter. */
export function searchHistory(
  entries: readonly Entry[],
  wanted: string,
  before = entries.length,
): HistoryMatch | undefined {
  const normalize = wanted === wanted.toLowerCase()
    ? (text: string) => text.toLowerCase()
    : (text: string) => text;
  for (let index = before - 1; index >= 0; index--) {
    const entry = entries[index];
    const at = entry ? normalize(entry.text).indexOf(wanted) : -1;
    if (entry && at >= 0) return { entry: index, text: entry.text, pieces: entry.pieces, at };
  }
  return undefined;
}

interface SearchTexts {
  readonly searching: string;
  readonly nothingFound: string;
}

/** Outcome of a key: the search stays, is canceled, or takes an entry (`again`: handle the key again). */
type SearchStep = "stay" | "cancel" | { readonly take: readonly Piece[]; readonly again: boolean };

/** An incremental search in the history (Ctrl-R). */
export class HistorySearch {
  readonly #history: History;
  #wanted = "";
  #found: HistoryMatch | undefined;
  #failed = false;

  constructor(history: History) {
    this.#history = history;
  }

  input(event: InputEvent): SearchStep {
    if (event.kind === "paste") return this.#look(this.#wanted + event.text.replace(/\s+/g, " "));
    const { key, text } = event;
    if (key === "escape" || key === "ctrl+c" || key === "ctrl+g") return "cancel";
    if (key === "ctrl+r" || key === "up" || key === "ctrl+p") return this.#older();
    if (key === "ctrl+s" || key === "down" || key === "ctrl+n") return this.#newer();
    if (key === "backspace" || key === "ctrl+h") {
      return this.#look(this.#wanted.slice(0, previousCharacter(this.#wanted, this.#wanted.length)));
    }
    if (key === "ctrl+u") return this.#look("");
    if (text !== undefined) return this.#look(this.#wanted + text);
    if (!this.#found) return "cancel";
    // Every other key acts on the match; Enter only takes it, so that it is seen before it is sent.
    return { take: this.#found.pieces, again: key !== "enter" && key !== "tab" };
  }

  frame(columns: number, palette: Palette, texts: SearchTexts): Frame {
    const label = this.#failed ? texts.nothingFound : texts.searching;
    const prompt = `${label}: `;
    const space = Math.max(1, columns - displayWidth(prompt) - 1);
    const query = endOf(terminalSafe(this.#wanted), space);
    const lines = [
      this.#found ? excerpt(this.#found, this.#failed ? "" : this.#wanted, palette, columns) : "",
      `${this.#failed ? palette.warning(prompt) : palette.dim(prompt)}${query}`,
    ];
    return { lines, caret: { row: 1, column: displayWidth(prompt) + displayWidth(query) } };
  }

  #look(wanted: string): SearchStep {
    const from = wanted.startsWith(this.#wanted) && this.#found ? this.#found.entry + 1 : undefined;
    this.#wanted = wanted;
    this.#set(wanted === "" ? undefined : searchHistory(this.#history.entries, wanted, from));
    if (wanted === "") this.#found = undefined;
    this.#failed = wanted !== "" && this.#failed;
    return "stay";
  }

  #older(): SearchStep {
    this.#set(searchHistory(this.#history.entries, this.#wanted, this.#found?.entry));
    return "stay";
  }

  #newer(): SearchStep {
    const { entries } = this.#history;
    for (let end = (this.#found?.entry ?? entries.length) + 2; end <= entries.length; end++) {
      const match = searchHistory(entries.slice(0, end), this.#wanted);
      if (match && match.entry === end - 1) {
        this.#set(match);
        return "stay";
      }
    }
    this.#failed = true;
    return "stay";
  }

  /** The last match stays visible when there are no more. */
  #set(found: HistoryMatch | undefined): void {
    this.#failed = found === undefined;
    if (found) this.#found = found;
  }
}

/** The line of the entry around the match, which is highlighted. */
function excerpt(found: HistoryMatch, wanted: string, palette: Palette, columns: number): string {
  const flat = (text: string) => terminalSafe(text.replaceAll("\n", "↵").replaceAll("\t", " "));
  const before = flat(found.text.slice(0, found.at));
  const match = flat(found.text.slice(found.at, found.at + wanted.length));
  const after = flat(found.text.slice(found.at + wanted.length));
  const space = Math.max(0, columns - displayWidth(match) - 4);
  const left = endOf(before, Math.max(Math.floor(space / 2), space - displayWidth(after.slice(0, columns))));
  const right = fitDisplay(after.slice(0, columns * 2), Math.max(0, space - displayWidth(left)));
  const shown = palette.bold(palette.accent(match));
  // Without colors brackets show what was found.
  return `  ${left}${shown === match && match !== "" ? `[${match}]` : shown}${right}`;
}

function endOf(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let kept = text.slice(-columns * 4);
  while (kept !== "" && displayWidth(kept) > columns - 1) kept = kept.slice(nextCharacter(kept, 0));
  return `…${kept}`;
}
