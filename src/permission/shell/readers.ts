import { baseName } from "../../path/lexical.ts";
import { isKnown } from "../../rule/mod.ts";
import { riskyVariable } from "./command_words.ts";
import { isLong, program, type Segment } from "./line.ts";
import { readGit } from "./git.ts";

/** Programs that only read and print, whatever their words say. */
const PLAIN: ReadonlySet<string> = new Set(
  ("ls cat head tail wc pwd true false : [ test which type file stat du df whoami id uname nproc uptime basename dirname realpath " +
    "readlink cut tr nl tac rev comm cmp md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum od hexdump strings " +
    "grep egrep fgrep tree column fold expand unexpand seq sleep jq paste echo printenv groups arch tsort getconf locale ps free " +
    "sed gsed awk gawk mawk diff more less zcat zgrep cal factor numfmt").split(" "),
);
/** Words that make a program write or run something: a pattern, then long options. */
type Refused = readonly [words: RegExp, ...long: string[]];
/** The same, unless one of these words is there. */
const UNLESS: Readonly<Record<string, Refused>> = {
  sed: [/^-[nErsuz]*i/, "in-place"],
  gsed: [/^-[nErsuz]*i/, "in-place"],
  awk: [/^-i/, "include"],
  gawk: [/^-i/, "include"],
  tree: [/^-o/, "output"],
  file: [/^-[A-Za-z]*C/, "compile"],
  less: [/^(?:-[A-Za-z]*[oOk]|\+)/, "log-file", "lesskey-file", "LOG-FILE"],
  more: [/^\+/],
  diff: [/^$/, "output"],
};
/** Programs that read unless a word matches. */
const GUARDED: Readonly<Record<string, Refused>> = {
  rg: [/^-[A-Za-z]*z/, "pre", "pre-glob", "hostname-bin", "search-zip"],
  sort: [/^-[A-Za-z]*[oT]/, "output", "compress-program", "temporary-directory", "files0-from"],
  find: [/^-(?:exec|execdir|ok|okdir|delete|fprint|fprint0|fprintf|fls)$/],
  fd: [/^-[A-Za-z]*[xX]/, "exec", "exec-batch"],
  yq: [/^-[A-Za-z]*[is]/, "inplace", "in-place", "split-exp"],
  date: [/^(?:-[A-Za-z]*s|\d)/, "set"],
  printf: [/^-v/],
  env: [/./],
  hostname: [/./],
  base64: [/^-o/],
  command: [/^(?!-[vV]$)/],
};
/** Shell builtins that only change the shell that is about to end. */
const SHELL_ONLY =
  /^(?:exit|return|break|continue|shift|wait|cd|set|shopt|local|export|declare|typeset|readonly|read|getopts)$/;

const GIT_READERS: ReadonlySet<string> = new Set(
  ("status log diff show rev-parse ls-files ls-tree blame annotate describe shortlog cat-file rev-list name-rev merge-base for-each-ref " +
    "count-objects whatchanged check-ignore check-attr diff-tree diff-index diff-files show-ref show-branch var version grep cherry range-diff help")
    .split(" "),
);
const GIT_WRITES: Refused = [/^-[oO]/, "output", "open-files-in-pager", "ext-diff", "textconv"];
/** Subcommands that read when only these words follow. */
const GIT_LISTS: Readonly<Record<string, RegExp>> = {
  branch:
    /^(?:-[arvl]+|-vv|--(?:all|remotes|list|show-current|verbose|contains|merged|no-merged|sort=.*|format=.*))$/,
  tag: /^(?:-l|-n\d*|--(?:list|contains|merged|sort=.*|format=.*|points-at).*)$/,
  remote: /^(?:-v|--verbose|show|get-url|[\w.-]+)$/,
  stash: /^(?:list|show|-p|--stat|stash@\{\d+\})$/,
  worktree: /^(?:list|--porcelain)$/,
  reflog: /^(?:show|-n|-?\d+|HEAD|--all|[\w/.-]+)$/,
  config:
    /^(?:--get|--get-all|--get-regexp|--list|-l|list|get|--global|--local|--show-origin|--name-only|[\w.-]+)$/,
};

/** Whether a segment only reads and prints. Conservative: what is not listed here writes. */
export function isReader(segment: Segment): boolean {
  if (segment.opaque !== undefined || segment.risk !== undefined || segment.guarded !== undefined) {
    return false;
  }
  if (segment.uses.some((use) => use.access === "write" && !isSink(use.path))) return false;
  if (segment.inert || segment.carrier) return true;
  const argv = program(segment);
  const word = argv[0];
  if (word === undefined) return segment.views.length === 0 && segment.uses.length > 0;
  if (!isKnown(word) || /\//.test(word.replace(/^\/(?:usr\/)?bin\//, ""))) return false;
  const name = baseName(word);
  const args = argv.slice(1);
  const hidden = args.some((arg) => !isKnown(arg) && !/^[\w./~@:+=,]/.test(arg));
  if (name === "git") return !hidden && isGitReader(argv);
  if (
    args.length === 1 && /^(?:--version|-version|-V|version|--help)$/.test(args[0] ?? "") &&
    /^[\w.+-]+$/.test(name)
  ) return true;
  if (SHELL_ONLY.test(name)) return isShellOnly(name, args);
  if (name === "uniq" || name === "xxd") {
    return args.filter((arg) => !arg.startsWith("-")).length <= 1 &&
      !args.some((arg) => /^-[A-Za-z]*[ro]/.test(arg));
  }
  const unless = UNLESS[name];
  if (PLAIN.has(name)) return !unless || !(hidden || args.some((arg) => isRefused(arg, unless)));
  const refused = GUARDED[name];
  return refused !== undefined && !hidden && !args.some((arg) => isRefused(arg, refused));
}

function isRefused(word: string, [words, ...long]: Refused): boolean {
  return (word !== "" && words.test(word)) || isLong(word, long);
}

/** Devices that keep nothing. */
export function isSink(path: string): boolean {
  return /^\/dev\/(?:null|stdout|stderr|tty|fd\/\d+)$/.test(path);
}

function isShellOnly(name: string, args: readonly string[]): boolean {
  if (!/^(?:local|export|declare|typeset|readonly|read|getopts)$/.test(name)) return true;
  const names = args.filter((arg) => !arg.startsWith("-")).map((arg) => arg.split("=", 1)[0] ?? "");
  return args.every((arg) => !/^-[A-Za-z]*[fn]/.test(arg)) && riskyVariable(names) === undefined;
}

function isGitReader(argv: readonly string[]): boolean {
  const git = readGit(argv);
  if (git.opaque !== undefined || git.code !== undefined || git.command !== undefined) return false;
  if (argv.some((arg) => /^--(?:git-dir|work-tree|exec-path)|^-c$/.test(arg))) return false;
  const list = GIT_LISTS[git.sub];
  if (git.sub === "config" && !git.args.some((arg) => /^(?:--get.*|--list|-l|list|get)$/.test(arg))) {
    return false;
  }
  if (
    git.sub === "remote" && git.args.some((arg) => /^(?:add|remove|rm|rename|set-.*|prune|update)$/.test(arg))
  ) return false;
  if (git.sub === "reflog" && git.args.some((arg) => /^(?:expire|delete|drop|exists|write)$/.test(arg))) {
    return false;
  }
  if (git.sub === "stash" && git.args[0] !== "list" && git.args[0] !== "show") return false;
  if (git.sub === "worktree" && git.args[0] !== "list") return false;
  if (list) return git.args.every((arg) => isKnown(arg) && list.test(arg));
  return GIT_READERS.has(git.sub) && !git.args.some((arg) => isRefused(arg, GIT_WRITES));
}
