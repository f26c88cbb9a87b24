import { IgnoreScope, isTelling } from "../../path/ignore_scope.ts";

/** Options of a walk through a tree. All paths are absolute and real, with `/` between names. */
export interface WalkOptions {
  readonly root: string;
  /** Directory that anchored patterns of the user's global ignore file count from. */
  readonly cwd: string;
  /** Paths that may not be seen at all. */
  readonly hidden: (path: string) => boolean;
  /** Lists what ignore files hide, too. */
  readonly all?: boolean;
  /**
   * Files worth reporting, by directory (with a slash at its end) and name. Asked before what is ignored or
   * hidden is looked up, which costs more.
   */
  readonly wanted?: (folder: string, name: string) => boolean;
  /** Directories not worth entering. */
  readonly prune?: (path: string, name: string) => boolean;
  readonly signal: AbortSignal;
  /** Time (ms since the epoch) after which the walk stops and says so. */
  readonly deadline?: number;
}

export interface WalkReport {
  /** Directories that could not be listed. */
  readonly unreadable: number;
  readonly timedOut: boolean;
}

/** The event loop gets its turn after this many milliseconds of walking. */
const SLICE_MS = 25;
/** Entries of one directory between two looks at the clock; hostile names and rules cost milliseconds each. */
const STEP = 32;

interface Folder {
  readonly path: string;
  readonly scope: IgnoreScope;
}

/**
 * Reports every regular file below the root that is neither ignored nor hidden, dot files included, `.git`
 * left out. Symbolic links are not followed and not reported. Order is the file system's.
 */
export async function walkFiles(options: WalkOptions, found: (path: string) => void): Promise<WalkReport> {
  const stack: Folder[] = [{ path: options.root, scope: IgnoreScope.above(options.root, options.cwd) }];
  let unreadable = 0;
  let sliceEnd = performance.now() + SLICE_MS;
  for (let folder = stack.pop(); folder; folder = stack.pop()) {
    const steps = visit(folder, options, stack, found);
    for (let step = steps.next();; step = steps.next()) {
      if (step.done && !step.value) unreadable++;
      if (performance.now() >= sliceEnd) {
        await new Promise((resolve) => setTimeout(resolve, 0));
        options.signal.throwIfAborted();
        if (Date.now() > (options.deadline ?? Infinity)) return { unreadable, timedOut: true };
        sliceEnd = performance.now() + SLICE_MS;
      }
      if (step.done) break;
    }
  }
  return { unreadable, timedOut: false };
}

/** Visits one directory, with a pause after every {@linkcode STEP} entries; false: it cannot be listed. */
function* visit(
  folder: Folder,
  options: WalkOptions,
  stack: Folder[],
  found: (path: string) => void,
): Generator<void, boolean> {
  const prefix = folder.path.endsWith("/") ? folder.path : `${folder.path}/`;
  const listed = yield* list(folder.path, prefix, options.wanted);
  if (!listed) return false;
  const scope = options.all || !listed.telling
    ? folder.scope
    : folder.scope.enter(folder.path, listed.telling);
  const shows = (path: string, name: string, isFolder: boolean) =>
    (options.all || !scope.ignores(path, name, isFolder)) && !options.hidden(path);
  let left = STEP;
  for (const name of listed.files) {
    if (--left === 0) yield void (left = STEP);
    const path = prefix + name;
    if (shows(path, name, false)) found(path);
  }
  for (const name of listed.folders) {
    if (--left === 0) yield void (left = STEP);
    const path = prefix + name;
    if (shows(path, name, true) && !options.prune?.(path, name)) stack.push({ path, scope });
  }
  return true;
}

/** Names in one directory. */
interface Listed {
  readonly folders: readonly string[];
  /** Those that are wanted. */
  readonly files: readonly string[];
  /** Names that change what is ignored here and below. */
  readonly telling: ReadonlySet<string> | undefined;
}

/** One pass over the entries: in a large tree it is most of the work. Undefined for what cannot be listed. */
function* list(
  path: string,
  prefix: string,
  wanted: WalkOptions["wanted"],
): Generator<void, Listed | undefined> {
  let entries: Iterable<Deno.DirEntry>;
  try {
    entries = Deno.readDirSync(path);
  } catch {
    return undefined;
  }
  const folders: string[] = [];
  const files: string[] = [];
  let telling: Set<string> | undefined;
  let left = STEP;
  for (const entry of entries) {
    if (--left === 0) yield void (left = STEP);
    const { name } = entry;
    if (name.charCodeAt(0) === 46) {
      if (isTelling(name)) (telling ??= new Set()).add(name);
      if (name === ".git") continue;
    }
    if (entry.isFile) {
      if (!wanted || wanted(prefix, name)) files.push(name);
    } else if (entry.isDirectory) folders.push(name);
  }
  return { folders, files, telling };
}
