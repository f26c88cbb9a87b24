import {
  compileGlobs,
  escapeGlob,
  expandBraces,
  type GlobTest,
  literalHead,
  unescapeGlob,
} from "../path/glob.ts";
import { absolutePath, baseName, foldPath, join, normalize, parentOf, slashed } from "../path/lexical.ts";
import { exists } from "../path/probe.ts";
import type { ProtectedContext } from "../path/protected.ts";
import { ANY, firstMark, isKnown, type Match, matchPattern, ONE } from "./pattern.ts";
export type RuleList = "allow" | "ask" | "deny";

/** The directories that paths are counted from. */
export interface PathContext extends ProtectedContext {
  readonly cwd: string;
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

export interface PathMatcher {
  forms(path: string, cwd?: string): PathForms;
  match(glob: string, list: RuleList, forms: PathForms): Match;
  /**
   * Reports whether what a glob of a refusal names is, or would be, in this directory, so that moving or
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
  const unify = (text: string) => context.ignoreCase ? foldPath(text) : text.normalize("NFC");
  const workspace = [...new Set([cwd, roots[0] ?? cwd].map((path) => realPath(path)))];
  const everywhere = [...new Set([cwd, ...roots, ...workspace, ...roots.map((root) => realPath(root))])];
  const cache = new Map<string, CompiledGlob>();

  const compile = (glob: string, refuses: boolean): CompiledGlob => {
    const globs = absoluteGlobs(glob, { bases: refuses ? everywhere : workspace, home, realPath }, refuses);
    return {
      named: namedBy(globs, unify),
      holders: holdersOf(globs, unify),
      marked: globs.flatMap((each) => markedForms(each, unify)),
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
      const matches = texts.map(unify).flatMap((text): Match[] => {
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
      const names = Object.values(path).filter(isKnown).map(unify);
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
  const directory = path.slice(0, cut) || "/";
  const tidy = (base: string) =>
    `${base === "/" ? "" : base}${rest.replace(/\/+/g, "/").replace(/(.)\/$/, "$1")}`;
  return { lexical: tidy(normalize(directory)), real: tidy(realPath(directory)) };
}

/** The most names that the braces of one rule may expand to, and their length in all. */
const MAX_SPELLED = 1024;
const MAX_SPELLED_LENGTH = 32 * 1024;

/** The directories that the globs of path rules count from. */
interface GlobContext {
  /** Absolute directories for relative globs. */
  readonly bases: readonly string[];
  /** The directory that `~/` means. */
  readonly home?: string | undefined;
  readonly realPath: (path: string) => string;
}

/** An absolute glob without braces; a name means the file or directory and what is in it. */
export interface PathGlob {
  readonly glob: string;
  /** Names only what is in a directory, not the directory. */
  readonly contentOnly: boolean;
  /** Begins with `**` below its base, so that it holds at any depth. */
  readonly floating: boolean;
  /** One of two readings of a leading `/`, for which nothing is there: it counts for known paths. */
  readonly unlikely?: true;
}

/**
 * The absolute globs that the glob of a rule means. A leading `/` is read from the bases, as Claude Code
 * does, and as an absolute path; `//` is absolute only. Braces, and brackets that could be part of a name,
 * are read both ways. A refusal of a name without a slash holds in any directory, and one of what is in a
 * directory for the directory as well.
 */
export function absoluteGlobs(written: string, context: GlobContext, refuses: boolean): PathGlob[] {
  const found = new Map<string, PathGlob>();
  for (const reading of readings(slashed(written))) {
    const form = reading.replace(/^(?:\.\/+)+/, "");
    const [, directory = form, content = ""] = /^(.*[^/])\/+(\*{0,2})$/s.exec(form) ?? [];
    const everything = /(?:^|\/)\*+$/.test(directory);
    const contentOnly = content !== "" && !refuses && !everything;
    const shortest = everything && !refuses ? form : directory;
    const anyDirectory = refuses && (content === "" || everything);
    for (const { glob, ...flags } of anchored(shortest, context, anyDirectory)) {
      for (const each of withRealHead(collapse(glob), context)) {
        found.set(each, { glob: each, contentOnly, ...flags });
      }
    }
  }
  return [...found.values()];
}

/**
 * The names that a glob with braces expands to. Each is looked up where it begins, so that they are spelled
 * out; undefined when they are too many to be held.
 */
export function spelledOut(glob: string): string[] | undefined {
  const spelled = expandBraces(glob, MAX_SPELLED);
  const length = spelled?.reduce((sum, each) => sum + each.length, 0) ?? Infinity;
  return length <= MAX_SPELLED_LENGTH ? spelled : undefined;
}

function readings(glob: string): string[] {
  // readRule refuses a rule with more; should one come by another way, its braces are matched as they are.
  const spelled = spelledOut(glob) ?? [glob];
  const plain = spelled.length === 1 && spelled[0] === glob ? [glob] : [...spelled, escaped(glob, /[{}]/)];
  return plain.flatMap((form) => form.includes("[") ? [form, escaped(form, /[[\]]/)] : [form]);
}

function escaped(glob: string, characters: RegExp): string {
  return glob.replace(/\\.|./gsu, (element) => characters.test(element[0] ?? "") ? `\\${element}` : element);
}

type Anchored = Pick<PathGlob, "glob" | "floating" | "unlikely">;

function anchored(form: string, { bases, home }: GlobContext, anyDirectory: boolean): Anchored[] {
  const inBases = (glob: string): Anchored[] =>
    bases.map((base) => ({ glob: join(escapeGlob(base), glob), floating: glob.startsWith("**/") }));
  if (form === "~" || form.startsWith("~/")) {
    return home === undefined ? [] : [{ glob: escapeGlob(home) + form.slice(1), floating: false }];
  }
  if (form.startsWith("//")) return [{ glob: form.slice(1), floating: form.startsWith("//**/") }];
  if (/^[a-z]:\//i.test(form) && Deno.build.os === "windows") return [{ glob: form, floating: false }];
  if (form.startsWith("/")) {
    const first = /^[^/]*/.exec(form.slice(1))?.[0] ?? "";
    const inProject = inBases(form.slice(1)).map((each, i): Anchored =>
      exists(join(bases[i] ?? "", unescapeGlob(first))) ? each : { ...each, unlikely: true }
    );
    return [{ glob: form, floating: form.startsWith("/**/") }, ...inProject];
  }
  const name = form.replace(/^\*\*\/(?=[^/]*$)/, "");
  if (!anyDirectory || name.includes("/")) return inBases(form);
  return [{ glob: `/**/${name}`, floating: true }, ...inBases(name)];
}

/** Takes `.`, `..` and doubled slashes away, as text. */
function collapse(glob: string): string {
  if (!/\/(?:\.{0,2})(?:\/|$)/.test(glob)) return glob;
  const [root = "", ...names] = glob.split("/");
  const kept: string[] = [];
  for (const name of names) {
    if (name === "..") kept.pop();
    else if (name !== "" && name !== ".") kept.push(name);
  }
  return `${root}/${kept.join("/")}`;
}

/** The glob, and the same with the links of the directory it begins with resolved. */
function withRealHead(glob: string, { realPath }: GlobContext): string[] {
  const head = literalHead(glob);
  const directory = head === glob ? head : head.slice(0, head.lastIndexOf("/"));
  if (directory === "") return [glob];
  const real = escapeGlob(realPath(unescapeGlob(directory)));
  return real === directory ? [glob] : [glob, collapse(`${real}/${glob.slice(directory.length)}`)];
}

/** The path that a glob without wildcards means. */
export function literalPath({ glob }: PathGlob): string | undefined {
  return literalHead(glob) === glob ? unescapeGlob(glob) : undefined;
}

/** A test of whole paths that are named by one of the globs; `unify` is applied to both. */
export function namedBy(globs: readonly PathGlob[], unify: (text: string) => string): GlobTest {
  const forms = globs.map(({ glob, contentOnly }) => ({
    glob: unify(glob === "/" ? "" : glob),
    tail: contentOnly ? "below" as const : "within" as const,
  }));
  return compileGlobs(forms, { dialect: "rule" });
}

/**
 * The same for the directories above what is named: moving or replacing one gives what is in it another path.
 * One in which a glob holds at any depth does not count, since it holds at the other path too. `possible`:
 * what may be an ordinary file as well.
 */
function holdersOf(
  globs: readonly PathGlob[],
  unify: (text: string) => string,
): { readonly plain: GlobTest; readonly possible: GlobTest } {
  const likely = globs.filter((each) => !each.unlikely);
  const heads = likely.map(({ glob }) => literalHead(glob)).map((head) =>
    unescapeGlob(unify(head.slice(0, head.lastIndexOf("/") + 1)))
  );
  const open = likely.flatMap(({ glob, floating }) => {
    const everywhere = floating ? glob.slice(0, glob.indexOf("/**/") + 3) : undefined;
    return [...wildDirectories(glob).filter((directory) => directory !== everywhere), glob].map(unify);
  });
  return {
    plain: (path) => heads.some((head) => path === "/" ? head !== "" : head.startsWith(`${path}/`)),
    possible: compileGlobs([...new Set(open)], { dialect: "rule" }),
  };
}

/** The directories above what a glob names whose own names are not fully known. */
function wildDirectories(glob: string): string[] {
  const found: string[] = [];
  let at = literalHead(glob).length;
  while ((at = glob.indexOf("/", at)) >= 0) found.push(glob.slice(0, at++));
  return found;
}

/**
 * The amount of text that the globs of a rule are compared by, their directories included. Spelled out, a
 * name costs more than its characters.
 */
export function globWeight(glob: string): number {
  if (!/[*?[\]{}\\]/.test(glob)) return 0;
  const names = spelledOut(glob);
  if (!names) return Infinity;
  return names.reduce((sum, name) => {
    const directories = name.slice(literalHead(name).length).split("/").length;
    return sum + (name.length + NAME_WEIGHT) * directories;
  }, 0);
}

const NAME_WEIGHT = 64;

/**
 * The same as patterns with marks, for paths that are only partly known; `exact` unless a mark means
 * fewer characters.
 */
function markedForms(
  { glob, contentOnly, unlikely }: PathGlob,
  unify: (text: string) => string,
): { readonly pattern: string; readonly exact: boolean }[] {
  if (unlikely) return [];
  const forms = glob.includes("/**/") ? [glob, glob.replace("/**/", "/")] : [glob];
  const exact = !/(?<!\\)\[/.test(glob);
  return forms.flatMap((form) => {
    const pattern = unify(form === "/" ? "" : form).replace(
      /\\(.)|\*+|\?|\[!?\]?[^\]]*\]/gs,
      (mark, plain?: string) => plain ?? (mark.startsWith("*") ? ANY : ONE),
    );
    return (contentOnly ? [] : [pattern]).concat(`${pattern}/${ANY}`).map((each) => ({
      pattern: each,
      exact,
    }));
  });
}
