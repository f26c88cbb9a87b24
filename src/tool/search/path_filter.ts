import { ReasonixError } from "../../core/mod.ts";
import { compileGlobs, expandBraces } from "../../path/glob.ts";
import { IgnoreRules } from "../../path/ignore_files.ts";

/** The files of a search that count, by name. */
export interface PathFilter {
  /** A pattern with `/` matches the path, others match the name. */
  readonly include: readonly string[];
  /** Patterns to leave out, in the syntax of an ignore file, from the working directory. */
  readonly exclude: readonly string[];
}

const MAX_LENGTH = 4096;

/** Splits what models write (`*.ts,*.tsx`, `!*.test.ts`, a list) into a filter. */
export function readFilter(include: readonly string[], exclude: readonly string[]): PathFilter {
  if ([...include, ...exclude].some((patterns) => patterns.length > MAX_LENGTH)) {
    throw new ReasonixError(`Cannot use a pattern of more than ${MAX_LENGTH} characters`, {
      remedy: "shorten it, or search several times",
    });
  }
  const wanted = include.flatMap(splitList);
  const unwanted = exclude.flatMap(splitList).map((pattern) => pattern.replace(/^!/, ""));
  return {
    include: wanted.filter((pattern) => !pattern.startsWith("!")).map((pattern) =>
      pattern.replace(/^\.?\//, "")
    ),
    exclude: [
      ...unwanted,
      ...wanted.filter((pattern) => pattern.startsWith("!")).map((pattern) => pattern.slice(1)),
    ],
  };
}

export type PathTest = (path: string) => boolean;

/** The test for `include`; paths count from the search root or from the working directory. */
export function includeTest(filter: PathFilter, root: string, cwd: string): PathTest | undefined {
  if (filter.include.length === 0) return undefined;
  const paths = filter.include.filter((pattern) => pattern.includes("/"));
  // Of `{*.md,src/**}` the first alternative is for names.
  const byName = compileGlobs(filter.include, { dialect: "search" });
  const byPath = paths.length > 0 ? compileGlobs(paths, { dialect: "search" }) : undefined;
  return (path) => {
    if (byName(path.slice(path.lastIndexOf("/") + 1))) return true;
    return byPath !== undefined && (byPath(below(path, root)) || byPath(below(path, cwd)));
  };
}

/** The test for `exclude`; true means left out. */
export function excludeTest(
  filter: PathFilter,
  cwd: string,
): ((path: string, name: string, isDirectoryEntry: boolean) => boolean) | undefined {
  if (filter.exclude.length === 0) return undefined;
  const rules = new IgnoreRules(filter.exclude.join("\n"));
  return (path, name, isDirectoryEntry) => rules.match(below(path, cwd), name, isDirectoryEntry) === "ignore";
}

/** `path` without the directory it is in; unchanged when it is elsewhere. */
export function below(path: string, directory: string): string {
  const prefix = directory.endsWith("/") ? directory : `${directory}/`;
  return path.startsWith(prefix) ? path.slice(prefix.length) : path === directory ? "." : path;
}

/** The start of a search; the working directory when `path` is absent. */
export function searchRoot(path: unknown): string {
  return typeof path === "string" && path !== "" ? path : ".";
}

/** The directories in which a glob pattern can find files, relative to `path`. */
export function globRoots(pattern: string, path: unknown): string[] {
  const { directory, rest } = splitRoot(pattern.trim(), path);
  const wanted = splitList(rest).filter((part) => !part.startsWith("!"))
    .flatMap((part) => expandBraces(part) ?? [part]);
  const heads = wanted.map((part) => {
    const names = plainHead(part).filter((name) => name !== "");
    // A walk never goes up: it ends in front of `..`.
    const up = names.indexOf("..");
    return (up < 0 ? names : names.slice(0, up)).join("/");
  });
  const base = searchRoot(directory);
  const roots = heads.map((head) => head === "" ? base : base === "." ? head : `${base}/${head}`);
  return roots.length > 0 ? [...new Set(roots)] : [base];
}

/** The directory that all parts of a glob pattern start from. */
export function globBase(pattern: string, path: unknown): string {
  return searchRoot(splitRoot(pattern.trim(), path).directory);
}

function splitList(text: string): string[] {
  const out: string[] = [];
  let [depth, part] = [0, ""];
  for (const char of text) {
    if (char === "{") depth++;
    else if (char === "}") depth--;
    if (char === "," && depth <= 0) {
      out.push(part.trim());
      part = "";
    } else part += char;
  }
  return [...out, part.trim()].filter((one) => one !== "");
}

const SPECIAL = /[*?[\]{}()!+@\\]/;
const ELSEWHERE = /^(?:\/|~\/|\.\.\/|[A-Za-z]:\/)/;

/**
 * Takes the directory off patterns that do not count from `path`: `/a/src/*.ts`, `~/x/**`, `../lib/*.ts`; of
 * several the one they share.
 */
export function splitRoot(
  pattern: string,
  path: unknown,
): { readonly directory: unknown; readonly rest: string } {
  const parts = splitList(pattern);
  const wanted = parts.filter((part) => !part.startsWith("!"));
  if (!ELSEWHERE.test(wanted[0] ?? "")) return { directory: path, rest: pattern };
  const head = wanted.filter((part) => ELSEWHERE.test(part)).map(plainDirectories).reduce(shared).join("/");
  const rest = parts.map((part) => {
    const not = part.startsWith("!") ? "!" : "";
    return part.startsWith(`${not}${head}/`) ? not + part.slice(not.length + head.length + 1) : part;
  });
  const base = head.startsWith("..") && typeof path === "string" && path !== "" ? `${path}/${head}` : head;
  return { directory: base === "" ? "/" : base, rest: rest.filter((part) => part !== "").join(",") || "*" };
}

/** The directories a pattern begins with, as far as they are plain text. */
function plainDirectories(pattern: string): string[] {
  const parts = pattern.split("/");
  const special = parts.findIndex((part) => SPECIAL.test(part));
  return parts.slice(0, special < 0 ? parts.length - 1 : special);
}

/** The path of a plain pattern, else the directory that it begins with. */
function plainHead(pattern: string): string[] {
  return SPECIAL.test(pattern) ? plainDirectories(pattern) : pattern.split("/");
}

/** The common prefix; all of the first when the two cannot be compared. */
function shared(one: string[], other: string[]): string[] {
  const differing = one.findIndex((part, at) => part !== other[at]);
  return differing > 0 ? one.slice(0, differing) : one;
}
