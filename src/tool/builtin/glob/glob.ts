import { message } from "../../../core/mod.ts";
import { compileGlobs, expandBraces } from "../../../path/glob.ts";
import { isDirectory } from "../../../path/probe.ts";
import { below, readFilter, splitRoot } from "../../search/path_filter.ts";
import { reported, searchTarget, shown } from "../../search/search_target.ts";
import { type TreeScope, walkFiles } from "../../search/walk.ts";
import { failure, type ToolContext, type ToolResult } from "../../tool.ts";
import { DEFAULT_CAPS, keepHead } from "../../truncation.ts";
import { attempt } from "../../../util/lazy.ts";

const DEFAULT_LIMIT = 200;

export function glob(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  return reported(async () => {
    const pattern = String(args.pattern).trim();
    if (pattern === "") return failure("Cannot search for an empty pattern", "name files, such as **/*.ts");
    const { directory, rest } = splitRoot(pattern, args.path);
    const target = await searchTarget(context, directory);
    if (target.isFile) {
      return failure(`Cannot look for files in ${String(directory)}: it is a file`, "name a directory");
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
      return {
        content: [nothing(pattern, rest, target.path), ...notes].join("\n"),
        summary: message`no files`,
      };
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
      summary: files.length === 1 ? message`1 file` : message`${files.length} files`,
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

export interface FindOptions extends TreeScope {
  readonly ignoreCase?: boolean;
}

/** A walk over a slow or endless tree ends with what it has. */
const DEADLINE_MS = 20_000;

/**
 * Files matching a glob pattern, newest first, then by name. Parts of the pattern that start with `!` leave
 * out; all count from the root.
 */
export async function findFiles(
  pattern: string,
  options: FindOptions,
): Promise<{ readonly files: string[]; readonly timedOut: boolean }> {
  const filter = readFilter([pattern.replace(/^(?:\.\/)+/, "")], []);
  const patterns = filter.include.length > 0 ? filter.include : ["**"];
  const matches = compileGlobs(patterns, { dialect: "search", ignoreCase: options.ignoreCase });
  const unwanted = filter.exclude.length > 0
    ? compileGlobs(filter.exclude, { dialect: "search" })
    : undefined;
  const { root } = options;
  const spelled = patterns.flatMap((each) => expandBraces(each) ?? ["**"]);
  const start = options.ignoreCase ? root || "/" : startDirectory(spelled, root);
  const skip = root.endsWith("/") ? root.length : root.length + 1;
  const deepest = deepestLevel(spelled);
  const mayMatch = options.ignoreCase ? undefined : nameTest(spelled);
  const files: { readonly path: string; readonly modified: number }[] = [];
  const { timedOut } = await walkFiles(
    {
      ...options,
      root: start,
      deadline: Date.now() + DEADLINE_MS,
      wanted: (directory, name) => {
        if (mayMatch && !mayMatch(name)) return false;
        const relative = (directory + name).slice(skip);
        return matches(relative) && !unwanted?.(relative);
      },
      prune: (path) => below(path, root).split("/").length >= deepest,
    },
    (path) => {
      const modified = attempt(() => Deno.lstatSync(path).mtime?.getTime()) ?? 0;
      files.push({ path, modified });
    },
  );
  files.sort((a, b) => b.modified - a.modified || (a.path < b.path ? -1 : 1));
  return { files: files.map((file) => file.path), timedOut };
}

/** Tests a name by the plain text that a pattern ends with. Undefined when a pattern ends otherwise. */
function nameTest(patterns: readonly string[]): ((name: string) => boolean) | undefined {
  const found = patterns.map((pattern) => /[^/*?()[\]{}!+@\\|"]*$/.exec(pattern)?.[0] ?? "");
  if (!found.every((end) => /[^.]/.test(end))) return undefined;
  const [only = "", ...others] = new Set(found);
  if (others.length === 0) return (name) => name.endsWith(only);
  return (name) => name.endsWith(only) || others.some((end) => name.endsWith(end));
}

function startDirectory(patterns: readonly string[], root: string): string {
  const heads = patterns.map((pattern) => {
    const parts = pattern.split("/");
    const special = parts.findIndex((part) => /[*?[\]{}()!+@|\\]/.test(part) || part === "..");
    return parts.slice(0, special < 0 ? parts.length - 1 : special);
  });
  const first = heads[0] ?? [];
  const same = first.findIndex((part, index) => heads.some((head) => head[index] !== part));
  const shared = (same < 0 ? first : first.slice(0, same)).filter((part) => part !== "");
  for (let depth = shared.length; depth > 0; depth--) {
    const directory = `${root}/${shared.slice(0, depth).join("/")}`;
    if (attempt(() => Deno.lstatSync(directory).isDirectory)) return directory;
  }
  return root || "/";
}

function deepestLevel(patterns: readonly string[]): number {
  const levels = patterns.map((pattern) =>
    pattern.includes("**") || pattern.includes("(") ? Infinity : pattern.split("/").length
  );
  return Math.max(...levels);
}
