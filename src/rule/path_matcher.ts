import { absolutePath, baseName, join as joinPath, normalize, parentOf } from "../path/lexical.ts";
import { ANY, firstMark, isKnown, type Match, matchPattern, toPattern } from "./pattern.ts";
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
  /** The name itself in its real directory, which a move or a removal changes; absent where it is one of the others. */
  readonly entry?: string;
}

/** Compares paths with the globs of path rules. */
export interface PathMatcher {
  forms(path: string, cwd?: string): PathForms;
  match(glob: string, list: RuleList, forms: PathForms): Match;
  /** Whether what a glob names lies in this folder, so that removing or moving the folder concerns it. */
  holds(glob: string, folder: PathForms): boolean;
}

/**
 * Paths are compared by what they really are: relative globs count from the working directory and the workspace roots,
 * links and `..` are resolved first. A refusal also holds for the written name, for a folder whose content is named
 * (`docs/**`), and, without a slash, for that name in any folder. An allowance holds for the real path alone.
 */
export function createPathMatcher(places: PathContext): PathMatcher {
  const { cwd, home, roots, realPath } = places;
  const fold = (text: string) =>
    places.ignoreCase ? text.normalize("NFC").toLowerCase() : text.normalize("NFC");
  const workspace = [...new Set([cwd, roots[0] ?? cwd].map((path) => realPath(path)))];
  const everywhere = [...new Set([cwd, ...roots, ...workspace, ...roots.map((root) => realPath(root))])];
  const cache = new Map<string, readonly string[]>();

  const compile = (glob: string, list: RuleList): readonly string[] => {
    const strict = list === "allow";
    return widen(glob, list).flatMap((form) => {
      if (form.startsWith("/") || form.startsWith("~/") || form === "~" || /^[A-Za-z]:\//.test(form)) {
        return absoluteForms(form, home, realPath);
      }
      const bases = strict ? workspace : everywhere;
      const inside = bases.map((base) => join(base, form));
      return strict || form.includes("/") ? inside : [...inside, `${ANY}/${toPattern(form)}`];
    }).map(fold);
  };
  const patterns = (glob: string, list: RuleList) => {
    const key = `${list === "allow" ? "+" : "-"}${glob}`;
    let known = cache.get(key);
    if (!known) cache.set(key, known = compile(glob, list));
    return known;
  };

  return {
    forms: (path, from = cwd) => pathForms(absolutePath(path, { cwd: from, home }), realPath),
    match(glob, list, forms) {
      const texts = list === "allow" ? [forms.real] : [...new Set<string>(Object.values(forms))];
      let best: Match = "no";
      for (const pattern of patterns(glob, list)) {
        for (const text of texts) {
          const match = matchPattern(pattern, fold(text));
          if (match === "yes") return "yes";
          if (match === "maybe") best = "maybe";
        }
      }
      return best;
    },
    holds(glob, folder) {
      const below = Object.values(folder).filter(isKnown).map((path) => fold(`${path === "/" ? "" : path}/`));
      return patterns(glob, "deny").some((pattern) => below.some((head) => pattern.startsWith(head)));
    },
  };
}

/** The spellings of a glob that mean the same: `./x`, `x/` for a folder, `**\/x` also at the top. */
function widen(glob: string, list: RuleList): string[] {
  const form = glob.replace(/^(\.\/)+/, "");
  const forms = [form];
  if (form.startsWith("**/")) forms.push(form.slice(3));
  if (list === "allow") return forms;
  return forms.flatMap((each) => {
    const folder = /^(.+?)\/(?:\*{0,2})$/.exec(each)?.[1];
    return folder === undefined ? [each] : [each.endsWith("/") ? `${each}**` : each, folder];
  });
}

function join(base: string, glob: string): string {
  return `${base === "/" ? "" : base}/${toPattern(collapse(glob))}`;
}

/** An absolute glob, and the same with its folder's links resolved. */
function absoluteForms(glob: string, home: string, realPath: (path: string) => string): string[] {
  const whole = glob === "~" || glob.startsWith("~/") ? home + glob.slice(1) : glob;
  const head = whole.slice(0, whole.search(/[*?]|$/));
  const folder = head === whole ? head : head.slice(0, head.lastIndexOf("/"));
  const real = folder === "" ? "" : realPath(folder);
  return [...new Set([whole, real + whole.slice(folder.length)])].map((form) => toPattern(collapse(form)));
}

function collapse(glob: string): string {
  return /(^|\/)\.{1,2}(\/|$)/.test(glob) ? normalize(glob).slice(glob.startsWith("/") ? 0 : 1) : glob;
}

function knownForms(path: string, realPath: (path: string) => string): PathForms {
  const forms = { lexical: normalize(path), real: realPath(path) };
  const tidy = path.replace(/(?<=.)\/+$/, "");
  const name = baseName(tidy);
  if (/^\.{0,2}$/.test(name)) return forms;
  const entry = joinPath(realPath(parentOf(tidy)), name);
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
