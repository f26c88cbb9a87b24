import { IgnoreScope, isTelling } from "../../path/ignore_scope.ts";

export interface ScanOptions {
  /** Real absolute path of the workspace. */
  readonly root: string;
  /** Absolute paths that are left out, such as the Reasonix home. */
  readonly skip?: (path: string) => boolean;
  readonly maxFiles: number;
  /** Files that an ignore rule hides: how many in all, and in one ignored directory. */
  readonly maxIgnored: { readonly files: number; readonly perDirectory: number };
}

export interface Scan {
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
  // Last, so that a full directory of build output leaves room for single files such as `.env`.
  for (const path of found.ignoredDirectories) takeIgnored(options, path, found);
  return { files, ignored, skipped: skipped.sort(), partial: false };
}

function scanDirectory(options: ScanOptions, directory: Directory, found: Found): void {
  const { root } = options;
  const telling = new Set<string>();
  const entries = entriesOf(options, directory.path, telling);
  const scope = directory.outer.enter(directory.path === "" ? root : `${root}/${directory.path}`, telling);
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
  /** Relative to the root. */
  readonly path: string;
}

/**
 * Returns what a directory holds, without what is never looked at; nothing when it cannot be read. `telling`
 * takes the names that decide what is ignored.
 */
function entriesOf({ root, skip }: ScanOptions, directory: string, telling?: Set<string>): Entry[] {
  const entries: Entry[] = [];
  try {
    for (const entry of Deno.readDirSync(directory === "" ? root : `${root}/${directory}`)) {
      const path = directory === "" ? entry.name : `${directory}/${entry.name}`;
      if (isTelling(entry.name)) telling?.add(entry.name);
      if (!NEVER.has(entry.name) && !skip?.(`${root}/${path}`)) entries.push({ ...entry, path });
    }
  } catch {
    // Removed since its parent was read, or not ours to read.
  }
  return entries;
}

/** Returns whether the file is still there. */
function take({ root }: ScanOptions, path: string, { files }: Found): boolean {
  try {
    files.set(path, Deno.lstatSync(`${root}/${path}`));
    return true;
  } catch {
    return false;
  }
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
