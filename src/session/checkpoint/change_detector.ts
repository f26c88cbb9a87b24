import { relativeTo } from "../../path/lexical.ts";
import { BlobStore } from "./blob_store.ts";
import { entryOf, existedAt, type FileEntry, isSameContent, isSameStamp } from "./entry.ts";
import { type GitStamp, readGitBlob, readGitIndex } from "./git_index.ts";
import { type Scan, scanWorkspace } from "./scan.ts";

export interface DetectorLimits {
  /** Files looked at; a larger workspace is only covered where tools touch it. */
  readonly files: number;
  /**
   * Largest file whose content is kept because of a shell command; files touched by tools have
   * `toolFileBytes`.
   */
  readonly fileBytes: number;
  readonly toolFileBytes: number;
  /** Content kept in one session. */
  readonly totalBytes: number;
  /**
   * Files that ignore rules hide: how many in all and in one ignored directory, and how much content of them
   * is kept.
   */
  readonly ignoredFiles: number;
  readonly ignoredDirectoryFiles: number;
  readonly ignoredBytes: number;
}

const DEFAULT_LIMITS: DetectorLimits = {
  files: 30_000,
  fileBytes: 1 << 20,
  toolFileBytes: 64 << 20,
  totalBytes: 256 << 20,
  ignoredFiles: 2_000,
  ignoredDirectoryFiles: 500,
  ignoredBytes: 16 << 20,
};

/** Files whose contents are hashed at the same time. */
const AT_ONCE = 16;

export interface DetectorOptions {
  /** Real absolute path. */
  readonly root: string;
  /** Directory for contents. */
  readonly blobs: string;
  readonly skip?: (path: string) => boolean;
  readonly limits?: Partial<DetectorLimits>;
  /** Name of the file that this session brings back in another one's place; nobody else has such a name. */
  readonly stagingName: string;
}

export interface Changes {
  readonly time: number;
  readonly changed: Record<string, FileEntry | null>;
  readonly found: Record<string, FileEntry | null>;
  /** Paths that were not looked at because they are too much; `.` stands for the workspace itself. */
  readonly skipped: readonly string[];
}

interface CaptureOptions {
  readonly time: number;
  readonly before: FileEntry | undefined;
  readonly maxBytes?: number;
  readonly ignored?: boolean;
}

/** Sees what changed in the workspace, keeping contents as it goes. */
export class ChangeDetector {
  readonly root: string;
  readonly stagingName: string;
  readonly #skip: ((path: string) => boolean) | undefined;
  readonly #limits: DetectorLimits;
  readonly #blobs: BlobStore;
  #kept = 0;
  #keptIgnored = 0;
  /** Files that an ignore rule hid at some look of this process. */
  readonly #ignored = new Set<string>();
  #git: Map<string, GitStamp> | undefined | "unread" = "unread";

  constructor(options: DetectorOptions) {
    this.root = options.root;
    this.stagingName = options.stagingName;
    this.#skip = options.skip;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#blobs = new BlobStore(options.blobs);
  }

  absolute(path: string): string {
    return /^([\\/]|[A-Za-z]:)/.test(path) ? path : `${this.root}/${path}`;
  }

  /** The name a path has in snapshots. */
  relative(absolute: string): string {
    const plain = absolute.replaceAll("\\", "/");
    const root = this.root.replaceAll("\\", "/");
    return relativeTo(plain, root) ?? plain;
  }

  /** Reports whether a name in snapshots is a file of the workspace that exists now. */
  holds(path: string): boolean {
    if (path === this.absolute(path)) return false;
    try {
      return !Deno.lstatSync(this.absolute(path)).isDirectory;
    } catch {
      return false;
    }
  }

  isIgnored(path: string): boolean {
    return this.#ignored.has(path);
  }

  /** Compares the workspace with what is known. `since` is when that was; undefined at the first look. */
  async detect(known: ReadonlyMap<string, FileEntry | null>, since: number | undefined): Promise<Changes> {
    const time = Date.now();
    const { files, ignored, partial, skipped } = await this.#scan(this.#limits.files);
    this.#removeStaged(files);
    if (partial) files.clear();
    for (const path of ignored) this.#ignored.add(path);
    for (const path of known.keys()) if (!files.has(path)) this.#lookAt(path, files);
    const entries = await this.#entries({ files, ignored }, known, time);
    const changed: Changes["changed"] = {};
    const found: Changes["found"] = {};
    const inodes = new Set<number>();
    for (const entry of known.values()) if (entry?.i) inodes.add(entry.i);
    for (const [path, stat] of files) {
      const before = known.get(path);
      const entry = entries.get(path);
      if (!entry || (before && before.h === entry.h && isSameStamp(before, entry))) continue;
      const wasThere = before === undefined &&
        (since === undefined || (existedAt(stat, since) && !inodes.has(entry.i)));
      if (wasThere) found[path] = entry;
      else if (!before || !isSameContent(before, entry)) changed[path] = entry;
      else found[path] = entry;
    }
    for (const [path, before] of known) if (before && !files.has(path)) changed[path] = null;
    this.#git = "unread";
    return { time, changed, found, skipped: partial ? ["."] : skipped };
  }

  /** A rewind that was killed may have left the file that it was about to put in place. */
  #removeStaged(files: Map<string, Deno.FileInfo>): void {
    for (const path of files.keys()) {
      if (!path.endsWith(this.stagingName)) continue;
      files.delete(path);
      try {
        Deno.removeSync(this.absolute(path));
      } catch {
        // It stays, and is no file of the user's.
      }
    }
  }

  #scan(maxFiles: number): Promise<Scan> {
    const { ignoredFiles, ignoredDirectoryFiles } = this.#limits;
    return scanWorkspace({
      root: this.root,
      maxFiles,
      maxIgnored: { files: ignoredFiles, perDirectory: ignoredDirectoryFiles },
      ...(this.#skip ? { skip: this.#skip } : {}),
    });
  }

  /** Returns the files as they are now, with the contents of those that are new or different kept. */
  async #entries(
    { files, ignored }: Pick<Scan, "files" | "ignored">,
    known: ReadonlyMap<string, FileEntry | null>,
    time: number,
  ): Promise<Map<string, FileEntry>> {
    const entries = new Map<string, FileEntry>();
    const read: [path: string, stat: Deno.FileInfo][] = [];
    for (const [path, stat] of files) {
      // Most files are as they were, or as git has them: a promise for each would cost more than the look
      // itself.
      const entry = this.#asKnown(path, stat, { time, before: known.get(path) ?? undefined });
      if (entry) entries.set(path, entry);
      else read.push([path, stat]);
    }
    // Hashing goes on in other threads, several at a time.
    for (let at = 0; at < read.length; at += AT_ONCE) {
      await Promise.all(
        read.slice(at, at + AT_ONCE).map(async ([path, stat]) => {
          const before = known.get(path) ?? undefined;
          const entry = await this.#capture(path, stat, { time, before, ignored: ignored.has(path) });
          if (entry) entries.set(path, entry);
        }),
      );
    }
    this.#blobs.flush();
    return entries;
  }

  #lookAt(path: string, files: Map<string, Deno.FileInfo>): void {
    try {
      const stat = Deno.lstatSync(this.absolute(path));
      if (stat.isFile || stat.isSymlink) files.set(path, stat);
    } catch {
      // Absent, or below something that is no directory any more.
    }
  }

  /** The file as it is now with its content kept, whatever ignore rules say; null when it is absent. */
  async keep(path: string): Promise<FileEntry | null> {
    let stat: Deno.FileInfo;
    try {
      stat = Deno.lstatSync(this.absolute(path));
    } catch {
      return null;
    }
    const maxBytes = this.#limits.toolFileBytes;
    const options = { time: Date.now(), before: undefined, maxBytes };
    const entry = this.#asKnown(path, stat, options) ?? await this.#capture(path, stat, options) ?? null;
    this.#blobs.flush();
    return entry;
  }

  /** The entry of a file whose content need not be read. */
  #asKnown(
    path: string,
    stat: Deno.FileInfo,
    { time, before }: { time: number; before: FileEntry | undefined },
  ): FileEntry | undefined {
    if (before) {
      const entry = entryOf(stat, time);
      if (entry && isSameStamp(before, entry)) return before;
    }
    if (this.#git === "unread") this.#git = readGitIndex(this.root);
    const git = this.#git?.get(path);
    const clean = git && !stat.isSymlink && git.size === stat.size &&
      git.mtimeMs === stat.mtime?.getTime() && git.ino === (stat.ino ?? 0) >>> 0;
    return clean ? entryOf(stat, time, git.id) : undefined;
  }

  async #capture(
    path: string,
    stat: Deno.FileInfo,
    options: CaptureOptions,
  ): Promise<FileEntry | undefined> {
    const entry = entryOf(stat, options.time);
    if (!entry) return undefined;
    const { before } = options;
    // What a tool asked to keep stays kept, however large.
    const limit = options.maxBytes ?? (before?.h ? this.#limits.toolFileBytes : this.#limits.fileBytes);
    if (entry.s > limit || this.#kept + entry.s > this.#limits.totalBytes) return entry;
    if (options.ignored) {
      if (this.#keptIgnored + entry.s > this.#limits.ignoredBytes) return entry;
      this.#keptIgnored += entry.s;
    }
    return await this.#store(path, entry);
  }

  async #store(path: string, entry: FileEntry): Promise<FileEntry | undefined> {
    const absolute = this.absolute(path);
    try {
      const content = entry.l
        ? new TextEncoder().encode(Deno.readLinkSync(absolute))
        : Deno.readFileSync(absolute);
      this.#kept += content.length;
      return { ...entry, h: await this.#blobs.put(content), s: content.length };
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      if (error instanceof Deno.errors.PermissionDenied) return entry;
      throw error;
    }
  }

  /** The content of an entry, or undefined when it was not kept. */
  async content(entry: FileEntry): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (entry.h === null) return undefined;
    const bytes = this.#blobs.get(entry.h) ?? await readGitBlob(this.root, entry.h);
    // A repository that converts line endings holds other bytes than the file had.
    return bytes?.length === entry.s ? bytes : undefined;
  }
}
