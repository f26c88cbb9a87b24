import { reported, searchTarget, shown } from "../../search/place.ts";
import { splitRoot } from "../../search/path_filter.ts";
import { findFiles } from "../../search/find_files.ts";
import { failure, type ToolContext, type ToolResult } from "../../tool.ts";
import { DEFAULT_CAPS, keepHead } from "../../truncation.ts";
import { isDirectory } from "../../../path/probe.ts";

const DEFAULT_LIMIT = 200;

export function glob(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  return reported(async () => {
    const pattern = String(args.pattern).trim();
    if (pattern === "") return failure("Cannot search for an empty pattern", "name files, such as **/*.ts");
    const { folder, rest } = splitRoot(pattern, args.path);
    const target = await searchTarget(context, folder);
    if (target.isFile) {
      return failure(`Cannot look for files in ${String(folder)}: it is a file`, "name a directory");
    }
    const { files, timedOut } = await findFiles(rest, {
      root: target.path,
      cwd: target.cwd,
      hidden: (path) => context.paths.hidden(path),
      signal: context.signal,
      ignoreCase: args.case_sensitive === false,
    });
    const limit = typeof args.limit === "number" ? args.limit : DEFAULT_LIMIT;
    const notes: string[] = [];
    if (files.length > limit) {
      notes.push(`[${limit} of ${files.length} files, newest first; narrow the pattern or raise limit]`);
    }
    if (timedOut) notes.push("[stopped at the time limit; name a directory with path]");
    if (files.length === 0) {
      return { content: [nothing(pattern, rest, target.path), ...notes].join("\n"), summary: "no files" };
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

function nothing(pattern: string, rest: string, root: string): string {
  if (isDirectory(`${root}/${rest}`)) {
    return `No files match ${pattern}: it is a directory; ${
      pattern.replace(/\/$/, "")
    }/** matches what is in it`;
  }
  const hint = pattern.includes("/") || pattern.includes("**")
    ? ""
    : `; a pattern without / looks in one directory only, **/${pattern} looks in all`;
  return `No files match ${pattern}${hint}`;
}
