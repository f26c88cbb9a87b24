/** The record of one file at one moment. Field names are short: a snapshot line holds one per file. */
export interface FileEntry {
  /** Content id (git's blob id); null when the content is not kept. */
  readonly h: string | null;
  /** Bytes. */
  readonly s: number;
  /** Modification time, milliseconds. */
  readonly m: number;
  /** Inode. */
  readonly i: number;
  /** Change time, milliseconds. */
  readonly c: number;
  /** Permission bits. */
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
