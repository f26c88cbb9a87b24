import { readSmallText } from "./probe.ts";
import { globalExcludes } from "./global_excludes.ts";
import { IgnoreRules } from "./ignore_rules.ts";

/** Rules with the directory they count from. */
interface RuleSet {
  readonly folder: string;
  readonly rules: IgnoreRules;
}

/** Names whose presence in a directory changes what is ignored below it. */
const TELLING = new Set([".ignore", ".gitignore", ".git", ".reasonixignore"]);

/** Reports whether a directory with this entry needs a scope of its own. */
export function isTelling(name: string): boolean {
  return TELLING.has(name);
}

/**
 * What is ignored in one directory and below, until a deeper directory adds rules.
 *
 * Order of precedence, as in ripgrep: `.ignore`, then `.gitignore` up to the repository, then
 * `.git/info/exclude`, then the user's global file; in each the deepest directory wins. `.reasonixignore` can
 * only hide more. `.gitignore` counts whether or not the directory is in a repository.
 */
export class IgnoreScope {
  readonly #dot: readonly RuleSet[];
  readonly #git: readonly RuleSet[];
  readonly #exclude: readonly RuleSet[];
  readonly #global: readonly RuleSet[];
  readonly #own: readonly RuleSet[];
  readonly #ordered: readonly RuleSet[];

  private constructor(
    sets: { dot: readonly RuleSet[]; git: readonly RuleSet[]; exclude: readonly RuleSet[] },
    global: readonly RuleSet[],
    own: readonly RuleSet[],
  ) {
    this.#dot = sets.dot;
    this.#git = sets.git;
    this.#exclude = sets.exclude;
    this.#global = global;
    this.#own = own;
    this.#ordered = [...sets.dot, ...sets.git, ...sets.exclude, ...global];
  }

  /**
   * The scope that applies in `folder` through the directories above it; rules of `folder` itself come by
   * {@linkcode enter}.
   */
  static above(folder: string, cwd: string, names: ReadonlySet<string> = TELLING): IgnoreScope {
    const excludes = names === TELLING ? globalExcludes() : undefined;
    const global = excludes ? [{ folder: cwd, rules: excludes }] : [];
    let scope = new IgnoreScope({ dot: [], git: [], exclude: [] }, global, []);
    const parts = folder.split("/");
    for (let depth = 1; depth < parts.length; depth++) {
      scope = scope.enter(parts.slice(0, depth).join("/") || "/", names);
    }
    return scope;
  }

  /** The scope inside `folder`, given the telling names among its entries. */
  enter(directory: string, names: ReadonlySet<string>): IgnoreScope {
    if (names.size === 0) return this;
    const read = (name: string): RuleSet[] =>
      names.has(name) ? ruleSet(directory, `${directory}/${name}`) : [];
    const repository = names.has(".git") ? repositoryExcludes(directory) : undefined;
    const [dot, git, own] = [read(".ignore"), read(".gitignore"), read(".reasonixignore")];
    if (!repository && dot.length + git.length + own.length === 0) return this;
    return new IgnoreScope(
      {
        dot: [...dot, ...this.#dot],
        git: repository ? git : [...git, ...this.#git],
        exclude: repository ?? this.#exclude,
      },
      this.#global,
      [...own, ...this.#own],
    );
  }

  /** Reports whether `path` (absolute, ending with `name`) is to be skipped. */
  ignores(path: string, name: string, isFolder: boolean): boolean {
    return verdict(this.#ordered, path, name, isFolder) || this.hides(path, name, isFolder);
  }

  /** Reports whether `.reasonixignore` alone skips it. */
  hides(path: string, name: string, isFolder: boolean): boolean {
    return this.#own.length > 0 && verdict(this.#own, path, name, isFolder);
  }
}

function verdict(sets: readonly RuleSet[], path: string, name: string, isFolder: boolean): boolean {
  for (const set of sets) {
    const start = set.folder.endsWith("/") ? set.folder.length : set.folder.length + 1;
    const answer = set.rules.match(path.slice(start), name, isFolder);
    if (answer !== undefined) return answer === "ignore";
  }
  return false;
}

function ruleSet(folder: string, file: string): RuleSet[] {
  const text = readSmallText(file);
  if (text === undefined) return [];
  const rules = new IgnoreRules(text.replace(/^\ufeff/, ""));
  return rules.empty ? [] : [{ folder, rules }];
}

/** `info/exclude` of the repository whose top is `folder`; undefined when there is no repository here. */
function repositoryExcludes(folder: string): RuleSet[] | undefined {
  const dotGit = `${folder}/.git`;
  try {
    if (Deno.statSync(dotGit).isDirectory) return ruleSet(folder, `${dotGit}/info/exclude`);
  } catch {
    return undefined;
  }
  // A worktree: `.git` is a file that names its own directory, which names the common one.
  const own = /^gitdir:(.*)$/m.exec(readSmallText(dotGit) ?? "")?.[1]?.trim() || undefined;
  if (own === undefined) return [];
  const gitFolder = own.startsWith("/") ? own : `${folder}/${own}`;
  const common = readSmallText(`${gitFolder}/commondir`)?.trim();
  if (common === undefined) return [];
  return ruleSet(folder, `${common.startsWith("/") ? common : `${gitFolder}/${common}`}/info/exclude`);
}
