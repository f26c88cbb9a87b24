import { isKnown } from "../../rule/mod.ts";
import { isLong } from "./line.ts";
import { isIdleProgram } from "./variables.ts";

/** A git command line read apart. */
export interface GitCall {
  readonly sub: string;
  /** Words after the subcommand. */
  readonly args: readonly string[];
  /** The same command without git's own options, as rules name it. */
  readonly plain: readonly string[];
  /** Folder given with `-C`. */
  readonly folder?: string;
  /** Why git could run any program, if so. */
  readonly opaque?: string;
  /** Shell code that git is told to run. */
  readonly code?: string;
  /** Words of a command that git is told to run. */
  readonly command?: readonly string[];
}

const VALUES = new Set([
  "-C",
  "-c",
  "--git-dir",
  "--work-tree",
  "--namespace",
  "--super-prefix",
  "--config-env",
  "--exec-path",
  "--attr-source",
]);

const COMMANDS: ReadonlySet<string> = new Set(
  ("add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap " +
    "check-ref-format checkout checkout-index cherry cherry-pick clean clone column commit commit-graph commit-tree config " +
    "count-objects credential-cache describe diff diff-files diff-index diff-tree difftool fast-export fast-import fetch " +
    "fetch-pack fmt-merge-msg for-each-ref format-patch fsck gc get-tar-commit-id grep hash-object help index-pack init " +
    "interpret-trailers log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge merge-base merge-file merge-index " +
    "merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes pack-objects pack-refs patch-id prune " +
    "prune-packed pull push range-diff read-tree rebase reflog remote repack replace request-pull rerere reset restore " +
    "rev-list rev-parse revert rm send-pack shortlog show show-branch show-index show-ref sparse-checkout stage stash status " +
    "stripspace submodule switch symbolic-ref tag unpack-file unpack-objects update-index update-ref update-server-info var " +
    "verify-commit verify-pack verify-tag version whatchanged worktree write-tree lfs").split(" "),
);

/** Settings that cannot make git run a program. */
const PLAIN_SETTING =
  /^(?:user\.(?:name|email|useconfigonly|signingkey)|color\..*|column\..*|advice\..*|core\.(?:quotepath|autocrlf|eol|safecrlf|longpaths|abbrev|bare|filemode|ignorecase|symlinks|precomposeunicode|logallrefupdates|commentchar|whitespace|preloadindex|untrackedcache)|commit\.(?:gpgsign|verbose|cleanup)|tag\.(?:gpgsign|sort)|init\.defaultbranch|safe\.directory|protocol\.version|gc\.auto|log\.[\w]+|format\.(?:pretty|signoff|numbered)|diff\.(?:noprefix|mnemonicprefix|renames|renamelimit|algorithm|colormoved|context|interhunkcontext|statgraphwidth)|merge\.(?:conflictstyle|ff|renames|stat)|push\.(?:default|autosetupremote|followtags)|pull\.(?:rebase|ff)|fetch\.(?:prune|prunetags|parallel)|rebase\.(?:autostash|autosquash|updaterefs)|submodule\.(?:recurse|fetchjobs)|http\.(?:version|postbuffer|lowspeedlimit|lowspeedtime)|index\.version|pack\.threads|feature\.\w+|rerere\.enabled|branch\.(?:sort|autosetuprebase|.*\.(?:remote|merge|rebase|description))|remote\..*\.(?:url|fetch|pushurl|prune)|i18n\..*|status\.\w+|stash\.\w+|worktree\.\w+)$/i;

/** Options by which a subcommand runs a program, or brings settings and hooks along: short ones, then long ones. */
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

/** Reads the words of a git call, its name included. */
export function readGit(argv: readonly string[]): GitCall {
  let at = 1;
  let folder: string | undefined;
  let opaque: string | undefined;
  for (; at < argv.length; at++) {
    const word = argv[at] ?? "";
    if (!word.startsWith("-")) break;
    const [name = "", attached] = word.split(/=(.*)/s, 2);
    if (name === "--exec-path" && attached !== undefined) opaque = "git --exec-path replaces git's programs";
    if (word === "-p" || word === "--paginate") opaque = "git runs the configured pager";
    if (!VALUES.has(name) || (name === "--exec-path" && attached === undefined)) continue;
    const value = attached ?? argv[++at] ?? "";
    if (name === "-C") folder = folder === undefined ? value : `${folder}/${value}`;
    if (name === "-c" || name === "--config-env") opaque ??= settingRuns(value);
  }
  const sub = argv[at] ?? "";
  const args = argv.slice(at + 1);
  const runs = subcommandRuns(sub, args);
  const reason = opaque ?? (typeof runs === "string" ? runs : undefined);
  return {
    sub,
    args,
    plain: ["git", ...argv.slice(at)],
    ...(folder === undefined ? {} : { folder }),
    ...(reason === undefined ? {} : { opaque: reason }),
    ...(typeof runs === "object" ? runs : {}),
  };
}

function settingRuns(setting: string): string | undefined {
  const [key = "", value = ""] = setting.split(/=(.*)/s, 2);
  if (/^(?:core\.(?:pager|editor)|pager\.\w+|sequence\.editor)$/i.test(key) && isIdleProgram(value)) {
    return undefined;
  }
  return isKnown(key) && PLAIN_SETTING.test(key)
    ? undefined
    : `git setting ${isKnown(key) ? key : "…"} may run a program`;
}

/** A reason, or what is run when it can be read. */
function subcommandRuns(
  sub: string,
  args: readonly string[],
): string | { code: string } | { command: readonly string[] } | undefined {
  if (sub === "") return undefined;
  if (!isKnown(sub)) return "the git subcommand is only known to the shell";
  if (sub === "submodule" && args.includes("foreach")) {
    const after = args.slice(args.indexOf("foreach") + 1);
    const words = after.slice(Math.max(0, after.findIndex((word) => !/^-./.test(word))));
    return isKnown(words.join(" "))
      ? { code: words.join(" ") }
      : "git submodule foreach runs what only the shell will know";
  }
  if (sub === "bisect" && args[0] === "run") return { command: args.slice(1) };
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

function rebaseRuns(args: readonly string[]): string | { code: string } | undefined {
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

/** Options of `git config` whose value is the next word. */
const CONFIG_VALUES = /^(?:-f|--(?:file|blob|type|default|comment|value|url))$/;
const CONFIG_QUERIES = /^(?:-l|--list|--get\S*|--unset\S*)$/;

/** Writing a setting that runs programs has the next git command run them. */
function configRuns(args: readonly string[]): string | undefined {
  if (args.some((word) => word === "-e" || word === "--edit")) return "git config opens an editor";
  const words = args.filter((word, i) => !/^-./.test(word) && !CONFIG_VALUES.test(args[i - 1] ?? ""));
  if (words[0] === "edit") return "git config opens an editor";
  if (args.some((word) => CONFIG_QUERIES.test(word)) || /^(?:get|list|unset)$/.test(words[0] ?? "")) {
    return undefined;
  }
  if (words[0] === "set") words.shift();
  const [key, value] = words;
  if (key === undefined || value === undefined) return undefined;
  return isKnown(key) && PLAIN_SETTING.test(key)
    ? undefined
    : `git setting ${isKnown(key) ? key : "…"} may run a program later`;
}
