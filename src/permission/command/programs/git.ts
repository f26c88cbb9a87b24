import { isKnown } from "../../../rule/mod.ts";
import {
  type Call,
  type Found,
  getopt,
  type Grammars,
  isLong,
  limitsReading,
  operands,
  type Program,
  wordPattern,
} from "../program.ts";
import type { Destruction, FileUse, Nested } from "../types.ts";
import { isNoProgram } from "../parse.ts";

type GitCall = ReturnType<typeof readGit>;

const VALUES = /^(?:-[Cc]|--(?:git-dir|work-tree|namespace|super-prefix|config-env|exec-path|attr-source))$/;

/** Subcommands that only read unless one of these options is there. */
const READERS =
  /^(?:status|log|diff|show|rev-parse|ls-files|ls-tree|blame|annotate|describe|shortlog|cat-file|rev-list|name-rev|merge-base|for-each-ref|count-objects|whatchanged|check-ignore|check-attr|diff-tree|diff-index|diff-files|show-ref|show-branch|var|version|grep|cherry|range-diff|help)$/;
const WRITING = ["output", "open-files-in-pager", "ext-diff", "textconv"];
/** Reads the words of a git call, its name included. */
function readGit({ argv, named }: Pick<Call, "argv" | "named">) {
  let at = 1;
  let directory: string | undefined;
  let dynamic: string | undefined;
  for (; at < argv.length; at++) {
    const word = argv[at] ?? "";
    if (!word.startsWith("-")) break;
    const [name = "", attached] = word.split(/=(.*)/s, 2);
    if (name === "--exec-path" && attached !== undefined) dynamic = "git --exec-path replaces git's programs";
    if (word === "-p" || word === "--paginate") dynamic = "git runs the configured pager";
    if (!VALUES.test(name) || (name === "--exec-path" && attached === undefined)) continue;
    const value = attached ?? argv[++at] ?? "";
    if (name === "-C") directory = directory === undefined ? value : `${directory}/${value}`;
    if (name === "-c" || name === "--config-env") dynamic ??= settingRuns(value);
  }
  const sub = argv[at] ?? "";
  const args = argv.slice(at + 1);
  const row = named(`git ${sub}`);
  const known = row?.sub?.split(" ").includes(sub) ? row : undefined;
  const runs = subcommandRuns(sub, args, known);
  return {
    sub,
    args,
    /** Undefined where the subcommand may be an alias or a program of any kind. */
    row: known,
    /** The same command without git's own options, as rules name it. */
    plain: ["git", ...argv.slice(at)],
    /** Given with `-C`. */
    directory,
    /** Some option sends it to another repository or setting. */
    redirected: argv.slice(1, at).some((word) => /^--(?:git-dir|work-tree|exec-path)/.test(word)),
    dynamic: dynamic ?? (typeof runs === "string" ? runs : undefined),
    nested: typeof runs === "object" ? runs : undefined,
  };
}

/** Returns a reason, or what is run when it can be read. */
function subcommandRuns(
  sub: string,
  args: readonly string[],
  row: Program | undefined,
): string | Nested | undefined {
  if (sub === "") return undefined;
  if (!isKnown(sub)) return "the git subcommand is only known to the shell";
  if (sub === "submodule" && args.includes("foreach")) {
    const after = args.slice(args.indexOf("foreach") + 1);
    const code = after.slice(Math.max(0, after.findIndex((word) => !/^-./.test(word)))).join(" ");
    return isKnown(code) ? { code } : "git submodule foreach runs what only the shell will know";
  }
  if (sub === "bisect" && args[0] === "run") return { argv: args.slice(1) };
  if (sub === "rebase") return rebaseRuns(args);
  if (!row) {
    return `git ${sub} may be an alias or a program of any kind`;
  }
  if (args.some((word) => word.startsWith("ext::"))) return `git ${sub} may run a program (ext::)`;
  const long = row.codeLong?.split(" ") ?? [];
  const found = args.find((word) => (word !== "" && row.code?.test(word)) || isLong(word, long));
  if (found !== undefined) return `git ${sub} ${found.slice(0, 30)} may run a program`;
  return sub === "config" ? configRuns(args) : undefined;
}

function rebaseRuns(args: readonly string[]): string | Nested | undefined {
  const codes = args.flatMap((word, i) => {
    const attached = /^-[ikmnqvfr]*x(.+)$/s.exec(word)?.[1] ??
      (isLong(word, ["exec"]) ? /=(.*)$/s.exec(word)?.[1] : undefined);
    if (attached !== undefined) return [attached];
    return /^-[ikmnqvfr]*x$/.test(word) || isLong(word, ["exec"]) ? [args[i + 1] ?? ""] : [];
  });
  if (codes.length === 0) return undefined;
  return isKnown(codes.join(""))
    ? { code: codes.join("\n") }
    : "git rebase --exec runs what only the shell will know";
}

function onlyReads({ sub, args, row, redirected }: GitCall): boolean {
  const hidden = (arg: string) => !isKnown(arg) && !/^(?:[\w./~@:+=,^]|--(?:format|pretty)=)/.test(arg);
  if (redirected || args.slice(0, [...args, "--"].indexOf("--")).some(hidden)) return false;
  if (sub === "config") {
    const words = configWords(args);
    if (typeof words === "string") return words === "asks" && !args.some((arg) => /^(?:--)?unset/.test(arg));
    return words.length === 1 &&
      args.every((arg) => /^\w|^--(?:global|local|system|show-origin|bool|int)$/.test(arg));
  }
  if (sub === "symbolic-ref") return /^(?:(?:-q|--short|--quiet) )*[\w/.]+$/.test(args.join(" "));
  if (row && limitsReading(row)) {
    const { options, operands: allowed, first } = row;
    const read = getopt(args, options ?? "");
    // With these the operands are patterns or commits, not names to create.
    const listing = read.options.some(({ name }) =>
      /^(?:list|(?:no-)?merged|contains|points-at)$/.test(name) || (sub === "tag" && name === "l")
    );
    return read.unknown === undefined && (first?.test(read.operands[0] ?? "") ?? true) &&
      (listing || read.operands.every((word) => isKnown(word) && allowed?.test(word)));
  }
  return READERS.test(sub) && !args.some((arg) => isLong(arg, WRITING)) &&
    (sub === "ls-files" || sub === "grep" || !args.some((arg) => /^-[oO]/.test(arg)));
}

/** Returns the files that a subcommand shows, overwrites or removes by name. */
function files(git: GitCall): { reads: FileUse[]; writes: FileUse[] } {
  const { sub, args, directory } = git;
  const prefix = directory === undefined ? "" : `${directory}/`;
  const end = args.indexOf("--");
  const words = sub === "checkout" && end < 0
    ? []
    : end >= 0 && /^(?:checkout|restore)$/.test(sub)
    ? args.slice(end + 1)
    : operands(args);
  if (sub === "config" && git.dynamic !== undefined) {
    return { reads: [], writes: [{ path: `${prefix}.git/config` }] };
  }
  const reads: FileUse[] = shownFiles(sub, words).map((path) => ({ path: prefix + path }));
  if (!/^(?:rm|mv|checkout|restore)$/.test(sub)) return { reads, writes: [] };
  if (sub === "mv") {
    reads.push(...words.slice(0, -1).map((path) => ({ path: prefix + path, moved: true as const })));
  }
  return { reads, writes: words.map((path) => ({ path: prefix + path, deep: true as const })) };
}

/** Returns what follows `--`, and what a revision names (`HEAD:path`, `:path`). */
function shownFiles(sub: string, words: readonly string[]): string[] {
  if (
    !/^(?:show|cat-file|diff|log|blame|annotate|grep|archive|stash|hash-object|range-diff|difftool|add|stage)$/
      .test(sub)
  ) return [];
  const named = words.flatMap((word) => /^[^:\s]*:(?:[0-3]:)?(?:\.\/)?([^:]+)$/.exec(word)?.[1] ?? []);
  return [...words.filter((word) => !word.includes(":")), ...named];
}

const REWRITES = ["force", "force-with-lease", "force-if-includes", "mirror", "delete", "prune"];

function destroys(call: Call): Destruction[] {
  const { sub, args, directory } = readGit(call);
  if (sub === "push" || sub === "send-pack") {
    const rewrite = args.find((arg) =>
      /^-[a-z]*[fd][a-z]*$/.test(arg) || isLong(arg, REWRITES) || /^\+./.test(arg) || /^:./.test(arg)
    );
    return rewrite === undefined ? [] : [{ action: ["rewritesRemote", `git ${sub} ${rewrite}`] }];
  }
  if (sub !== "clean") return [];
  const letters = args.filter((arg) => /^-[A-Za-z]/.test(arg)).join("");
  const forced = /f/.test(letters) || args.some((arg) => isLong(arg, ["force"]));
  if (
    !forced || /n/.test(letters) || args.some((arg) => isLong(arg, ["dry-run"])) || !/[dxX]/.test(letters)
  ) return [];
  const paths = operands(args).map((path) => directory === undefined ? path : `${directory}/${path}`);
  return paths.length > 0 ? [{ action: ["cleans"], paths }] : [{ action: ["cleansAll"] }];
}

function read(call: Call): Found {
  const { argv, at } = call;
  const git = readGit(call);
  const elsewhere = git.directory !== undefined &&
    argv.some((word) => /^(?:-C|--git-dir|--work-tree)/.test(word));
  const plain = git.plain.length < argv.length
    ? [{ argv: git.plain, at, ...(elsewhere ? { refusals: true as const } : {}) }]
    : [];
  return {
    dynamic: git.dynamic,
    nested: git.nested ? [git.nested] : [],
    runs: plain,
    readOnly: git.nested === undefined && git.dynamic === undefined &&
      (onlyReads(git) || (argv.length === 2 && /^--(?:version|help)$/.test(argv[1] ?? ""))),
    network: /^(?:push|pull|fetch|clone|ls-remote|remote|submodule|send-pack|fetch-pack)$/.test(git.sub),
    ...files(git),
  };
}

const PLAIN_SETTING = wordPattern("git settings", "i");

/** Says why a setting given with `-c` may run a program, if so. */
function settingRuns(setting: string): string | undefined {
  const [key = "", value = ""] = setting.split(/=(.*)/s, 2);
  if (/^(?:core\.(?:pager|editor)|pager\.\w+|sequence\.editor)$/i.test(key) && isNoProgram(value)) {
    return undefined;
  }
  return isKnown(key) && PLAIN_SETTING.test(key)
    ? undefined
    : `git setting ${isKnown(key) ? key : "…"} may run a program`;
}

/** Options of `git config` whose value is the next word. */
const CONFIG_VALUES = /^(?:-f|--(?:file|blob|type|default|comment|value|url))$/;
const CONFIG_QUERIES = /^(?:-l|--list|--get\S*|--unset\S*)$/;

/** Returns the key and value that `git config` would set, or what else it does. */
function configWords(args: readonly string[]): "edits" | "asks" | readonly string[] {
  const words = args.filter((word, i) => !/^-./.test(word) && !CONFIG_VALUES.test(args[i - 1] ?? ""));
  const [first = ""] = words;
  // Behind the name of a setting even a word with a dash is its value.
  const name = first.includes(".") ? args.indexOf(first) : args.length;
  const options = args.slice(0, name);
  if (options.some((word) => word === "-e" || word === "--edit") || first === "edit") return "edits";
  if (options.some((word) => CONFIG_QUERIES.test(word)) || /^(?:get|list|unset)$/.test(first)) return "asks";
  return first === "set" ? words.slice(1) : args.slice(name);
}

/** Writing a setting that runs programs has the next git command run them. */
function configRuns(args: readonly string[]): string | undefined {
  const words = configWords(args);
  if (words === "edits") return "git config opens an editor";
  if (words === "asks") return undefined;
  const [key = "", value] = words;
  return value === undefined || (isKnown(key) && PLAIN_SETTING.test(key))
    ? undefined
    : `git setting ${isKnown(key) ? key : "…"} may run a program later`;
}

export const GIT: Grammars = { git: { read, destroys } };
