import { compileRanked } from "./glob.ts";
import { readSmallText } from "./probe.ts";
import { readEnv } from "./read_env.ts";

interface RuleSet {
  readonly directory: string;
  readonly rules: IgnoreRules;
}

/** The rules of each kind of file, those of the deepest directory first. */
type RuleSets = Readonly<Record<"dot" | "git" | "exclude" | "global" | "own", readonly RuleSet[]>>;

/** Names whose presence in a directory changes what is ignored below it. */
const TELLING = new Set([".ignore", ".gitignore", ".git", ".reasonixignore"]);

/** Reports whether a directory with this entry needs its own scope. */
export function isTelling(name: string): boolean {
  return TELLING.has(name);
}

/**
 * The files that are ignored in one directory and below, until a deeper directory adds rules.
 *
 * Order of precedence, as in ripgrep: `.ignore`, then `.gitignore` up to the repository, then
 * `.git/info/exclude`, then the user's global file; in each the deepest directory wins. `.reasonixignore` can
 * only hide more. `.gitignore` counts whether or not the directory is in a repository.
 */
export class IgnoreScope {
  readonly #sets: RuleSets;
  readonly #ordered: readonly RuleSet[];

  private constructor(sets: RuleSets) {
    this.#sets = sets;
    this.#ordered = [...sets.dot, ...sets.git, ...sets.exclude, ...sets.global];
  }

  /**
   * The scope that applies in `directory` through the directories above it; rules of `directory` itself
   * come by {@linkcode enter}.
   */
  static above(directory: string, cwd: string, names: ReadonlySet<string> = TELLING): IgnoreScope {
    const excludes = names === TELLING ? globalExcludes() : undefined;
    const global = excludes ? [{ directory: cwd, rules: excludes }] : [];
    let scope = new IgnoreScope({ dot: [], git: [], exclude: [], global, own: [] });
    const parts = directory.split("/");
    for (let depth = 1; depth < parts.length; depth++) {
      scope = scope.enter(parts.slice(0, depth).join("/") || "/", names);
    }
    return scope;
  }

  /** The scope inside `directory`, given those of its entries that add rules. */
  enter(directory: string, names: ReadonlySet<string>): IgnoreScope {
    if (names.size === 0) return this;
    const read = (name: string): RuleSet[] =>
      names.has(name) ? ruleSet(directory, `${directory}/${name}`) : [];
    const repository = names.has(".git") ? repositoryExcludes(directory) : undefined;
    const [dot, git, own] = [read(".ignore"), read(".gitignore"), read(".reasonixignore")];
    if (!repository && dot.length + git.length + own.length === 0) return this;
    const sets = this.#sets;
    return new IgnoreScope({
      dot: [...dot, ...sets.dot],
      git: repository ? git : [...git, ...sets.git],
      exclude: repository ?? sets.exclude,
      global: sets.global,
      own: [...own, ...sets.own],
    });
  }

  /** Reports whether `path` (absolute, ending with `name`) is to be skipped. */
  ignores(path: string, name: string, isDirectory: boolean): boolean {
    return isIgnored(this.#ordered, path, name, isDirectory) || this.hides(path, name, isDirectory);
  }

  /** Reports whether `.reasonixignore` alone skips it. */
  hides(path: string, name: string, isDirectory: boolean): boolean {
    return isIgnored(this.#sets.own, path, name, isDirectory);
  }
}

function isIgnored(sets: readonly RuleSet[], path: string, name: string, isDirectory: boolean): boolean {
  for (const set of sets) {
    const start = set.directory.endsWith("/") ? set.directory.length : set.directory.length + 1;
    const answer = set.rules.match(path.slice(start), name, isDirectory);
    if (answer !== undefined) return answer === "ignore";
  }
  return false;
}

function ruleSet(directory: string, file: string): RuleSet[] {
  const text = readSmallText(file);
  if (text === undefined) return [];
  const rules = new IgnoreRules(text.replace(/^\ufeff/, ""));
  return rules.empty ? [] : [{ directory, rules }];
}

/** `info/exclude` of the repository whose top is `directory`; undefined when there is no repository here. */
function repositoryExcludes(directory: string): RuleSet[] | undefined {
  const dotGit = `${directory}/.git`;
  try {
    if (Deno.statSync(dotGit).isDirectory) return ruleSet(directory, `${dotGit}/info/exclude`);
  } catch {
    return undefined;
  }
  // A worktree: `.git` is a file that names its own directory, which names the common one.
  const own = /^gitdir:(.*)$/m.exec(readSmallText(dotGit) ?? "")?.[1]?.trim() || undefined;
  if (own === undefined) return [];
  const gitDirectory = own.startsWith("/") ? own : `${directory}/${own}`;
  const common = readSmallText(`${gitDirectory}/commondir`)?.trim();
  if (common === undefined) return [];
  return ruleSet(directory, `${common.startsWith("/") ? common : `${gitDirectory}/${common}`}/info/exclude`);
}

/** Longer lines of an ignore file are left out: no path is as long. */
const MAX_LINE = 4096;
/** Characters of lines with wildcards that count in one file; every name is compared with all of them. */
const MAX_WILD = 64 * 1024;

/** Returns what the last matching line of an ignore file says; undefined when no line matches. */
export type IgnoreDecision = "ignore" | "keep" | undefined;

interface Rule {
  readonly glob: string;
  readonly keep: boolean;
  readonly directoriesOnly: boolean;
  /**
   * Tested against the last name when the line has no inner slash, else against the path from the file's
   * directory.
   */
  readonly byName: boolean;
}

/**
 * The rules of one ignore file (gitignore(5); braces are alternatives as in ripgrep).
 *
 * Compiled here, not with a package: a walk asks for every entry of the tree, and all lines are looked at in
 * one pass over its name and one over its path. Parents are not consulted, because a walker never descends
 * into what is ignored.
 */
export class IgnoreRules {
  readonly #rules: readonly Rule[];
  readonly #byName: RankTest | undefined;
  readonly #byPath: RankTest | undefined;

  constructor(text: string) {
    this.#rules = text.split(/\r?\n/).flatMap(parseLine);
    this.#byName = rankTest(this.#rules, true);
    this.#byPath = rankTest(this.#rules, false);
  }

  get empty(): boolean {
    return this.#rules.length === 0;
  }

  /** `path` counts from the directory of the ignore file and ends with `name`. */
  match(path: string, name: string, isDirectory: boolean): IgnoreDecision {
    const last = Math.max(this.#byName?.(name, isDirectory) ?? -1, this.#byPath?.(path, isDirectory) ?? -1);
    const rule = this.#rules[last];
    return rule && (rule.keep ? "keep" : "ignore");
  }
}

type RankTest = ReturnType<typeof compileRanked>;

function rankTest(rules: readonly Rule[], byName: boolean): RankTest | undefined {
  const ranked = rules.map((rule, rank) => ({ ...rule, rank })).filter((rule) => rule.byName === byName);
  if (ranked.length === 0) return undefined;
  const plain = { file: new Map<string, number>(), directory: new Map<string, number>() };
  const wild: typeof ranked = [];
  let left = MAX_WILD;
  for (const rule of ranked) {
    if (!/[*?[\]\\{}]/.test(rule.glob)) {
      plain.directory.set(rule.glob, rule.rank);
      if (!rule.directoriesOnly) plain.file.set(rule.glob, rule.rank);
    } else if ((left -= rule.glob.length) >= 0) wild.push(rule);
  }
  const wildRank = wild.length === 0 ? undefined : compileRanked(wild, { dialect: "ignore" });
  return (text, isDirectory) =>
    Math.max(
      plain[isDirectory ? "directory" : "file"].get(text) ?? -1,
      wildRank?.(text, isDirectory) ?? -1,
    );
}

function parseLine(line: string): Rule[] {
  if (line.startsWith("#")) return [];
  if (line.length > MAX_LINE) return [];
  let text = withoutTrailingBlanks(line);
  if (text === "") return [];
  const keep = text.startsWith("!");
  if (keep) text = text.slice(1);
  const directoriesOnly = text.endsWith("/");
  if (directoriesOnly) text = text.slice(0, -1);
  const anchored = text.startsWith("/");
  if (anchored) text = text.slice(1);
  if (text === "") return [];
  const byName = !anchored && !text.includes("/");
  return [{ glob: text, keep, directoriesOnly, byName }];
}

/** A line without the blanks at its end; the first of them may be escaped, and counts then. */
function withoutTrailingBlanks(line: string): string {
  const text = line.trimEnd();
  const backslashes = text.length - text.replace(/(?<!\\)\\+$/, "").length;
  return backslashes % 2 === 1 ? line.slice(0, text.length + 1) : text;
}

/**
 * The user's own ignore file for all repositories: `core.excludesFile`, else `git/ignore` in the
 * configuration directory.
 */
function globalExcludes(): IgnoreRules | undefined {
  const home = readEnv("HOME") ?? readEnv("USERPROFILE");
  const config = readEnv("XDG_CONFIG_HOME") ?? (home === undefined ? undefined : `${home}/.config`);
  const path = configuredFile(home, config) ?? (config === undefined ? undefined : `${config}/git/ignore`);
  const text = path === undefined ? undefined : readSmallText(path);
  if (text === undefined) return undefined;
  const rules = new IgnoreRules(text);
  return rules.empty ? undefined : rules;
}

function configuredFile(home: string | undefined, config: string | undefined): string | undefined {
  const files = [home && `${home}/.gitconfig`, config && `${config}/git/config`];
  for (const file of files) {
    const text = file ? readSmallText(file) : undefined;
    const value = text === undefined ? undefined : excludesFile(text);
    if (value === undefined) continue;
    return home !== undefined && value.startsWith("~/") ? home + value.slice(1) : value;
  }
  return undefined;
}

/** The value of `excludesFile` in the section `core` of a git configuration file. */
function excludesFile(text: string): string | undefined {
  let section = "";
  let value: string | undefined;
  for (const line of text.split("\n")) {
    section = /^\s*\[\s*([^\]]+?)\s*\]/.exec(line)?.[1]?.toLowerCase() ?? section;
    const found = section === "core"
      ? /^(?:\s*\[[^\]]*\])?\s*excludesfile\s*=\s*(.+?)\s*$/i.exec(line)?.[1]
      : undefined;
    if (found !== undefined) value = found.replace(/^"(.*)"$/, "$1");
  }
  return value;
}
