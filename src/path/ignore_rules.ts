import { compileRanked } from "./glob.ts";

/** Longer lines of an ignore file are left out: no path is as long. */
const MAX_LINE = 4096;
/** Characters of lines with wildcards that count in one file; every name is compared with all of them. */
const MAX_WILD = 64 * 1024;

/** Returns what the last matching line of an ignore file says; undefined when no line matches. */
export type IgnoreDecision = "ignore" | "keep" | undefined;

interface Rule {
  readonly glob: string;
  readonly keep: boolean;
  readonly foldersOnly: boolean;
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
  match(path: string, name: string, isFolder: boolean): IgnoreDecision {
    const last = Math.max(this.#byName?.(name, isFolder) ?? -1, this.#byPath?.(path, isFolder) ?? -1);
    const rule = this.#rules[last];
    return rule && (rule.keep ? "keep" : "ignore");
  }
}

type RankTest = ReturnType<typeof compileRanked>;

/** The index of the last rule of a kind that matches; undefined when there are none. */
function rankTest(rules: readonly Rule[], byName: boolean): RankTest | undefined {
  const ranked = rules.map((rule, rank) => ({ ...rule, rank })).filter((rule) => rule.byName === byName);
  if (ranked.length === 0) return undefined;
  const plain = { file: new Map<string, number>(), folder: new Map<string, number>() };
  const wild: typeof ranked = [];
  let room = MAX_WILD;
  for (const rule of ranked) {
    if (!/[*?[\]\\{}]/.test(rule.glob)) {
      plain.folder.set(rule.glob, rule.rank);
      if (!rule.foldersOnly) plain.file.set(rule.glob, rule.rank);
    } else if ((room -= rule.glob.length) >= 0) wild.push(rule);
  }
  const wildRank = wild.length === 0 ? undefined : compileRanked(wild, { dialect: "ignore" });
  return (text, isFolder) =>
    Math.max(
      plain[isFolder ? "folder" : "file"].get(text) ?? -1,
      wildRank?.(text, isFolder) ?? -1,
    );
}

function parseLine(line: string): Rule[] {
  if (line.startsWith("#")) return [];
  if (line.length > MAX_LINE) return [];
  let text = withoutTrailingBlanks(line);
  if (text === "") return [];
  const keep = text.startsWith("!");
  if (keep) text = text.slice(1);
  const foldersOnly = text.endsWith("/");
  if (foldersOnly) text = text.slice(0, -1);
  const anchored = text.startsWith("/");
  if (anchored) text = text.slice(1);
  if (text === "") return [];
  const byName = !anchored && !text.includes("/");
  return [{ glob: text, keep, foldersOnly, byName }];
}

/** A line without the blanks at its end; the first of them may be escaped, and counts then. */
function withoutTrailingBlanks(line: string): string {
  const text = line.trimEnd();
  const backslashes = text.length - text.replace(/(?<!\\)\\+$/, "").length;
  return backslashes % 2 === 1 ? line.slice(0, text.length + 1) : text;
}
