import { isKnown } from "../../../rule/mod.ts";
import { type Call, type Found, getopt, type Grammars, isLong, operands } from "../program.ts";
import type { Destruction, FileUse, Nested } from "../types.ts";
import { isIdleProgram } from "../variables.ts";

/** A git command line read apart. */
interface GitCall {
  readonly sub: string;
  readonly args: readonly string[];
  /** The same command without git's own options, as rules name it. */
  readonly plain: readonly string[];
  /** Directory given with `-C`. */
  readonly folder?: string | undefined;
  /** Some option sends it to another repository or setting. */
  readonly steered: boolean;
  readonly dynamic?: string | undefined;
  readonly nested?: Nested | undefined;
}

const VALUES = /^(?:-[Cc]|--(?:git-dir|work-tree|namespace|super-prefix|config-env|exec-path|attr-source))$/;

const COMMANDS: ReadonlySet<string> = new Set(
  ("add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap " +
    "check-ref-format checkout checkout-index cherry cherry-pick clean clone column commit " +
    "commit-graph commit-tree config " +
    "count-objects credential-cache describe diff diff-files diff-index diff-tree difftool " +
    "fast-export fast-import fetch " +
    "fetch-pack fmt-merge-msg for-each-ref format-patch fsck gc get-tar-commit-id grep " +
    "hash-object help index-pack init " +
    "interpret-trailers log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge " +
    "merge-base merge-file merge-index " +
    "merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes pack-objects pack-refs " +
    "patch-id prune " +
    "prune-packed pull push range-diff read-tree rebase reflog remote repack replace " +
    "request-pull rerere reset restore " +
    "rev-list rev-parse revert rm send-pack shortlog show show-branch show-index show-ref " +
    "sparse-checkout stage stash status " +
    "stripspace submodule switch symbolic-ref tag unpack-file unpack-objects update-index " +
    "update-ref update-server-info var " +
    "verify-commit verify-pack verify-tag version whatchanged worktree write-tree lfs").split(" "),
);

/**
 * Options by which a subcommand runs a program, or brings settings and hooks along: short ones, then long
 * ones.
 */
const PROGRAM_OPTIONS: Readonly<Record<string, readonly [short: RegExp, ...long: string[]]>> = {
  difftool: [/^-[A-Za-z]*[xt]/, "extcmd", "tool"],
  mergetool: [/^-[A-Za-z]*t/, "tool"],
  grep: [/^-[A-Za-z]*O/, "open-files-in-pager"],
  archive: [/^$/, "exec", "remote"],
  clone: [/^-[A-Za-z]*[uc]/, "upload-pack", "config", "template"],
  fetch: [/^$/, "upload-pack"],
  pull: [/^$/, "upload-pack"],
  push: [/^$/, "receive-pack", "exec"],
  "ls-remote": [/^$/, "upload-pack", "exec"],
  "fetch-pack": [/^$/, "upload-pack", "exec"],
  "send-pack": [/^$/, "receive-pack", "exec"],
  init: [/^$/, "template"],
  "merge-index": [/./],
  "fast-import": [/./],
  diff: [/^$/, "ext-diff"],
  log: [/^$/, "ext-diff"],
  show: [/^$/, "ext-diff"],
};

/** Subcommands that only read unless one of these options is there. */
const READERS =
  /^(?:status|log|diff|show|rev-parse|ls-files|ls-tree|blame|annotate|describe|shortlog|cat-file|rev-list|name-rev|merge-base|for-each-ref|count-objects|whatchanged|check-ignore|check-attr|diff-tree|diff-index|diff-files|show-ref|show-branch|var|version|grep|cherry|range-diff|help)$/;
const WRITING = ["output", "open-files-in-pager", "ext-diff", "textconv"];
/**
 * Subcommands that read with these words alone: options as getopt takes them, and what the operands may be.
 */
const LISTS: Readonly<Record<string, readonly [options: string, operands: RegExp, first?: RegExp]>> = {
  branch: [
    "arvl all remotes list show-current verbose contains=? merged=? no-merged=? sort= format= points-at=?",
    /^$/,
  ],
  tag: ["ln:: list contains=? merged=? no-merged=? sort= format= points-at=? column=?", /^$/],
  remote: ["v verbose push all", /^[\w.-]+$/, /^(?:|show|get-url)$/],
  stash: [
    "p stat patch name-only name-status oneline n:#",
    /^(?:list|show|stash@\{\d+\}|\d+)$/,
    /^(?:list|show)$/,
  ],
  worktree: ["vz porcelain verbose", /^list$/, /^list$/],
  reflog: ["n:# all date= oneline", /^[\w/.@{}-]+$/, /^(?!expire|delete|drop|exists|write)/],
  submodule: [" recursive cached", /^[\w./-]+$/, /^status$/],
  notes: ["", /^(?:list|show|[\w~^-]+)$/, /^(?:list|show)$/],
  bisect: ["", /^log$/, /^log$/],
};

/** Reads the words of a git call, its name included. */
function readGit(argv: readonly string[]): GitCall {
  let at = 1;
  let folder: string | undefined;
  let dynamic: string | undefined;
  for (; at < argv.length; at++) {
    const word = argv[at] ?? "";
    if (!word.startsWith("-")) break;
    const [name = "", attached] = word.split(/=(.*)/s, 2);
    if (name === "--exec-path" && attached !== undefined) dynamic = "git --exec-path replaces git's programs";
    if (word === "-p" || word === "--paginate") dynamic = "git runs the configured pager";
    if (!VALUES.test(name) || (name === "--exec-path" && attached === undefined)) continue;
    const value = attached ?? argv[++at] ?? "";
    if (name === "-C") folder = folder === undefined ? value : `${folder}/${value}`;
    if (name === "-c" || name === "--config-env") dynamic ??= settingRuns(value);
  }
  const sub = argv[at] ?? "";
  const args = argv.slice(at + 1);
  const runs = subcommandRuns(sub, args);
  return {
    sub,
    args,
    plain: ["git", ...argv.slice(at)],
    folder,
    steered: argv.slice(1, at).some((word) => /^--(?:git-dir|work-tree|exec-path)/.test(word)),
    dynamic: dynamic ?? (typeof runs === "string" ? runs : undefined),
    nested: typeof runs === "object" ? runs : undefined,
  };
}

/** Returns a reason, or what is run when it can be read. */
function subcommandRuns(sub: string, args: readonly string[]): string | Nested | undefined {
  if (sub === "") return undefined;
  if (!isKnown(sub)) return "the git subcommand is only known to the shell";
  if (sub === "submodule" && args.includes("foreach")) {
    const after = args.slice(args.indexOf("foreach") + 1);
    const code = after.slice(Math.max(0, after.findIndex((word) => !/^-./.test(word)))).join(" ");
    return isKnown(code) ? { code } : "git submodule foreach runs what only the shell will know";
  }
  if (sub === "bisect" && args[0] === "run") return { argv: args.slice(1) };
  if (sub === "rebase") return rebaseRuns(args);
  if (sub === "filter-branch" || !COMMANDS.has(sub)) {
    return `git ${sub} may be an alias or a program of any kind`;
  }
  if (args.some((word) => word.startsWith("ext::"))) return `git ${sub} may run a program (ext::)`;
  const [short, ...long] = PROGRAM_OPTIONS[sub] ?? [/^$/];
  const found = args.find((word) => (word !== "" && short.test(word)) || isLong(word, long));
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

function onlyReads({ sub, args, steered }: GitCall): boolean {
  const hidden = (arg: string) => !isKnown(arg) && !/^(?:[\w./~@:+=,^]|--(?:format|pretty)=)/.test(arg);
  if (steered || args.slice(0, [...args, "--"].indexOf("--")).some(hidden)) return false;
  if (sub === "config") {
    const words = configWords(args);
    if (typeof words === "string") return words === "asks" && !args.some((arg) => /^(?:--)?unset/.test(arg));
    return words.length === 1 &&
      args.every((arg) => /^\w|^--(?:global|local|system|show-origin|bool|int)$/.test(arg));
  }
  if (sub === "symbolic-ref") return /^(?:(?:-q|--short|--quiet) )*[\w/.]+$/.test(args.join(" "));
  const list = LISTS[sub];
  if (list) {
    const [options, allowed, leading] = list;
    const read = getopt(args, options);
    // With these the operands are patterns or commits, not names to create.
    const listing = read.options.some(({ name }) =>
      /^(?:list|(?:no-)?merged|contains|points-at)$/.test(name) || (sub === "tag" && name === "l")
    );
    return read.unknown === undefined && (leading?.test(read.operands[0] ?? "") ?? true) &&
      (listing || read.operands.every((word) => isKnown(word) && allowed.test(word)));
  }
  return READERS.test(sub) && !args.some((arg) => isLong(arg, WRITING)) &&
    (sub === "ls-files" || sub === "grep" || !args.some((arg) => /^-[oO]/.test(arg)));
}

/** Returns the files that a subcommand shows, overwrites or removes by name. */
function files(git: GitCall): { reads: FileUse[]; writes: FileUse[] } {
  const { sub, args, folder } = git;
  const prefix = folder === undefined ? "" : `${folder}/`;
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

function destroys({ argv }: Call): Destruction[] {
  const { sub, args, folder } = readGit(argv);
  if (sub === "push" || sub === "send-pack") {
    const rewrite = args.find((arg) =>
      /^-[a-z]*[fd][a-z]*$/.test(arg) || isLong(arg, REWRITES) || /^\+./.test(arg) || /^:./.test(arg)
    );
    return rewrite === undefined ? [] : [{ deed: ["rewritesRemote", `git ${sub} ${rewrite}`] }];
  }
  if (sub !== "clean") return [];
  const letters = args.filter((arg) => /^-[A-Za-z]/.test(arg)).join("");
  const forced = /f/.test(letters) || args.some((arg) => isLong(arg, ["force"]));
  if (
    !forced || /n/.test(letters) || args.some((arg) => isLong(arg, ["dry-run"])) || !/[dxX]/.test(letters)
  ) return [];
  const paths = operands(args).map((path) => folder === undefined ? path : `${folder}/${path}`);
  return paths.length > 0 ? [{ deed: ["cleans"], paths }] : [{ deed: ["cleansAll"] }];
}

function read({ argv, at }: Call): Found {
  const git = readGit(argv);
  const elsewhere = git.folder !== undefined &&
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

/** Settings that cannot make git run a program. */
const PLAIN_SETTING = new RegExp(
  "^(?:user\\.(?:name|email|useconfigonly|signingkey)|color\\..*|column\\..*|advice\\..*|" +
    "core\\.(?:quotepath|autocrlf|eol|safecrlf|longpaths|abbrev|bare|filemode|ignorecase|symlinks|precomposeunicode|" +
    "logallrefupdates|commentchar|whitespace|preloadindex|untrackedcache)|commit\\.(?:gpgsign|verbose|cleanup)|" +
    "tag\\.(?:gpgsign|sort)|init\\.defaultbranch|safe\\.directory|protocol\\.version|gc\\.auto|log\\.[\\w]+|" +
    "format\\.(?:pretty|signoff|numbered)|diff\\.(?:noprefix|mnemonicprefix|renames|renamelimit|algorithm|colormoved|" +
    "context|interhunkcontext|statgraphwidth)|merge\\.(?:conflictstyle|ff|renames|stat)|" +
    "push\\.(?:default|autosetupremote|followtags)|pull\\.(?:rebase|ff)|fetch\\.(?:prune|prunetags|parallel)|" +
    "rebase\\.(?:autostash|autosquash|updaterefs)|submodule\\.(?:recurse|fetchjobs)|" +
    "http\\.(?:version|postbuffer|lowspeedlimit|lowspeedtime)|index\\.version|pack\\.threads|feature\\.\\w+|" +
    "rerere\\.enabled|branch\\.(?:sort|autosetuprebase|.*\\.(?:remote|merge|rebase|description))|" +
    "remote\\..*\\.(?:url|fetch|pushurl|prune)|i18n\\..*|status\\.\\w+|stash\\.\\w+|worktree\\.\\w+)$",
  "i",
);

/** Says why a setting given with `-c` may run a program, if so. */
function settingRuns(setting: string): string | undefined {
  const [key = "", value = ""] = setting.split(/=(.*)/s, 2);
  if (/^(?:core\.(?:pager|editor)|pager\.\w+|sequence\.editor)$/i.test(key) && isIdleProgram(value)) {
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
