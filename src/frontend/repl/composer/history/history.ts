import { lazy } from "../../../../util/lazy.ts";
import { after } from "../../../../util/timer.ts";
import type { Piece } from "../parts.ts";
import { HistoryFile } from "./history_file.ts";

export interface HistoryOptions {
  /** The file that keeps it; absent: nothing does. */
  readonly path?: () => Promise<string>;
  /** Gives what takes secrets out of a text before it is written; rejects where they are not known. */
  readonly redactor?: () => Promise<(text: string) => string>;
}

const MAX_ENTRIES = 2000;
const WRITE_DELAY_MS = 100;

/** What was sent from a directory, and drafts that were given up. What comes again moves to the end. */
export class History {
  readonly #options: HistoryOptions;
  readonly #file: () => Promise<HistoryFile | undefined>;
  #entries: readonly Entry[] = [];
  #writing: Promise<void> = Promise.resolve();
  readonly #closing = Promise.withResolvers<void>();
  #loading: Promise<void> | undefined;
  #loaded = false;

  constructor(options: HistoryOptions = {}) {
    this.#options = options;
    this.#file = lazy(async () => {
      const path = await options.path?.().catch(() => undefined);
      return path === undefined ? undefined : new HistoryFile(path);
    });
  }

  /** Oldest first; before it is loaded only what was added. */
  get entries(): readonly Entry[] {
    return this.#entries;
  }

  get loaded(): boolean {
    return this.#loaded;
  }

  /** Reads the file, once. */
  load(): Promise<void> {
    return this.#loading ??= this.#file().then((file) => {
      this.#entries = folded([...(file?.read() ?? []).map(entryOf), ...this.#entries]);
      this.#loaded = true;
    });
  }

  /** Remembers a draft; without its secrets on the disk. */
  add(pieces: readonly Piece[]): void {
    this.#entries = folded([...this.entries, entryOf(pieces)]);
    this.#writing = this.#writing.then(async () => {
      // What was sent is on its way first.
      await Promise.race([
        new Promise<void>((resolve) => after(WRITE_DELAY_MS, resolve)),
        this.#closing.promise,
      ]);
      const file = await this.#file();
      if (!file) return;
      const known = this.#options.redactor?.() ?? loadPlainRedactor();
      // A session that is still being opened holds up nobody who leaves; one that is open comes first.
      const left = this.#closing.promise.then(() => new Promise<void>((resolve) => after(1, resolve)))
        .then(loadPlainRedactor);
      const redact = await Promise.race([known, left]).catch(loadPlainRedactor);
      file.append(pieces.map((piece) => redacted(piece, redact)));
    });
  }

  /** Writes what was added; waits for nothing but the disk. */
  close(): Promise<void> {
    this.#closing.resolve();
    return this.#writing;
  }
}

/** A draft of the past. */
interface Entry {
  readonly pieces: readonly Piece[];
  /** What was typed of it, for searches. */
  readonly text: string;
  readonly key: string;
}

function entryOf(pieces: readonly Piece[]): Entry {
  const text = pieces.filter((piece) => typeof piece === "string").join("");
  return { pieces, text, key: pieces.length === 1 ? text : JSON.stringify(pieces) };
}

/** Each entry once, where it came last. */
function folded(entries: readonly Entry[]): Entry[] {
  const byKey = new Map<string, Entry>();
  for (const entry of entries) {
    byKey.delete(entry.key);
    byKey.set(entry.key, entry);
  }
  return [...byKey.values()].slice(-MAX_ENTRIES);
}

/** Knows secrets by their form only. */
const loadPlainRedactor = lazy(async () => (await import("../../../../util/redact.ts")).createRedactor([]));

function redacted(piece: Piece, redact: (text: string) => string): Piece {
  if (typeof piece === "string") return redact(piece);
  return piece.kind === "paste" ? { kind: "paste", content: redact(piece.content) } : piece;
}

/** A walk through the history, beside the draft that it began with. */
export class HistoryWalk {
  readonly #entries: readonly Entry[];
  readonly #draft: readonly Piece[];
  readonly #prefix: string;
  #at: number;

  /** Only entries that begin with `prefix` are passed. */
  constructor(entries: readonly Entry[], draft: readonly Piece[], prefix: string) {
    this.#entries = entries;
    this.#draft = draft;
    this.#prefix = prefix;
    this.#at = entries.length;
  }

  /** The next older entry; undefined at the end. */
  older(): readonly Piece[] | undefined {
    const before = this.#entries.slice(0, this.#at);
    const at = before.findLastIndex(({ text }) => text.startsWith(this.#prefix));
    if (at < 0) return undefined;
    this.#at = at;
    return this.#entries[at]?.pieces;
  }

  /** The next newer entry, behind the newest the draft; undefined when that is already there. */
  newer(): readonly Piece[] | undefined {
    if (this.#at === this.#entries.length) return undefined;
    const at = this.#entries.findIndex(({ text }, index) =>
      index > this.#at && text.startsWith(this.#prefix)
    );
    this.#at = at < 0 ? this.#entries.length : at;
    return at < 0 ? this.#draft : this.#entries[at]?.pieces;
  }
}

/** A place in an entry. */
export interface HistoryMatch {
  readonly entry: number;
  readonly text: string;
  readonly pieces: readonly Piece[];
  /** Where the searched text is. */
  readonly at: number;
}

/** The newest entry before `before` that has the text; case matters only where it is searched for. */
export function searchHistory(
  entries: readonly Entry[],
  wanted: string,
  before = entries.length,
): HistoryMatch | undefined {
  const fold = wanted === wanted.toLowerCase()
    ? (text: string) => text.toLowerCase()
    : (text: string) => text;
  for (let index = before - 1; index >= 0; index--) {
    const entry = entries[index];
    const at = entry ? fold(entry.text).indexOf(wanted) : -1;
    if (entry && at >= 0) return { entry: index, text: entry.text, pieces: entry.pieces, at };
  }
  return undefined;
}
