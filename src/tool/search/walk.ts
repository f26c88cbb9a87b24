import { IgnoreScope, isTelling } from "../../path/ignore_files.ts";

/** Options of a walk through a tree. All paths are absolute and real, with `/` between names. */
interface WalkOptions {
  readonly root: string;
  /** Directory that anchored patterns of the user's global ignore file count from. */
  readonly cwd: string;
  readonly hidden: (path: string) => boolean;
  /**
   * Selects files by directory (with a slash at its end) and name. It is called before ignored and hidden
   * paths are looked up, which costs more.
   */
  readonly wanted?: (directory: string, name: string) => boolean;
  readonly prune?: (path: string, name: string) => boolean;
  readonly signal: AbortSignal;
  /** Time (ms since the epoch) after which the walk stops and reports it. */
  readonly deadline?: number;
  /** Milliseconds of walking after which the event loop gets its turn. */
  readonly sliceMs?: number;
}

/** Entries between two looks at the clock, which costs as much as an entry; hostile rules cost more. */
const STEP = 8;
const DOT = 46;

/**
 * Reports every regular file below the root that is neither ignored nor hidden, dot files included, `.git`
 * left out. Symbolic links are not followed and not reported. Order is the file system's.
 */
export async function walkFiles(
  options: WalkOptions,
  found: (path: string) => void,
): Promise<{ readonly timedOut: boolean }> {
  const { root, cwd, hidden, wanted, prune, signal, deadline = Infinity, sliceMs = 25 } = options;
  const stack = [{ path: root, outer: IgnoreScope.above(root, cwd) }];
  let timedOut = false;
  let left = STEP;
  let sliceEnd = performance.now() + sliceMs;
  const isSliceOver = () => {
    if (--left > 0) return false;
    left = STEP;
    return performance.now() >= sliceEnd;
  };
  const pause = async () => {
    await new Promise((resolve) => setTimeout(resolve, 0));
    signal.throwIfAborted();
    timedOut = Date.now() > deadline;
    sliceEnd = performance.now() + sliceMs;
  };
  for (let directory = stack.pop(); directory && !timedOut; directory = stack.pop()) {
    const { path: parent, outer } = directory;
    const prefix = parent.endsWith("/") ? parent : `${parent}/`;
    const files: string[] = [];
    const directories: string[] = [];
    const ruleFiles = new Set<string>();
    for (const { name, isFile, isDirectory } of entriesOf(parent)) {
      if (isSliceOver()) await pause();
      if (timedOut) break;
      if (name.charCodeAt(0) === DOT) {
        if (isTelling(name)) ruleFiles.add(name);
        if (name === ".git") continue;
      }
      if (isDirectory) directories.push(name);
      else if (isFile && (!wanted || wanted(prefix, name))) files.push(name);
    }
    const scope = outer.enter(parent, ruleFiles);
    for (const [at, name] of [...files, ...directories].entries()) {
      if (isSliceOver()) await pause();
      if (timedOut) break;
      const path = prefix + name;
      const isDirectory = at >= files.length;
      if (scope.ignores(path, name, isDirectory) || hidden(path)) continue;
      if (!isDirectory) found(path);
      else if (!prune?.(path, name)) stack.push({ path, outer: scope });
    }
  }
  return { timedOut };
}

function entriesOf(directory: string): Iterable<Deno.DirEntry> {
  try {
    return Deno.readDirSync(directory);
  } catch {
    return [];
  }
}
