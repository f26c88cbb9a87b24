import { escapeRegExp, expandBraces, ignoreGlobSource } from "./glob.ts";

/** Returns what the last matching line of an ignore file says; undefined when no line matches. */
export type IgnoreVerdict = "ignore" | "keep" | undefined;

interface Rule {
  readonly keep: boolean;
  readonly foldersOnly: boolean;
  /**
   * Tested against the last name when the line has no inner slash, else against the path from the file's
   * directory.
   */
  readonly byName: boolean;
  readonly test: (subject: string) => boolean;
  /** Exact name, or extension with its dot, that a subject must have; both absent: anything may match. */
  readonly name?: string;
  readonly extension?: string;
}

/**
 * The rules of one ignore file (gitignore(5); braces are alternatives as in ripgrep).
 *
 * Compiled here, not with a package: a walk asks for every entry of the tree, and most answers must come from
 * a look-up and a few comparisons. Parents are not consulted, because a walker never descends into what is
 * ignored.
 */
export class IgnoreRules {
  readonly #rules: readonly Rule[];
  readonly #names = new Set<string>();
  readonly #extensions: readonly string[];
  /** Rules that the two sets cannot rule out. */
  readonly #others: readonly Rule[];

  constructor(text: string) {
    this.#rules = text.split(/\r?\n/).flatMap(parseLine).reverse();
    for (const rule of this.#rules) if (rule.name !== undefined) this.#names.add(rule.name);
    this.#extensions = [...new Set(this.#rules.flatMap((rule) => rule.extension ?? []))];
    this.#others = this.#rules.filter((rule) => rule.name === undefined && rule.extension === undefined);
  }

  get empty(): boolean {
    return this.#rules.length === 0;
  }

  /** `path` counts from the directory of the ignore file and ends with `name`. */
  match(path: string, name: string, isFolder: boolean): IgnoreVerdict {
    const rules = this.#names.has(name) || this.#hasExtension(name) ? this.#rules : this.#others;
    for (const rule of rules) {
      if (rule.foldersOnly && !isFolder) continue;
      if (rule.test(rule.byName ? name : path)) return rule.keep ? "keep" : "ignore";
    }
    return undefined;
  }

  #hasExtension(name: string): boolean {
    for (const extension of this.#extensions) if (name.endsWith(extension)) return true;
    return false;
  }
}

function parseLine(line: string): Rule[] {
  if (line.startsWith("#")) return [];
  // Trailing blanks count only when they are escaped.
  let text = line.replace(/((?:\\.|[^\\\s])?)\s+$/, "$1");
  if (text === "") return [];
  const keep = text.startsWith("!");
  if (keep) text = text.slice(1);
  const foldersOnly = text.endsWith("/");
  if (foldersOnly) text = text.slice(0, -1);
  const anchored = text.startsWith("/");
  if (anchored) text = text.slice(1);
  if (text === "") return [];
  const byName = !anchored && !text.includes("/");
  return expandBraces(text).map((glob) => ({ keep, foldersOnly, byName, ...matcher(glob, byName) }))
    .reverse();
}

function matcher(glob: string, byName: boolean): Pick<Rule, "test" | "name" | "extension"> {
  const plain = /^[^*?[\]\\{}]+$/.test(glob);
  if (plain) return { test: (subject) => subject === glob, name: glob.slice(glob.lastIndexOf("/") + 1) };
  const suffix = /^\*(\.[^*?[\]\\{}/]+)$/.exec(glob)?.[1];
  if (byName && suffix !== undefined) {
    return { test: (subject) => subject.endsWith(suffix), extension: suffix };
  }
  let expression: RegExp;
  try {
    expression = new RegExp(`^${ignoreGlobSource(glob)}$`, "s");
  } catch {
    // A class such as [z-a]: the line stands for its own text.
    expression = new RegExp(`^${escapeRegExp(glob)}$`);
  }
  return { test: (subject) => expression.test(subject) };
}
