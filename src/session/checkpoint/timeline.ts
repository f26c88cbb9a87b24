import { scanJsonl } from "../../util/json.ts";
import { parentDir } from "../paths.ts";

/** The record of one file at one moment. Field names are short: a snapshot line holds one per file. */
export interface FileEntry {
  /** Content id (git's blob id); null when the content is not kept. */
  readonly h: string | null;
  readonly s: number;
  /** Modification time, milliseconds. */
  readonly m: number;
  readonly i: number;
  /** Change time, milliseconds. */
  readonly c: number;
  readonly x: number;
  /** A symbolic link; its content is its target. */
  readonly l?: 1;
  /** Changed so shortly before it was looked at that a later change could leave the times alike. */
  readonly r?: 1;
}

/** Time stamps of common file systems move in steps of up to this many milliseconds. */
const STAMP_STEP = 20;

/** An entry with the given content id, or undefined for what is neither file nor link. */
export function entryOf(stat: Deno.FileInfo, now: number, h: string | null = null): FileEntry | undefined {
  if (!stat.isFile && !stat.isSymlink) return undefined;
  const m = stat.mtime?.getTime() ?? 0;
  return {
    h,
    s: stat.size,
    m,
    i: stat.ino ?? 0,
    c: stat.ctime?.getTime() ?? 0,
    x: (stat.mode ?? 0) & 0o777,
    ...(stat.isSymlink ? { l: 1 as const } : {}),
    ...(m >= now - STAMP_STEP ? { r: 1 as const } : {}),
  };
}

/** Reports whether nothing can have changed between the two looks. */
export function isSameStamp(before: FileEntry, now: FileEntry): boolean {
  return !before.r && before.s === now.s && before.m === now.m && before.i === now.i && before.c === now.c &&
    before.x === now.x && before.l === now.l;
}

/** Reports whether both hold the same content with the same permissions, as far as it is known. */
export function isSameContent(a: FileEntry | null, b: FileEntry | null): boolean {
  if (a === null || b === null) return a === b;
  if (a.l !== b.l || a.x !== b.x || a.s !== b.s) return false;
  return a.h !== null && b.h !== null ? a.h === b.h : a.m === b.m && a.i === b.i;
}

/**
 * Reports whether a file that was not known before existed at `time` already: it was only hidden (an ignore
 * rule went away). Change times come in whole seconds, so within that second birth and modification decide.
 */
export function existedAt(stat: Deno.FileInfo, time: number): boolean {
  const changed = stat.ctime?.getTime();
  if (changed !== undefined && changed + 1000 <= time) return true;
  if (changed !== undefined && changed > time) return false;
  const born = stat.birthtime?.getTime() ?? Infinity;
  const modified = stat.mtime?.getTime() ?? Infinity;
  return Math.max(born, modified) < time - STAMP_STEP;
}

/** The reason the workspace was looked at. */
export type SnapshotKind = "start" | "before" | "end" | "look" | "rewind" | "restored";

/** One line of the snapshot file: what changed in the workspace since the line before. */
interface Snapshot {
  readonly id: number;
  readonly kind: SnapshotKind;
  /** Last event of the session when it was taken. */
  readonly seq: number;
  readonly turn: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  /** The author of the changes: the program (tools, commands, a rewind) or another process between turns. */
  readonly by: "program" | "user";
  /** By path: relative to the workspace, or absolute outside of it. Null: not there any more. */
  readonly changed: Readonly<Record<string, FileEntry | null>>;
  /** Files that were there all along but had not been looked at. */
  readonly found?: Readonly<Record<string, FileEntry | null>>;
  /** Paths that were too much to look at; absent: the same as at the line before. */
  readonly skipped?: readonly string[];
}

interface Moment {
  readonly id: number;
  readonly entry: FileEntry | null;
  /** True when it was so before, too. */
  readonly always: boolean;
}

/**
 * The history of the workspace, snapshot by snapshot. The workspace moves forward in time even when the
 * conversation goes back, so this is a line, not a tree; it is in a separate append-only file.
 */
export class Timeline {
  /** The workspace at the latest snapshot; null for files known to be absent. */
  readonly current = new Map<string, FileEntry | null>();
  readonly snapshots: Omit<Snapshot, "changed" | "found" | "skipped">[] = [];
  readonly #history = new Map<string, Moment[]>();
  readonly #skipped: { readonly id: number; readonly paths: readonly string[] }[] = [];
  readonly #byProgram = new Map<number, readonly string[]>();
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  /** For appending: a torn last line is cut off. */
  static open(path: string): Timeline {
    const timeline = new Timeline(path);
    const torn = timeline.#load();
    if (torn !== undefined) Deno.truncateSync(path, torn);
    return timeline;
  }

  /** For reading, also while another process adds to it. */
  static read(path: string): Timeline {
    const timeline = new Timeline(path);
    timeline.#load();
    return timeline;
  }

  /** Returns where a torn last line begins. */
  #load(): number | undefined {
    try {
      const { tail, end } = scanJsonl(this.#path, (value) => this.#take(value as Snapshot));
      return tail.length > 0 ? end : undefined;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      return undefined;
    }
  }

  get last(): Omit<Snapshot, "changed" | "found" | "skipped"> | undefined {
    return this.snapshots.at(-1);
  }

  add(snapshot: Omit<Snapshot, "id">): Snapshot {
    const whole: Snapshot = { id: (this.last?.id ?? 0) + 1, ...snapshot };
    Deno.mkdirSync(parentDir(this.#path), { recursive: true, mode: 0o700 });
    Deno.writeTextFileSync(this.#path, `${JSON.stringify(whole)}\n`, { append: true, mode: 0o600 });
    this.#take(whole);
    return whole;
  }

  #take(snapshot: Snapshot): void {
    const { changed, found, skipped, ...rest } = snapshot;
    this.snapshots.push(rest);
    if (skipped) this.#skipped.push({ id: rest.id, paths: skipped });
    if (rest.by === "program") this.#byProgram.set(rest.id, Object.keys(changed));
    for (const [path, entry] of Object.entries(found ?? {})) this.#note(path, rest.id, entry, true);
    for (const [path, entry] of Object.entries(changed)) this.#note(path, rest.id, entry, false);
  }

  #note(path: string, id: number, entry: FileEntry | null, always: boolean): void {
    this.current.set(path, entry);
    const moments = this.#history.get(path);
    if (!moments) {
      this.#history.set(path, [{ id, entry, always }]);
      return;
    }
    const last = moments.at(-1);
    // Content that was too large to keep at first was kept before a tool touched it, still unchanged.
    if (last?.entry && entry?.h && last.entry.h === null && isSameContent(last.entry, entry)) {
      moments.splice(-1, 1, { ...last, entry });
    }
    moments.push({ id, entry, always });
  }

  /** The file at a snapshot; undefined when nothing is known about it from then. */
  at(path: string, id: number): FileEntry | null | undefined {
    const moments = this.#history.get(path);
    const first = moments?.[0];
    if (!moments || !first) return undefined;
    if (first.id > id) return first.always ? first.entry : null;
    let entry = first.entry;
    for (const moment of moments) {
      if (moment.id > id) break;
      entry = moment.entry;
    }
    return entry;
  }

  /** Returns what the latest snapshot up to this one did not look at. */
  skippedAt(id = Infinity): readonly string[] {
    return this.#skipped.findLast((record) => record.id <= id)?.paths ?? [];
  }

  changedSince(id: number): Set<string> {
    const paths = new Set<string>();
    for (const [snapshot, changed] of this.#byProgram) {
      if (snapshot > id) { for (const path of changed) paths.add(path); }
    }
    return paths;
  }

  /** Paths the program changed from one event to another, without what a rewind restored. */
  changedDuring(from: number, to: number): string[] {
    const during = this.snapshots.filter(({ seq, kind }) => kind !== "restored" && seq >= from && seq <= to);
    return [...new Set(during.flatMap(({ id }) => this.#byProgram.get(id) ?? []))].sort();
  }

  touchedByUser(path: string, id: number): boolean {
    const users = new Set(this.snapshots.filter((s) => s.id > id && s.by === "user").map((s) => s.id));
    return this.#history.get(path)?.some((moment) => !moment.always && users.has(moment.id)) ?? false;
  }

  /**
   * The first snapshot that shows the workspace as it was at an event: none was changed by the program in
   * between.
   */
  snapshotFor(seq: number): number | undefined {
    return this.snapshots.find((s) => s.seq >= seq && (s.kind === "start" || s.kind === "rewind"))?.id;
  }
}

/**
 * Takes the snapshots over into a fork that ends with event `upTo`: later ones stay reachable as "after that
 * event".
 */
export function copyTimeline(from: string, to: string, upTo: number): void {
  const lines: string[] = [];
  try {
    scanJsonl(from, (value) => {
      const snapshot = value as Snapshot;
      lines.push(JSON.stringify({ ...snapshot, seq: Math.min(snapshot.seq, upTo) }));
    });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    throw error;
  }
  Deno.mkdirSync(parentDir(to), { recursive: true, mode: 0o700 });
  Deno.writeTextFileSync(to, lines.map((line) => `${line}\n`).join(""), { mode: 0o600 });
}
