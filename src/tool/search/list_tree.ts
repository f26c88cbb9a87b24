import { IgnoreScope, isTelling } from "../../path/ignore_scope.ts";

export interface TreeOptions {
  readonly root: string;
  readonly cwd: string;
  readonly depth: number;
  /** Lists what ignore files hide, too, and `.git`. */
  readonly all: boolean;
  readonly hidden: (path: string) => boolean;
  readonly signal: AbortSignal;
}

export interface TreeEntry {
  readonly name: string;
  /** 1 for the entries of the root. */
  readonly level: number;
  /** `/` for directories, ` -> target` for links, ` (unreadable)` and the like. */
  readonly mark: string;
}

export interface Tree {
  readonly entries: readonly TreeEntry[];
  readonly ignored: number;
  /** There were more than are kept. */
  readonly more: boolean;
}

const MAX_ENTRIES = 20_000;

/** Lists a directory and what is below it, depth first, by name. */
export async function listTree(options: TreeOptions): Promise<Tree> {
  const listing = new Listing(options);
  await listing.folder(options.root, 1, IgnoreScope.above(options.root, options.cwd));
  return { entries: listing.entries, ignored: listing.ignored, more: listing.entries.length >= MAX_ENTRIES };
}

class Listing {
  readonly entries: TreeEntry[] = [];
  ignored = 0;
  readonly #options: TreeOptions;

  constructor(options: TreeOptions) {
    this.#options = options;
  }

  async folder(path: string, level: number, outer: IgnoreScope): Promise<void> {
    this.#options.signal.throwIfAborted();
    const found: Deno.DirEntry[] = [];
    for await (const entry of Deno.readDir(path)) found.push(entry);
    found.sort((a, b) => a.name < b.name ? -1 : 1);
    const scope = outer.enter(path, new Set(found.map((entry) => entry.name).filter(isTelling)));
    for (const entry of found) {
      if (this.entries.length >= MAX_ENTRIES) return;
      const child = path === "/" ? `/${entry.name}` : `${path}/${entry.name}`;
      if (this.#options.hidden(child)) continue;
      if (
        !this.#options.all && (entry.name === ".git" || scope.ignores(child, entry.name, entry.isDirectory))
      ) {
        if (entry.name !== ".git") this.ignored++;
        continue;
      }
      const at = this.entries.push({ name: entry.name, level, mark: await mark(entry, child) }) - 1;
      if (!entry.isDirectory || level >= this.#options.depth || entry.name === ".git") continue;
      try {
        await this.folder(child, level + 1, scope);
      } catch (error) {
        this.#options.signal.throwIfAborted();
        if (!(error instanceof Deno.errors.PermissionDenied || error instanceof Deno.errors.NotFound)) {
          throw error;
        }
        this.entries[at] = { name: entry.name, level, mark: "/ (unreadable)" };
      }
    }
  }
}

async function mark(entry: Deno.DirEntry, path: string): Promise<string> {
  if (entry.isDirectory) return "/";
  if (entry.isFile) return "";
  if (!entry.isSymlink) return " (special file)";
  try {
    return ` -> ${await Deno.readLink(path)}`;
  } catch {
    return " (link)";
  }
}
