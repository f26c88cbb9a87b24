import { message } from "../../../core/mod.ts";
import { IgnoreScope, isTelling } from "../../../path/ignore_files.ts";
import { reported, searchTarget, shown } from "../../search/search_target.ts";
import type { TreeScope } from "../../search/walk.ts";
import { failure, type ToolContext, type ToolResult } from "../../tool.ts";
import { DEFAULT_CAPS, keepHead } from "../../truncation.ts";

const DEFAULT_LIMIT = 500;

export function ls(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  return reported(async () => {
    const target = await searchTarget(context, args.path);
    if (target.isFile) {
      return failure(`Cannot list ${shown(target.path, target)}: it is a file`, "use read_file");
    }
    const offset = typeof args.offset === "number" ? args.offset : 1;
    const limit = typeof args.limit === "number" ? args.limit : DEFAULT_LIMIT;
    const tree = await listTree({
      root: target.path,
      cwd: target.cwd,
      depth: typeof args.depth === "number" ? args.depth : 1,
      all: args.all === true,
      hidden: (path) => context.paths.hidden(path),
      signal: context.signal,
    });
    const page = tree.entries.slice(offset - 1, offset - 1 + limit);
    const total = tree.entries.length;
    const next = offset + page.length;
    const notes: string[] = [];
    if (page.length === 0 && total > 0) notes.push(`[there are only ${total} entries]`);
    else if (next <= total) {
      notes.push(`[entries ${offset}-${next - 1} of ${total}; continue with offset ${next}]`);
    }
    if (tree.more) notes.push("[too many entries to count; list a directory below]");
    if (tree.ignored > 0) notes.push(`[${tree.ignored} ignored not shown; all shows them]`);
    const cut = keepHead(page.map(line).join("\n"), DEFAULT_CAPS, {
      next: "use offset, limit or a smaller depth",
    });
    const truncated = cut.truncated ??
      (next <= total
        ? { cut: "tail" as const, reason: "lines" as const, keptBytes: cut.text.length, totalLines: total }
        : undefined);
    const head = `${shown(target.path, target)}/`.replace(/^\.\//, "./");
    return {
      content: [head, ...(cut.text === "" ? [] : [cut.text]), ...(total === 0 ? ["(empty)"] : []), ...notes]
        .join("\n"),
      summary: total === 1 ? message`1 entry` : message`${total} entries`,
      ...(truncated ? { truncated } : {}),
    };
  });
}

function line(entry: TreeEntry): string {
  return `${"  ".repeat(entry.level)}${entry.name}${entry.mark}`;
}

interface TreeOptions extends TreeScope {
  readonly depth: number;
  /** Lists what ignore files hide, too, and `.git`. */
  readonly all: boolean;
}

interface TreeEntry {
  readonly name: string;
  readonly level: number;
  /** `/` for directories, ` -> target` for links, ` (unreadable)` and the like. */
  readonly mark: string;
}

interface Tree {
  readonly entries: readonly TreeEntry[];
  readonly ignored: number;
  readonly more: boolean;
}

const MAX_ENTRIES = 20_000;

async function listTree(options: TreeOptions): Promise<Tree> {
  const listing = new Listing(options);
  await listing.directory(options.root, 1, IgnoreScope.above(options.root, options.cwd));
  return { entries: listing.entries, ignored: listing.ignored, more: listing.entries.length >= MAX_ENTRIES };
}

class Listing {
  readonly entries: TreeEntry[] = [];
  ignored = 0;
  readonly #options: TreeOptions;

  constructor(options: TreeOptions) {
    this.#options = options;
  }

  async directory(path: string, level: number, outer: IgnoreScope): Promise<void> {
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
        await this.directory(child, level + 1, scope);
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
