import { IgnoreScope, isTelling } from "../../path/ignore_files.ts";
import { relativeTo } from "../../path/lexical.ts";
import { readSmallText, sortedEntries } from "../../path/probe.ts";
import { findGit, gitEnvironment, runProgram } from "../../util/process.ts";
import { entryOf, existedAt, type FileEntry, isSameContent, isSameStamp } from "./timeline.ts";
import { attempt } from "../../util/lazy.ts";
import { readPieceOf } from "../../util/file_bytes.ts";
import { joinBytes } from "../../util/bytes.ts";

/** Bytes gathered before they are written. */
const BATCH = 4 << 20;

interface Location {
  readonly pack: string;
  readonly offset: number;
  readonly length: number;
}

/**
 * Contents of files by their git blob id. SHA-1 is git's choice; sharing it means that what the user's
 * repository already holds need not be stored a second time.
 *
 * Many contents share one file, because making files is what costs time: each writer appends to a pack of its
 * own, and to a list of what is where in it. No other process touches a pack, so a fork can link it.
 *
 * Contract: what `put` returned can be read by other processes after `flush`.
 */
class BlobStore {
  readonly #dir: string;
  #index: Map<string, Location> | undefined;
  /** The pack this writer appends to, and its size. */
  #pack = "";
  #size = 0;
  #waiting: { readonly id: string; readonly content: Uint8Array<ArrayBuffer> }[] = [];
  #waitingBytes = 0;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Stores content and returns its id. */
  async put(content: Uint8Array<ArrayBuffer>): Promise<string> {
    const id = await blobId(content);
    const index = this.#index ??= this.#load();
    if (index.has(id)) return id;
    if (this.#pack === "") this.#pack = crypto.randomUUID().slice(0, 8);
    index.set(id, { pack: this.#pack, offset: this.#size + this.#waitingBytes, length: content.length });
    this.#waiting.push({ id, content });
    this.#waitingBytes += content.length;
    if (this.#waitingBytes > BATCH) this.flush();
    return id;
  }

  /**
   * Writes what waits: contents first, so that the list never names what is not there. Throws what the system
   * says.
   */
  flush(): void {
    if (this.#waiting.length === 0) return;
    const bytes = joinBytes(this.#waiting.map(({ content }) => content));
    let lines = "";
    let at = 0;
    for (const { id, content } of this.#waiting) {
      lines += `${id} ${this.#size + at} ${content.length}\n`;
      at += content.length;
    }
    const base = `${this.#dir}/${this.#pack}`;
    this.#waiting = [];
    this.#waitingBytes = 0;
    try {
      Deno.mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
      Deno.writeFileSync(`${base}.pack`, bytes, { append: true, mode: 0o600 });
      Deno.writeTextFileSync(`${base}.list`, lines, { append: true, mode: 0o600 });
      this.#size += at;
    } catch (error) {
      // How much of it is there is not known: what follows goes elsewhere.
      this.#index = undefined;
      this.#pack = "";
      this.#size = 0;
      throw error;
    }
  }

  /** The content with an id, or undefined when it is not stored. */
  get(id: string): Uint8Array<ArrayBuffer> | undefined {
    this.flush();
    const found = (this.#index ??= this.#load()).get(id);
    if (!found) return undefined;
    try {
      const bytes = readPieceOf(`${this.#dir}/${found.pack}.pack`, found.offset, found.length);
      return bytes.length < found.length ? undefined : bytes;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  }

  #load(): Map<string, Location> {
    const index = new Map<string, Location>();
    for (const { name } of sortedEntries(this.#dir)) {
      if (!name.endsWith(".list")) continue;
      const pack = name.slice(0, -".list".length);
      for (const line of Deno.readTextFileSync(`${this.#dir}/${name}`).split("\n").slice(0, -1)) {
        const [id = "", offset, length] = line.split(" ");
        index.set(id, { pack, offset: Number(offset), length: Number(length) });
      }
    }
    return index;
  }
}

const HEADER = new TextEncoder();

async function blobId(content: Uint8Array<ArrayBuffer>): Promise<string> {
  const bytes = joinBytes([HEADER.encode(`blob ${content.length}\0`), content]);
  return new Uint8Array(await crypto.subtle.digest("SHA-1", bytes)).toHex();
}

/** A file as git last saw it. */
interface GitStamp {
  readonly id: string;
  readonly size: number;
  readonly mtimeMs: number;
  /** Lower 32 bits. */
  readonly ino: number;
}

/**
 * Reads the repository's index: the ids of files that are unchanged since git looked at them. Undefined when
 * there is none, or when checked-out bytes may differ from stored ones (line-ending conversion, filters).
 *
 * Only reads. Format: git's Documentation/gitformat-index.txt, versions 2 and 3.
 */
function readGitIndex(root: string): Map<string, GitStamp> | undefined {
  if (Deno.build.os === "windows" || convertsContent(root)) return undefined;
  let bytes: Uint8Array;
  let written: number;
  try {
    const path = `${root}/.git/index`;
    const info = Deno.statSync(path);
    if (!info.isFile) return undefined;
    written = info.mtime?.getTime() ?? 0;
    bytes = Deno.readFileSync(path);
  } catch {
    return undefined;
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 12 || view.getUint32(0) !== 0x44495243) return undefined;
  const version = view.getUint32(4);
  if (version !== 2 && version !== 3) return undefined;
  return readEntries(view, view.getUint32(8), written);
}

const ENTRY_HEAD = 62;

function readEntries(view: DataView, count: number, written: number): Map<string, GitStamp> | undefined {
  const files = new Map<string, GitStamp>();
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  const decoder = new TextDecoder();
  let at = 12;
  for (let n = 0; n < count; n++) {
    if (at + ENTRY_HEAD > bytes.length) return undefined;
    const mtimeMs = view.getUint32(at + 8) * 1000 + Math.floor(view.getUint32(at + 12) / 1e6);
    const flags = view.getUint16(at + 60);
    const from = at + ENTRY_HEAD + (flags & 0x4000 ? 2 : 0);
    const to = bytes.indexOf(0, from);
    if (to < 0) return undefined;
    const path = decoder.decode(bytes.subarray(from, to));
    if (path === ".gitattributes" || path.endsWith("/.gitattributes")) return undefined;
    // A file as young as the index may have changed after git looked ("racy"); in conflict (stage > 0)
    // nothing is certain.
    if (mtimeMs < written && (flags & 0x3000) === 0) {
      files.set(path, {
        id: bytes.subarray(at + 40, at + 60).toHex(),
        size: view.getUint32(at + 36),
        mtimeMs,
        ino: view.getUint32(at + 20),
      });
    }
    at += (to - at + 8) & ~7;
  }
  return files;
}

function convertsContent(root: string): boolean {
  const home = Deno.env.get("HOME") ?? "";
  const configs = [
    `${root}/.git/config`,
    `${home}/.gitconfig`,
    `${Deno.env.get("XDG_CONFIG_HOME") ?? `${home}/.config`}/git/config`,
    "/etc/gitconfig",
  ];
  if (
    configs.some((path) => /autocrlf|\beol\b|attributesfile|objectformat/i.test(readSmallText(path) ?? ""))
  ) {
    return true;
  }
  return (readSmallText(`${root}/.git/info/attributes`) ?? "") !== "";
}

/**
 * Content of a blob of the repository, or undefined when it has none with that id. Changes nothing in the
 * repository.
 */
async function readGitBlob(root: string, id: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const git = findGit(root);
  if (git === undefined) return undefined;
  try {
    // Older versions would fetch a missing blob, by a program that the repository names.
    const options = ["-C", root, "--no-optional-locks", "-c", "protocol.allow=never"];
    const { code, stdout } = await runProgram([git, ...options, "cat-file", "blob", id], {
      env: gitEnvironment(),
    });
    return code === 0 ? stdout : undefined;
  } catch {
    return undefined;
  }
}

interface ScanOptions {
  /** Real absolute path of the workspace. */
  readonly root: string;
  /** Absolute paths that are left out, such as the Reasonix home. */
  readonly skip?: (path: string) => boolean;
  readonly maxFiles: number;
  /** Files that an ignore rule hides: how many in all, and in one ignored directory. */
  readonly maxIgnored: { readonly files: number; readonly perDirectory: number };
}

interface Scan {
  /** Files and links below the root, by path relative to the root. */
  readonly files: Map<string, Deno.FileInfo>;
  /** Those of them that an ignore rule hides. */
  readonly ignored: ReadonlySet<string>;
  /** Files and directories (with `/` at the end) that were left out because they are ignored and too many. */
  readonly skipped: readonly string[];
  /** True when there are more than `maxFiles`. */
  readonly partial: boolean;
}

/** Data of version control systems, which look after it themselves. */
const NEVER: ReadonlySet<string> = new Set([".git", ".hg", ".svn", ".jj"]);
/** Counts as ignored also where no rule says so. */
const DEPENDENCIES = "node_modules";

/**
 * Work is done in slices of this many milliseconds, so that a reply that streams in meanwhile is not held up.
 */
const SLICE_MS = 8;

interface Directory {
  /** Relative to the root; empty for the root itself. */
  readonly path: string;
  /** The scope of the directory above. */
  readonly outer: IgnoreScope;
}

interface Found {
  readonly files: Map<string, Deno.FileInfo>;
  readonly ignored: Set<string>;
  readonly skipped: string[];
  readonly directories: Directory[];
  readonly ignoredDirectories: string[];
}

/**
 * Looks at every file of the workspace, without reading contents; at ignored ones as far as the limits go.
 */
export async function scanWorkspace(options: ScanOptions): Promise<Scan> {
  const found: Found = {
    files: new Map(),
    ignored: new Set(),
    skipped: [],
    directories: [{ path: "", outer: IgnoreScope.above(options.root, options.root) }],
    ignoredDirectories: [],
  };
  const { files, ignored, skipped, directories } = found;
  let sliceEnd = performance.now() + SLICE_MS;
  for (let directory = directories.pop(); directory; directory = directories.pop()) {
    scanDirectory(options, directory, found);
    if (files.size >= options.maxFiles) return { files, ignored, skipped, partial: true };
    if (performance.now() > sliceEnd) {
      // Any trip through the event loop will do; the first timer of a process costs ten milliseconds.
      await Deno.lstat(options.root).catch(() => {});
      sliceEnd = performance.now() + SLICE_MS;
    }
  }
  // Last, so that a full directory of build output leaves space for single files such as `.env`.
  for (const path of found.ignoredDirectories) takeIgnored(options, path, found);
  return { files, ignored, skipped: skipped.sort(), partial: false };
}

function scanDirectory(options: ScanOptions, directory: Directory, found: Found): void {
  const { root } = options;
  const ruleNames = new Set<string>();
  const entries = entriesOf(options, directory.path, ruleNames);
  const scope = directory.outer.enter(directory.path === "" ? root : `${root}/${directory.path}`, ruleNames);
  for (const { path, name, isDirectory } of entries) {
    const ignored = name === DEPENDENCIES || scope.ignores(`${root}/${path}`, name, isDirectory);
    if (isDirectory) {
      if (ignored) found.ignoredDirectories.push(path);
      else found.directories.push({ path, outer: scope });
    } else if (!ignored) take(options, path, found);
    else if (found.ignored.size >= options.maxIgnored.files) found.skipped.push(path);
    else if (take(options, path, found)) found.ignored.add(path);
  }
}

interface Entry extends Deno.DirEntry {
  readonly path: string;
}

/**
 * Returns what a directory holds, without what is never looked at; nothing when it cannot be read.
 * `ruleNames` takes the names that decide what is ignored.
 */
function entriesOf({ root, skip }: ScanOptions, directory: string, ruleNames?: Set<string>): Entry[] {
  const entries: Entry[] = [];
  try {
    for (const entry of Deno.readDirSync(directory === "" ? root : `${root}/${directory}`)) {
      const path = directory === "" ? entry.name : `${directory}/${entry.name}`;
      if (isTelling(entry.name)) ruleNames?.add(entry.name);
      if (!NEVER.has(entry.name) && !skip?.(`${root}/${path}`)) entries.push({ ...entry, path });
    }
  } catch {
    // Removed since its parent was read, or not ours to read.
  }
  return entries;
}

/** Returns whether the file is still there. */
function take({ root }: ScanOptions, path: string, { files }: Found): boolean {
  const info = attempt(() => Deno.lstatSync(`${root}/${path}`));
  if (info) files.set(path, info);
  return info !== undefined;
}

/** Takes all files below an ignored directory, or none of them. */
function takeIgnored(options: ScanOptions, directory: string, found: Found): void {
  const { files, perDirectory } = options.maxIgnored;
  const limit = Math.min(perDirectory, files - found.ignored.size);
  const paths: string[] = [];
  const open = [directory];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const entry of entriesOf(options, next)) (entry.isDirectory ? open : paths).push(entry.path);
    if (paths.length + open.length > limit) {
      found.skipped.push(`${directory}/`);
      return;
    }
  }
  for (const path of paths) if (take(options, path, found)) found.ignored.add(path);
}

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

interface DetectorOptions {
  readonly root: string;
  readonly blobs: string;
  readonly skip?: (path: string) => boolean;
  readonly limits?: Partial<DetectorLimits>;
  /** The temporary name of a restored file, unique to this session. */
  readonly stagingName: string;
}

interface Changes {
  readonly time: number;
  readonly changed: Record<string, FileEntry | null>;
  readonly found: Record<string, FileEntry | null>;
  /** Paths that were not scanned because they are too large; `.` is the workspace itself. */
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
    return attempt(() => !Deno.lstatSync(this.absolute(path)).isDirectory) ?? false;
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
      // One that stays is no file of the user.
      attempt(() => Deno.removeSync(this.absolute(path)));
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
    // Hashing continues in other threads, several at a time.
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
    // It may be absent, or below something that is no directory any more.
    const stat = attempt(() => Deno.lstatSync(this.absolute(path)));
    if (stat?.isFile || stat?.isSymlink) files.set(path, stat);
  }

  /** The file as it is now with its content kept, whatever ignore rules say; null when it is absent. */
  async keep(path: string): Promise<FileEntry | null> {
    const stat = attempt(() => Deno.lstatSync(this.absolute(path)));
    if (!stat) return null;
    const maxBytes = this.#limits.toolFileBytes;
    const options = { time: Date.now(), before: undefined, maxBytes };
    const entry = this.#asKnown(path, stat, options) ?? await this.#capture(path, stat, options) ?? null;
    this.#blobs.flush();
    return entry;
  }

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
