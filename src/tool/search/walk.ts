import { IgnoreScope, isTelling } from "../../path/ignore_files.ts";

/** The visible part of a tree. All paths are absolute and real, with `/` between names. */
export interface TreeScope {
  readonly root: string;
  /** Directory that anchored patterns of the user's global ignore file count from. */
  readonly cwd: string;
  /** Paths that may not be seen at all. */
  readonly hidden: (path: string) => boolean;
  readonly signal: AbortSignal;
}

export interface WalkOptions extends TreeScope {
  readonly all?: boolean;
  /**
   * Files worth reporting, by directory (with a slash at its end) and name. Asked before what is ignored or
   * hidden is looked up, which costs more.
   */
  readonly wanted?: (directory: string, name: string) => boolean;
  /** Directories not worth entering. */
  readonly prune?: (path: string, name: string) => boolean;
  /** Time (ms since the epoch) after which the walk stops and says so. */
  readonly deadline?: number;
  /** Milliseconds of walking after which the event loop gets its turn; default: 25. */
  readonly sliceMs?: number;
}

export interface WalkReport {
  readonly unreadable: number;
  readonly timedOut: boolean;
}

const SLICE_MS = 25;
/** Entries between two looks at the clock, which costs as much as an entry; hostile rules cost more. */
const STEP = 8;

interface Directory {
  readonly path: string;
  readonly scope: IgnoreScope;
}

interface WalkOutput {
  readonly stack: Directory[];
  readonly found: (path: string) => void;
}

/**
 * Reports every regular file below the root that is neither ignored nor hidden, dot files included, `.git`
 * left out. Symbolic links are not followed and not reported. Order is the file system's.
 */
export async function walkFiles(options: WalkOptions, found: (path: string) => void): Promise<WalkReport> {
  const stack: Directory[] = [{ path: options.root, scope: IgnoreScope.above(options.root, options.cwd) }];
  const { sliceMs = SLICE_MS } = options;
  let unreadable = 0;
  let sliceEnd = performance.now() + sliceMs;
  for (let directory = stack.pop(); directory; directory = stack.pop()) {
    const visit = new Visit(directory, options, { stack, found });
    while (!visit.proceed(sliceEnd) || performance.now() >= sliceEnd) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      options.signal.throwIfAborted();
      if (Date.now() > (options.deadline ?? Infinity)) return { unreadable, timedOut: true };
      sliceEnd = performance.now() + sliceMs;
      if (visit.done) break;
    }
    if (visit.unreadable) unreadable++;
  }
  return { unreadable, timedOut: false };
}

/** The visit of one directory. It can be interrupted: there may be many names, and rules take their time. */
class Visit {
  done = false;
  unreadable = false;
  readonly #directory: Directory;
  readonly #options: WalkOptions;
  readonly #out: WalkOutput;
  readonly #prefix: string;
  readonly #entries: Iterator<Deno.DirEntry> | undefined;
  #listed = false;
  #shown = 0;
  #scope: IgnoreScope;
  /** Names in the directory: of files those that are wanted. */
  readonly #directories: string[] = [];
  readonly #files: string[] = [];
  /** Names that change what is ignored here and below. */
  #ignoreNames: Set<string> | undefined;

  constructor(directory: Directory, options: WalkOptions, out: WalkOutput) {
    this.#directory = directory;
    this.#options = options;
    this.#out = out;
    this.#scope = directory.scope;
    this.#prefix = directory.path.endsWith("/") ? directory.path : `${directory.path}/`;
    try {
      this.#entries = Deno.readDirSync(directory.path)[Symbol.iterator]();
    } catch {
      this.unreadable = true;
    }
  }

  /** Continues until the time is over; true: it is finished. */
  proceed(end: number): boolean {
    if (this.done) return true;
    this.#listed ||= this.#list(end);
    return this.done = this.#listed && this.#show(end);
  }

  /** One pass over the entries: in a large tree it is most of the work. */
  #list(end: number): boolean {
    const { wanted } = this.#options;
    if (!this.#entries) return true;
    for (let left = STEP;; left--) {
      if (left === 0) {
        if (performance.now() >= end) return false;
        left = STEP;
      }
      const next = this.#entries.next();
      if (next.done) break;
      const entry = next.value;
      const { name } = entry;
      if (name.charCodeAt(0) === 46) {
        if (isTelling(name)) (this.#ignoreNames ??= new Set()).add(name);
        if (name === ".git") continue;
      }
      if (entry.isFile) {
        if (!wanted || wanted(this.#prefix, name)) this.#files.push(name);
      } else if (entry.isDirectory) this.#directories.push(name);
    }
    if (!this.#options.all && this.#ignoreNames) {
      this.#scope = this.#directory.scope.enter(this.#directory.path, this.#ignoreNames);
    }
    return true;
  }

  /** Reports files, and notes directories that are to be visited. */
  #show(end: number): boolean {
    const { stack, found } = this.#out;
    const files = this.#files.length;
    for (let left = STEP; this.#shown < files + this.#directories.length; left--) {
      if (left === 0) {
        if (performance.now() >= end) return false;
        left = STEP;
      }
      const at = this.#shown++;
      const isDirectoryEntry = at >= files;
      const name = (isDirectoryEntry ? this.#directories[at - files] : this.#files[at]) ?? "";
      const path = this.#prefix + name;
      if (!this.#options.all && this.#scope.ignores(path, name, isDirectoryEntry)) continue;
      if (this.#options.hidden(path)) continue;
      if (!isDirectoryEntry) found(path);
      else if (!this.#options.prune?.(path, name)) stack.push({ path, scope: this.#scope });
    }
    return true;
  }
}
