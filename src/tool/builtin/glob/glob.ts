import { reported, searchTarget, shown } from "../../search/place.ts";
import { findFiles } from "../../search/find_files.ts";
import { failure, type ToolContext, type ToolResult } from "../../tool.ts";
import { DEFAULT_CAPS, keepHead } from "../../truncation.ts";

const DEFAULT_LIMIT = 200;

export function glob(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  return reported(async () => {
    const pattern = String(args.pattern).trim();
    if (pattern === "") return failure("Cannot search for an empty pattern", "name files, such as **/*.ts");
    const target = await searchTarget(context, args.path);
    if (target.isFile) {
      return failure(`Cannot look for files in ${String(args.path)}: it is a file`, "name a folder");
    }
    const { files, timedOut } = await findFiles(pattern, {
      root: target.path,
      cwd: target.cwd,
      hidden: (path) => context.paths.hidden(path),
      signal: context.signal,
    });
    const limit = typeof args.limit === "number" ? args.limit : DEFAULT_LIMIT;
    const notes: string[] = [];
    if (files.length > limit) {
      notes.push(`[${limit} of ${files.length} files, newest first; narrow the pattern or raise limit]`);
    }
    if (timedOut) notes.push("[stopped at the time limit; name a folder with path]");
    if (files.length === 0) {
      return { content: [nothing(pattern), ...notes].join("\n"), summary: "no files" };
    }
    const lines = files.slice(0, limit).map((path) => shown(path, target));
    const cut = keepHead(lines.join("\n"), { maxBytes: DEFAULT_CAPS.maxBytes });
    const truncated = cut.truncated ??
      (files.length > limit
        ? {
          cut: "tail" as const,
          reason: "matches" as const,
          keptBytes: cut.text.length,
          totalLines: files.length,
        }
        : undefined);
    return {
      content: [cut.text, ...notes].join("\n"),
      summary: `${files.length} ${files.length === 1 ? "file" : "files"}`,
      ...(truncated ? { truncated } : {}),
    };
  });
}

function nothing(pattern: string): string {
  const hint = pattern.includes("/") || pattern.includes("**")
    ? ""
    : `; a pattern without / looks in one folder only, **/${pattern} looks in all`;
  return `No files match ${pattern}${hint}`;
}
