import { message, ReasonixError, type Text } from "../core/mod.ts";
import { type Change, type Git, problemOf, type Revision } from "../git/mod.ts";
import { compileGlobs } from "../path/glob.ts";
import { mayHoldKeys } from "../path/key_files.ts";
import { absolutePath, baseName, join, normalize, relativeTo } from "../path/lexical.ts";
import {
  type Arguments,
  BUILTINS,
  cutLine,
  errorResult,
  failure,
  type Tool,
  type ToolContext,
  type ToolResult,
} from "../tool/mod.ts";
import { byteLength } from "../util/bytes.ts";
import { defined } from "../util/json.ts";

const MAX_BYTES = 32 * 1024;
const MAX_LINE_BYTES = 2_000;
const DEADLINE_MS = 20_000;
/** Characters of a line of git that are looked at. */
const MAX_ENTRY = 64 * 1024;

const REVISION = {
  type: "string",
  enum: ["head", "base"],
  description: "The files after the change (head, the default) or before it (base)",
};
const PATH = { type: "string", description: "From the top of the repository" };

/** One side of a change, and where its files are; a base before the first commit has none. */
interface Version extends Revision {
  readonly source: "commit" | "index" | "disk" | "nothing";
}

interface ObjectTool extends Pick<Tool, "name" | "description" | "title"> {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
  execute(args: Arguments, version: Version, context: ToolContext): Promise<ToolResult>;
}

/**
 * Tools that read both versions of a change from the objects of the repository, checked out or not. Paths
 * count from the top of the repository, and the rules about files hold for them.
 */
export function objectTools(git: Git, change: Change): readonly Tool[] {
  const { top } = change;
  const inTop = (path: unknown) =>
    normalize(absolutePath(typeof path === "string" && path !== "" ? path : ".", { cwd: top }));
  const tool = ({ name, properties, required, execute, ...more }: ObjectTool): Tool => {
    const usual = BUILTINS.find((each) => each.name === name);
    return {
      ...defined({ title: usual?.title, synonyms: usual?.synonyms, translate: usual?.translate }),
      ...more,
      name,
      schema: {
        type: "object",
        properties: { ...properties, revision: REVISION },
        ...defined({ required }),
        additionalProperties: false,
      },
      readOnly: true,
      family: "Read",
      reads: ({ path }) => [inTop(path)],
      async execute(args, context) {
        context.signal.throwIfAborted();
        const real = inTop(args.path);
        const path = relativeTo(real, top);
        if (Object.values(args).some((value) => typeof value === "string" && value.includes("\0"))) {
          return failure("No argument may have a NUL character");
        }
        try {
          // What is there may be a link to another location, which the rules can forbid, too.
          await context.paths.read(real);
          if (path === undefined) {
            return failure(`${real} is outside of the repository`, `use a path below ${top}`);
          }
          if (mayHoldKeys(path)) return failure(`Cannot read ${path}: it may hold keys`);
          if (context.paths.hidden(real)) return failure(`Cannot read ${path}: the rules deny reading it`);
          return await execute({ ...args, path }, args.revision === "base" ? base : head, context);
        } catch (error) {
          if (context.signal.aborted || !(error instanceof ReasonixError)) throw error;
          return errorResult(error);
        }
      },
    };
  };
  const base: Version = { ...change.base, source: change.base.id === undefined ? "nothing" : "commit" };
  const disk = change.key === "uncommitted" ? "disk" : "index";
  const head: Version = { ...change.head, source: change.head.id === undefined ? disk : "commit" };
  const places = new ObjectFiles(git, top);
  return [
    tool({
      name: "read_file",
      description:
        "Read a file of the change as numbered lines (`1→text`; the prefix is not part of the file). " +
        "Long files come in parts: continue with `offset`.",
      properties: {
        path: PATH,
        offset: { type: "integer", minimum: 1, description: "First line, from 1" },
        limit: { type: "integer", minimum: 1, description: "Number of lines, 2000 if absent" },
      },
      required: ["path"],
      execute: readFile,
    }),
    tool({
      name: "grep",
      description:
        "Search file contents of the change with a regular expression (`literal` for plain text). " +
        "Prints `path:line:text`. Binary files are skipped.",
      properties: {
        pattern: { type: "string" },
        path: PATH,
        include: { type: "string", description: "Only files like *.{ts,tsx} or src/**/*.ts" },
        context: { type: "integer", minimum: 0, maximum: 50, description: "Lines around matches" },
        case_insensitive: { type: "boolean" },
        literal: { type: "boolean" },
        limit: { type: "integer", minimum: 1, description: "100 matches if absent" },
      },
      required: ["pattern"],
      execute: (args, version, context) => places.grep(args, version, context),
    }),
    tool({
      name: "list_files",
      description: "List the files of the change, one path a line.",
      properties: {
        path: PATH,
        pattern: { type: "string", description: "Only files like *.ts or src/**/*_test.ts" },
        offset: { type: "integer", minimum: 1, description: "First file, from 1" },
        limit: { type: "integer", minimum: 1, description: "Number of files, 500 if absent" },
      },
      title: ({ path }) => message`list ${String(path ?? ".")}`,
      execute: (args, version, context) => places.list(args, version, context),
    }),
  ];
}

async function readFile(args: Arguments, version: Version, { signal }: ToolContext): Promise<ToolResult> {
  const path = String(args.path);
  const bytes = await version.read(path, signal);
  if (bytes === undefined) {
    const side = args.revision === "base" ? "base" : "changed version";
    return failure(
      `Cannot read ${path}: the ${side} has no such file, or it is a link, a submodule or larger than 5 MB`,
      "look with list_files, or read the other revision",
    );
  }
  if (bytes.subarray(0, 8_000).includes(0)) return failure(`Cannot read ${path}: it is a binary file`);
  const lines = new TextDecoder().decode(bytes).split("\n");
  const endsInLine = lines.at(-1) !== "";
  if (!endsInLine) lines.pop();
  if (lines.length === 0) return { content: "(empty file)", summary: message`empty` };
  const offset = numberOf(args.offset, 1);
  if (offset > lines.length) {
    const content = `(offset ${offset} is past the end: ${path} has ${lines.length} lines)`;
    return { content, summary: message`past the end of ${lines.length} lines` };
  }
  const row = (line: string, number: number) => `${String(number).padStart(4)}→${excerpt(line)}`;
  const { rows, last, notes } = pageOf(lines, args, { most: 2_000, unit: "lines", row });
  if (last === lines.length && endsInLine) notes.push("[no newline at the end]");
  return {
    content: [...rows, ...notes].join("\n"),
    summary: message`lines ${offset}–${last} of ${lines.length}`,
  };
}

/** The part of a list that the arguments name, as far as a result has place for it. */
function pageOf(
  list: readonly string[],
  { offset, limit }: Arguments,
  { most, unit, row }: {
    readonly most: number;
    readonly unit: string;
    readonly row: (entry: string, number: number) => string;
  },
) {
  const first = numberOf(offset, 1);
  const wanted = list.slice(first - 1, first - 1 + numberOf(limit, most));
  const rows = within(wanted.map((entry, at) => row(entry, first + at)));
  const last = first - 1 + rows.length;
  const next = `[${unit} ${first}–${last} of ${list.length}; continue with offset ${last + 1}]`;
  return { rows, last, notes: last < list.length ? [next] : [] };
}

/** Lists and searches all files of a revision with git. */
class ObjectFiles {
  readonly #git: Git;
  readonly #top: string;

  constructor(git: Git, top: string) {
    this.#git = git;
    this.#top = top;
  }

  async list(args: Arguments, { id, source }: Version, context: ToolContext): Promise<ToolResult> {
    const isWanted = this.#test(args.pattern, args.path, context);
    const others = source === "disk" ? ["--others", "--exclude-standard"] : [];
    const listing = id === undefined
      ? ["--literal-pathspecs", "ls-files", "-z", "--cached", ...others, "--", ...under(args)]
      : ["ls-tree", "-r", "-z", "--name-only", "--full-tree", id, "--", ...under(args)];
    const found = new Set<string>();
    const read = await this.#read(listing, "\0", (path) => {
      if (isWanted(path)) found.add(path);
      return true;
    }, context);
    if (source === "nothing" || (found.size === 0 && read.problem === undefined)) {
      return { content: "No files", summary: message`no files` };
    }
    if (read.problem !== undefined) return failure(message`Cannot list the files: ${read.problem}`);
    const { rows, notes } = pageOf([...found].sort(), args, { most: 500, unit: "files", row: pathLine });
    return { content: [...rows, ...notes].join("\n"), summary: message`${found.size} files` };
  }

  async grep(args: Arguments, { id, source }: Version, context: ToolContext): Promise<ToolResult> {
    const pattern = String(args.pattern);
    if (pattern === "") return failure("Cannot search for an empty pattern", "list files with list_files");
    if (source === "nothing") return { content: "No matches", summary: message`no matches` };
    const isWanted = this.#test(args.include, args.path, context);
    const limit = numberOf(args.limit, 100);
    const where = id === undefined ? [source === "disk" ? "--untracked" : "--cached"] : [];
    const form = ["-n", "-z", "-I", "--column", "--full-name", "--no-color", "--no-textconv", "--threads=2"];
    const rows: string[] = [];
    let matches = 0;
    const take = (line: string) => {
      const [name = "", number, ...rest] = line.split("\0");
      const path = id === undefined ? name : name.slice(id.length + 1);
      if (number === undefined || !isWanted(path)) return true;
      // Only a match has a column.
      const isMatch = rest.length > 1;
      if (isMatch && ++matches > limit) return false;
      const mark = isMatch ? ":" : "-";
      rows.push(`${pathLine(path)}${mark}${number}${mark}${excerpt(rest.at(-1) ?? "")}`);
      return true;
    };
    const search = (syntax: string, text: string) => {
      const options = [...form, ...where, syntax, `-C${numberOf(args.context, 0)}`];
      if (args.case_insensitive === true) options.push("-i");
      const words = [...options, "-e", text, ...(id === undefined ? [] : [id]), "--", ...under(args)];
      return this.#read(["--literal-pathspecs", "grep", ...words], "\n", take, context);
    };
    let read = await search(args.literal === true ? "-F" : "-P", pattern);
    if (read.problem !== undefined && /Perl-compatible/.test(read.errors)) {
      read = await search("-E", pattern.replaceAll("\\d", "[0-9]"));
    }
    if (read.problem !== undefined) {
      return failure(message`Cannot search: ${read.problem}`, "fix the regular expression or set literal");
    }
    if (rows.length === 0) return { content: "No matches", summary: message`no matches` };
    const kept = within(rows);
    const notes = matches > limit || kept.length < rows.length
      ? ["[the first matches; narrow the pattern, include or path, or raise limit]"]
      : [];
    const summary = message`${Math.min(matches, limit)} matches`;
    return { content: [...kept, ...notes].join("\n"), summary };
  }

  /** Files that a pattern names and that may be read. With `/` a pattern matches the path, else the name. */
  #test(pattern: unknown, root: unknown, { paths }: ToolContext): (path: string) => boolean {
    const globs = typeof pattern === "string" && pattern !== "" ? [pattern.replace(/^\.?\//, "")] : [];
    const matches = compileGlobs(globs, { dialect: "search" });
    const isNamed = (path: string) => {
      if (globs.length === 0 || matches(baseName(path)) || matches(path)) return true;
      const below = relativeTo(path, String(root));
      return below !== undefined && matches(below);
    };
    return (path) => isNamed(path) && !mayHoldKeys(path) && !paths.hidden(join(this.#top, path));
  }

  async #read(
    args: readonly string[],
    separator: string,
    take: (entry: string) => boolean,
    { signal }: ToolContext,
  ): Promise<{ readonly problem?: Text; readonly errors: string }> {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    let rest = "";
    const deadline = AbortSignal.timeout(DEADLINE_MS);
    try {
      const { code, errors, endedEarly } = await this.#git.read(args, (chunk) => {
        const parts = (rest + decoder.decode(chunk, { stream: true })).split(separator);
        // A line may be the whole of a large file; its beginning is enough.
        rest = (parts.pop() ?? "").slice(0, MAX_ENTRY);
        return parts.every(take);
      }, { cwd: this.#top, signal: AbortSignal.any([signal, deadline]) });
      // Without a match git grep ends with 1.
      const failed = !endedEarly && code !== 0 && !(code === 1 && errors === "");
      return { errors, ...(failed ? { problem: problemOf(code, errors) } : {}) };
    } catch (error) {
      if (signal.aborted || !deadline.aborted) throw error;
      return { errors: "", problem: message`it took more than ${DEADLINE_MS / 1000} s` };
    }
  }
}

/** The path of a call as one of git, for which the top has no name. */
function under({ path }: Arguments): string[] {
  return path === "." ? [] : [String(path)];
}

/** A path on one line. */
function pathLine(path: string): string {
  return JSON.stringify(path).slice(1, -1);
}

function numberOf(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}

function excerpt(line: string): string {
  return cutLine(line.replace(/\r$/, "").toWellFormed(), MAX_LINE_BYTES);
}

/** The first rows that the limit of a result has place for. */
function within(rows: readonly string[]): readonly string[] {
  let left = MAX_BYTES;
  const end = rows.findIndex((row) => (left -= byteLength(row) + 1) < 0);
  return end < 0 ? rows : rows.slice(0, Math.max(1, end));
}
