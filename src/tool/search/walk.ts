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
    if (!visit(folder, options, stack, found)) unreadable++;
    if (performance.now() < sliceEnd) continue;
    await new Promise((resolve) => setTimeout(resolve, 0));
    options.signal.throwIfAborted();
    if (Date.now() > (options.deadline ?? Infinity)) return { unreadable, timedOut: true };
    sliceEnd = performance.now() + SLICE_MS;
  }
  return { unreadable, timedOut: false };
}

function visit(
  folder: Folder,
  options: WalkOptions,
  stack: Folder[],
  found: (path: string) => void,
): boolean {
  let entries: Deno.DirEntry[];
  try {
    entries = [...Deno.readDirSync(folder.path)];
  } catch {
    return false;
  }
  const scope = options.all ? folder.scope : scopeInside(folder, entries);
  const prefix = folder.path.endsWith("/") ? folder.path : `${folder.path}/`;
  for (const entry of entries) {
    if (entry.isSymlink || !(entry.isFile || entry.isDirectory)) continue;
    const { name } = entry;
    if (name === ".git") continue;
    const path = prefix + name;
    if (!options.all && scope.ignores(path, name, entry.isDirectory)) continue;
    if (options.hidden(path)) continue;
    if (entry.isFile) found(path);
    else if (!options.prune?.(path, name)) stack.push({ path, scope });
  }
  return true;
}

function scopeInside(folder: Folder, entries: readonly Deno.DirEntry[]): IgnoreScope {
  let telling: Set<string> | undefined;
  for (const { name } of entries) {
    if (name.charCodeAt(0) === 46 && isTelling(name)) (telling ??= new Set()).add(name);
  }
  return telling ? folder.scope.enter(folder.path, telling) : folder.scope;
}
