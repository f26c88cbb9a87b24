import { foldPath } from "../path/contains.ts";
import type { GlobTest } from "../path/glob.ts";
import { absolutePath, baseName, join, normalize, parentOf } from "../path/lexical.ts";
import { absoluteGlobs, holdersOf, markedForms, namedBy } from "./path_glob.ts";
import { ANY, firstMark, isKnown, type Match, matchPattern } from "./pattern.ts";
import type { RuleList } from "./rule.ts";

/** Where paths are counted from. */
export interface PathContext {
  readonly cwd: string;
  readonly home: string;
  readonly roots: readonly string[];
  /** Files that are never written without a question. */
  readonly protectedFiles?: readonly string[] | undefined;
  readonly realPath: (path: string) => string;
  readonly ignoreCase: boolean;
}

/** A path by its written and by its real name, both absolute and normalised. */
export interface PathForms {
  readonly lexical: string;
  readonly real: string;
  /**
   * The name itself in its real directory, which a move or a removal changes; absent where it is one of the
   * others.
   */
  readonly entry?: string;
}

/** Compares paths with the globs of path rules. */
export interface PathMatcher {
  forms(path: string, cwd?: string): PathForms;
  match(glob: string, list: RuleList, forms: PathForms): Match;
  /**
   * Reports whether what a glob of a refusal names lies, or would lie, in this directory, so that moving or
   * replacing it concerns that. `isDirectory` is asked where the path could be an ordinary file just as well.
   */
  holds(glob: string, path: PathForms, isDirectory: () => boolean): boolean;
}

interface CompiledGlob {
  readonly named: GlobTest;
  readonly holders: { readonly plain: GlobTest; readonly possible: GlobTest };
  readonly marked: readonly { readonly pattern: string; readonly exact: boolean }[];
}

/**
 * Paths are compared by what they really are: relative globs count from the working directory and the
 * workspace roots, links and `..` are resolved first. A refusal also holds for the written name, for a
 * directory whose content is named (`docs/**`), and, without a slash, for that name in any directory. An
 * allowance holds for the real path alone.
 */
export function createPathMatcher(context: PathContext): PathMatcher {
  const { cwd, home, roots, realPath } = context;
  const fold = (text: string) => context.ignoreCase ? foldPath(text) : text.normalize("NFC");
  const workspace = [...new Set([cwd, roots[0] ?? cwd].map((path) => realPath(path)))];
  const everywhere = [...new Set([cwd, ...roots, ...workspace, ...roots.map((root) => realPath(root))])];
  const cache = new Map<string, CompiledGlob>();

  const compile = (glob: string, refuses: boolean): CompiledGlob => {
    const globs = absoluteGlobs(glob, { bases: refuses ? everywhere : workspace, home, realPath }, refuses);
    return {
      named: namedBy(globs, fold),
      holders: holdersOf(globs, fold),
      marked: globs.flatMap((each) => markedForms(each, fold)),
    };
  };
  const compiled = (glob: string, list: RuleList) => {
    const key = `${list === "allow" ? "+" : "-"}${glob}`;
    let known = cache.get(key);
    if (!known) cache.set(key, known = compile(glob, list !== "allow"));
    return known;
  };

  return {
    forms: (path, from = cwd) => pathForms(absolutePath(path, { cwd: from, home }), realPath),
    match(glob, list, forms) {
      const { named, marked } = compiled(glob, list);
      const texts = list === "allow" ? [forms.real] : [...new Set<string>(Object.values(forms))];
      const matches = texts.map(fold).flatMap((text): Match[] => {
        if (isKnown(text)) return named(text) ? ["yes"] : [];
        return marked.map(({ pattern, exact }) => {
          const match = matchPattern(pattern, text);
          return match === "yes" && !exact ? "maybe" : match;
        });
      });
      return matches.includes("yes") ? "yes" : matches.includes("maybe") ? "maybe" : "no";
    },
    holds(glob, path, isDirectory) {
      const { plain, possible } = compiled(glob, "deny").holders;
      const names = Object.values(path).filter(isKnown).map(fold);
      return names.some((name) => plain(name)) ||
        (names.some((name) => possible(name)) && isDirectory());
    },
  };
}

function knownForms(path: string, realPath: (path: string) => string): PathForms {
  const forms = { lexical: normalize(path), real: realPath(path) };
  const tidy = path.replace(/(?<=.)\/+$/, "");
  const name = baseName(tidy);
  if (/^\.{0,2}$/.test(name)) return forms;
  const entry = join(realPath(parentOf(tidy)), name);
  return entry === forms.real || entry === forms.lexical ? forms : { ...forms, entry };
}

/** The names of an absolute path. In a path with unknown parts only what precedes them can be resolved. */
function pathForms(path: string, realPath: (path: string) => string): PathForms {
  if (isKnown(path)) return knownForms(path, realPath);
  const mark = firstMark(path);
  const cut = path.lastIndexOf("/", mark);
  const rest = path.slice(cut);
  if (cut < 0 || /\/\.\.(\/|$)/.test(rest)) return { lexical: ANY, real: ANY };
  const folder = path.slice(0, cut) || "/";
  const tidy = (base: string) =>
    `${base === "/" ? "" : base}${rest.replace(/\/+/g, "/").replace(/(.)\/$/, "$1")}`;
  return { lexical: tidy(normalize(folder)), real: tidy(realPath(folder)) };
}
