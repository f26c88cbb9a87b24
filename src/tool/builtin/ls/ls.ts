import { listTree, type TreeEntry } from "../../search/list_tree.ts";
import { reported, searchTarget, shown } from "../../search/place.ts";
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
      notes.push(`[entries ${offset}-${next - 1} of ${total}; go on with offset ${next}]`);
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
      summary: `${total} ${total === 1 ? "entry" : "entries"}`,
      ...(truncated ? { truncated } : {}),
    };
  });
}

function line(entry: TreeEntry): string {
  return `${"  ".repeat(entry.level)}${entry.name}${entry.mark}`;
}
