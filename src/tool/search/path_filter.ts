import { ReasonixError } from "../../core/mod.ts";
import { compileGlobs } from "../../path/glob.ts";
import { IgnoreRules } from "../../path/ignore_rules.ts";
import { splitList } from "./roots.ts";

/** The files of a search that count, by name. */
export interface PathFilter {
  /**
   * Patterns a file must match one of; matched against the name, or against the path when they contain `/`.
   */
  readonly include: readonly string[];
  /**
   * Patterns of files and directories to leave out, in the syntax of an ignore file, from the working
   * directory.
   */
  readonly exclude: readonly string[];
}

/** The longest list of patterns that is read. */
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

/** Tests a file by its absolute path. */
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
): ((path: string, name: string, isFolder: boolean) => boolean) | undefined {
  if (filter.exclude.length === 0) return undefined;
  const rules = new IgnoreRules(filter.exclude.join("\n"));
  return (path, name, isFolder) => rules.match(below(path, cwd), name, isFolder) === "ignore";
}

/** `path` without the directory it is in; unchanged when it lies elsewhere. */
export function below(path: string, folder: string): string {
  const prefix = folder.endsWith("/") ? folder : `${folder}/`;
  return path.startsWith(prefix) ? path.slice(prefix.length) : path === folder ? "." : path;
}
