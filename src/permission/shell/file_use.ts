import { ANY } from "../../rule/mod.ts";
import { editsInPlace } from "./text_programs.ts";
import type { GitCall } from "./git.ts";
import type { PathUse } from "./line.ts";

/** Commands whose plain words are files they read. */
const READERS: ReadonlySet<string> = new Set(
  ("cat head tail less more bat nl tac rev od xxd hexdump strings base64 base32 cut sort uniq wc diff cmp comm paste fold " +
    "fmt expand unexpand column file stat md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum jq yq " +
    "zcat bzcat xzcat gunzip bunzip2 unxz zip unzip openssl gpg ls tree du find fd readlink realpath source . iconv " +
    "pandoc sqlite3 split csplit tsort join look mapfile readarray").split(" "),
);
/** The same after a first word that is a pattern or a program. */
const PATTERN_READERS: ReadonlySet<string> = new Set(
  "grep egrep fgrep rg ag ack awk gawk mawk sed gsed".split(" "),
);
/** Commands whose plain words are files they write, make or remove. */
const WRITERS: ReadonlySet<string> = new Set(
  "tee touch rm rmdir unlink mkdir mkfifo mknod truncate shred chmod chown chgrp chattr setfacl patch ex ed"
    .split(" "),
);
const OWNERS: ReadonlySet<string> = new Set(["chmod", "chown", "chgrp", "chattr", "setfacl"]);
/** Commands that read all words but the last, which they write. */
const COPIERS: ReadonlySet<string> = new Set(["cp", "mv", "ln", "install", "rsync", "scp"]);
const DEEP = /^(?:-[A-Za-z]*[rRa][A-Za-z]*|--recursive|--archive)$/;
const DEEP_BY_NATURE: ReadonlySet<string> = new Set(["mv", "rsync", "tar", "find", "fd", "rg", "tree", "du"]);

/** Files that a program names in its words, as far as that is commonly known; used to enforce refusals, never to allow. */
export function fileUses(argv: readonly string[], name: string): PathUse[] {
  const words = operands(argv.slice(1));
  const deep = DEEP_BY_NATURE.has(name) || argv.some((word) => DEEP.test(word))
    ? { deep: true } as const
    : {};
  const use = (access: "read" | "write") => (path: string): PathUse => ({ path, access, ...deep });
  if (WRITERS.has(name)) return words.slice(OWNERS.has(name) ? 1 : 0).map(use("write"));
  if (READERS.has(name)) return [...words.map(use("read")), ...outputs(argv, name)];
  if (PATTERN_READERS.has(name)) {
    const files = argv.some((word) => /^(?:-[A-Za-z]*[ef]|--(?:regexp|file|expression))/.test(word))
      ? words
      : words.slice(1);
    const edits = (name === "sed" || name === "gsed") && editsInPlace(argv);
    return files.map(use(edits ? "write" : "read"));
  }
  if (COPIERS.has(name)) return copies(argv, words, name, deep);
  if (name === "dd") return argv.flatMap(ddUse);
  if (name === "npm" && argv.includes("pkg") && argv.includes("set")) {
    return [{ path: "package.json", access: "write" }];
  }
  if (/^(?:curl|wget|gcc|cc|clang|g\+\+|go|rustc|tar|bsdtar|sort|zip|openssl)$/.test(name)) {
    return outputs(argv, name);
  }
  return [];
}

/** Words that are no options; after `--` all are. */
function operands(words: readonly string[]): string[] {
  const end = words.indexOf("--");
  const before = end < 0 ? words : words.slice(0, end);
  const after = end < 0 ? [] : words.slice(end + 1);
  return [...before.filter((word) => !/^-./.test(word)), ...after];
}

function copies(
  argv: readonly string[],
  words: readonly string[],
  name: string,
  deep: { deep?: true },
): PathUse[] {
  const at = argv.findIndex((word) => word === "-t" || word === "--target-directory");
  const target = argv.find((word) => word.startsWith("--target-directory="))?.slice(19) ??
    (at < 0 ? undefined : argv[at + 1]);
  const sources = target === undefined ? words.slice(0, -1) : words.filter((word) => word !== target);
  const last = target ?? words.at(-1);
  const access = name === "mv" ? "write" : "read";
  const uses: PathUse[] = sources.map((path) => ({ path, access, ...deep }));
  if (name === "mv") {
    uses.push(...sources.map((path): PathUse => ({ path, access: "read", moved: true, ...deep })));
  }
  if (last === undefined) return uses;
  // Into a folder, a file keeps its name.
  const inside = sources.map((path): PathUse => ({
    path: `${last}/${path.slice(path.lastIndexOf("/") + 1)}`,
    access: "write",
  }));
  return [...uses, { path: last, access: "write" }, ...inside];
}

function ddUse(word: string): PathUse[] {
  if (word.startsWith("if=")) return [{ path: word.slice(3), access: "read" }];
  return word.startsWith("of=") ? [{ path: word.slice(3), access: "write" }] : [];
}

/** Files named by output options. */
function outputs(argv: readonly string[], name: string): PathUse[] {
  const found: PathUse[] = [];
  argv.forEach((word, i) => {
    const next = argv[i + 1] ?? "";
    if (/^(?:-o|-O|--output|--output-document)$/.test(word) && !(name === "curl" && word === "-O")) {
      found.push({ path: next, access: "write" });
    }
    const attached = /^(?:--output(?:-document)?=|-o(?=[^-]))(.+)$/s.exec(word)?.[1];
    if (attached !== undefined) found.push({ path: attached, access: "write" });
    if (/^(?:tar|bsdtar)$/.test(name) && /^(?:-C|--directory)$/.test(word)) {
      found.push({ path: `${next}/${ANY}`, access: "write" });
    }
  });
  const compiles = /^(?:gcc|cc|clang|g\+\+)$/.test(name) &&
    !argv.some((word) => /^-(?:[cSE]$|M|fsyntax)/.test(word));
  return compiles && found.length === 0 ? [{ path: "a.out", access: "write" }] : found;
}

/** Files that a git subcommand overwrites or removes by name. */
export function gitFileUses(git: GitCall): PathUse[] {
  const prefix = git.folder === undefined ? "" : `${git.folder}/`;
  const end = git.args.indexOf("--");
  const words = git.sub === "checkout" || git.sub === "restore"
    ? (end < 0 ? [] : git.args.slice(end + 1))
    : operands(git.args);
  if (git.sub === "config" && git.opaque !== undefined) {
    return [{ path: `${prefix}.git/config`, access: "write" }];
  }
  const reads = gitReads(git, words).map((path): PathUse => ({ path: prefix + path, access: "read" }));
  if (!/^(?:rm|mv|checkout|restore)$/.test(git.sub)) return reads;
  const moved = git.sub === "mv"
    ? words.slice(0, -1).map((path): PathUse => ({ path: prefix + path, access: "read", moved: true }))
    : [];
  return [
    ...reads,
    ...moved,
    ...words.map((path): PathUse => ({ path: prefix + path, access: "write", deep: true })),
  ];
}

/** Files whose content a git subcommand shows: what follows `--`, and what a revision names (`HEAD:path`, `:path`). */
function gitReads(git: GitCall, words: readonly string[]): string[] {
  if (
    !/^(?:show|cat-file|diff|log|blame|annotate|grep|archive|stash|hash-object|range-diff|difftool|add|stage)$/
      .test(git.sub)
  ) {
    return [];
  }
  const named = words.flatMap((word) => /^[^:\s]*:(?:[0-3]:)?(?:\.\/)?([^:]+)$/.exec(word)?.[1] ?? []);
  return [...words.filter((word) => !word.includes(":")), ...named];
}
