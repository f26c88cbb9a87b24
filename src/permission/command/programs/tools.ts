import { baseName } from "../../../path/lexical.ts";
import {
  type Call,
  dynamic,
  type Found,
  getopt,
  type Grammars,
  isLong,
  operands,
  reads,
} from "../program.ts";
import { isOpenFile } from "./code.ts";
import type { Destruction, FileUse, Input, Supply } from "../types.ts";
import { ANY, isKnown } from "../../../rule/mod.ts";

/**
 * Returns the paths a removal is given: what its words name, or below the directories that its words come
 * from.
 */
function removedPaths(paths: readonly string[], { supply }: Call): Destruction[] {
  if (!supply) return [{ action: ["deletes"], paths }];
  const named = paths.filter((path) => !path.includes(ANY));
  const some: Destruction[] = named.length < paths.length
    // Selected files of the workspace are not the workspace.
    ? [{
      action: ["deletes"],
      paths: supply.directories,
      ...(supply.filtered ? { among: "notRoot" as const } : {}),
    }]
    : [];
  return [{ action: ["deletes"], paths: named }, ...some];
}

function removal(call: Call): Destruction[] {
  const { name, args, supply } = call;
  const end = args.indexOf("--");
  const options = (end < 0 ? args : args.slice(0, end)).filter((arg) => /^-./.test(arg));
  if (name === "gio" && args[0] !== "trash") return [];
  const recursive = name !== "rm" || supply !== undefined ||
    options.some((arg) => /^-[A-Za-z]*[rR]/.test(arg) || isLong(arg, ["recursive"]));
  return recursive ? removedPaths(operands(args), call) : [];
}

function recursiveChange({ name, argv, args }: Call): Destruction[] {
  if (!argv.some((arg) => /^-[A-Za-z]*R/.test(arg) || isLong(arg, ["recursive"]))) return [];
  const named = argv.some((arg) => arg.startsWith("--reference"));
  return [{ action: ["changesBelow", name], paths: operands(args).slice(named ? 0 : 1), among: "notRoot" }];
}

function rsyncDelete({ args }: Call): Destruction[] {
  const words = operands(args);
  const target = words.at(-1);
  if (args.some((arg) => isLong(arg, ["remove-source-files"]) && arg.length > 8)) {
    return [{ action: ["rsyncRemoves"], paths: words.slice(0, -1) }];
  }
  if (!args.some((arg) => /^--(?:delete|del$)/.test(arg)) || target === undefined) return [];
  return /^(?:[\w.-]+@)?[\w.-]+:|^rsync:/.test(target)
    ? [{ action: ["rsyncDeletesOn", target] }]
    : [{ action: ["rsyncDeletesIn"], paths: [target] }];
}

function deviceCopy({ args }: Call): Destruction[] {
  const target = args.find((arg) => arg.startsWith("of="))?.slice(3);
  if (
    target === undefined || !(target.startsWith("/dev/") || target.startsWith(ANY)) ||
    /^\/dev\/(?:null|stdout|stderr|shm\/)/.test(target)
  ) return [];
  return [{ action: ["overwritesDevice", "dd", isKnown(target) ? target : "…"] }];
}

/** Options of tar that only list, after `t` or `--list`, or print what is in an archive (`-xO`). */
const TAR_LIST =
  "txOvzjJaf:C:T:X: list extract get to-stdout verbose file= gzip bzip2 xz zstd auto-compress directory= wildcards exclude= " +
  "full-time numeric-owner show-transformed-names";

function tar({ name, args }: Call): Found {
  const [first = "", ...rest] = args;
  // Its first word may be a cluster of options without a dash.
  if (/^[A-Za-z]*[IF]/.test(first)) return dynamic(`${name} is handed a command (${first})`);
  const { options, unknown } = getopt(/^[A-Za-z]/.test(first) ? [`-${first}`, ...rest] : args, TAR_LIST);
  // A colon in a name means another machine.
  const local = !args.some((word) => word.includes(":"));
  const has = (names: RegExp) => options.some(({ name }) => names.test(name));
  const prints = has(/^(?:t|list)$/) || (has(/^(?:x|extract|get)$/) && has(/^(?:O|to-stdout)$/));
  const plain = !/^[A-Za-z]/.test(first) || /^(?:[tvzjJaf]+|[xOvzjJaf]+)$/.test(first);
  if (plain && local && unknown === undefined && prints) return { readOnly: true };
  return { writes: unpacked(args, /^(?:-C|--directory)$/) };
}

/** Anything in the directory that follows an option. */
function unpacked(args: readonly string[], option: RegExp): FileUse[] {
  return args.flatMap((word, i) => option.test(word) ? [{ path: `${args[i + 1] || ANY}/${ANY}` }] : []);
}

/** Returns the directories into which a command unpacks an archive, with whatever is in it. */
export function unpackDirectories(argv: readonly string[], name: string): string[] {
  const unpacks = /^(?:bsd|g)?tar$/.test(name)
    ? argv.slice(1).some((word, i) =>
      /^(?:-[A-Za-z]*x|--(?:extract|get)$)/.test(word) || (i === 0 && /^[A-Za-z]*x/.test(word))
    )
    : /^(?:unzip|7z|7za|cpio|ar)$/.test(name);
  if (!unpacks) return [];
  const at = argv.findIndex((word) => /^(?:-C|-d|--directory)$/.test(word));
  return [at < 0 ? "." : argv[at + 1] ?? "."];
}

const EXEC = /^-(?:exec|execdir|ok|okdir)$/;
const WRITES = /^-(?:fprint|fprint0|fprintf|fls)$/;
/** Parts of an expression that select nothing. */
const UNSELECTIVE =
  /^-(?:delete|print0?|depth|d|mindepth|maxdepth|xdev|mount|noleaf|daystart|follow|H|L|P|O\d|ls|prune|and|a|exec|execdir|ok|okdir|warn|nowarn|ignore_readdir_race)$/;

/** Returns the commands that it starts for what it finds, where it searches, and what it writes. */
function readFind(argv: readonly string[]) {
  const first = argv.findIndex((word, i) => i > 0 && /^(?:-(?![HLP]$|O\d|D$).|[()!,])/.test(word));
  const end = first < 0 ? argv.length : first;
  const directories = argv.slice(1, end).filter((word) => !/^-[HLPO]/.test(word));
  const commands: string[][] = [];
  const written: string[] = [];
  let filtered = false;
  let changes = argv.some((word) => !isKnown(word) && !/^[\w./~@:+=,]/.test(word));
  for (let i = end; i < argv.length; i++) {
    const word = argv[i] ?? "";
    if (EXEC.test(word)) {
      const stop = argv.findIndex((each, at) =>
        at > i && (each === ";" || (each === "+" && argv[at - 1] === "{}"))
      );
      const words = argv.slice(i + 1, stop < 0 ? undefined : stop);
      if (words.length > 0) commands.push(words.map((each) => each.replaceAll("{}", ANY)));
      i = stop < 0 ? argv.length : stop;
    } else if (WRITES.test(word)) written.push(argv[++i] ?? ANY);
    else if (word === "-delete") changes = true;
    else if (word.startsWith("-") && !UNSELECTIVE.test(word)) filtered = true;
  }
  const supply: Supply = { directories: directories.length > 0 ? directories : ["."], filtered };
  return { commands, supply, written, changes };
}

function readFd(argv: readonly string[]): ReturnType<typeof readFind> {
  const at = argv.findIndex((word) => /^(?:-[A-Za-z]*[xX].*|--exec(?:-batch)?(?:=.*)?)$/s.test(word));
  const attached = /^(?:-[A-Za-z]*?[xX]|--exec(?:-batch)?=)(.+)$/s.exec(argv[at] ?? "")?.[1];
  const rest = at < 0 ? [] : argv.slice(at + 1).filter((word) => word !== ";");
  const words = attached === undefined ? rest : [attached, ...rest];
  const command = words.map((word) => word.replace(/\{[/.]{0,2}\}/g, ANY));
  const given = argv.slice(1, at < 0 ? undefined : at).filter((word) => !word.startsWith("-"));
  return {
    commands: words.length > 0 ? [[...command, ANY]] : [],
    supply: { directories: given.length > 1 ? given.slice(1) : ["."], filtered: true },
    written: [],
    changes: argv.some((word) => !isKnown(word) && !/^[\w./~@:+=,]/.test(word)) ||
      argv.includes("--exec-batch"),
  };
}

function search({ name, argv }: Call) {
  return name === "find" ? readFind(argv) : readFd(argv);
}

function found(call: Call): Found {
  const { commands, supply, written, changes } = search(call);
  const emptied = call.args.includes("-delete") && !supply.filtered ? supply.directories : [];
  return {
    nested: commands.map((argv) => ({ argv, supply })),
    writes: [...written.map((path) => ({ path })), ...emptied.map((path) => ({ path, deep: true as const }))],
    readOnly: !changes,
  };
}

const XARGS =
  "0prtxoa:E:I:J:L:n:P:d:R:S:s:i::l::e:: null interactive no-run-if-empty verbose exit open-tty " +
  "show-limits " +
  "arg-file= delimiter= max-args= max-chars= max-lines= max-procs= replace=? process-slot-var=";

/** Reads the command xargs starts, with unknown words for what it reads. */
function readXargs({ args, input }: Call): Found {
  const { options, end, unknown } = getopt(args, XARGS, true);
  if (unknown !== undefined) return dynamic("xargs is used in a way that is not known here");
  const words = args.slice(end);
  if (words.length === 0) return { readOnly: true };
  const { name, value } = options.findLast((each) => /^(?:[IJi]|replace)$/.test(each.name)) ?? { name: "" };
  const target = /^(?:i|replace)$/.test(name) ? value || "{}" : value;
  const argv = target ? words.map((word) => word.replaceAll(target, ANY)) : [...words, ANY];
  return { wrapper: true, nested: [{ argv, supply: supplied(input) }] };
}

/** Reports where the words come from that xargs reads: below the directories of a `find`, or unknown. */
function supplied(input: Input): Supply | undefined {
  if (input.kind !== "pipe" || input.from.length !== 1) return undefined;
  const argv = input.from[0]?.argv ?? [];
  const name = baseName(argv[0] ?? "");
  if (argv.includes(ANY)) return undefined;
  return name === "find" ? readFind(argv).supply : name === "fd" ? readFd(argv).supply : undefined;
}

/** Grammars of programs that make, change, copy, remove, pack and find files. */
export const FILES: Grammars = {
  rm: { destroys: removal },
  chmod: { destroys: recursiveChange },
  mv: {
    destroys: ({ args }) => [{ action: ["movesAway"], paths: operands(args).slice(0, -1), among: "vital" }],
  },
  rsync: { destroys: rsyncDelete },
  dd: {
    read: ({ args }) => ({
      reads: reads(args.flatMap((word) => word.startsWith("if=") ? [word.slice(3)] : [])),
      writes: reads(args.flatMap((word) => word.startsWith("of=") ? [word.slice(3)] : [])),
    }),
    destroys: deviceCopy,
  },
  tar: {
    read: tar,
    destroys: ({ args }) =>
      args.some((arg) => isLong(arg, ["remove-files"]))
        ? [{ action: ["deletes"], paths: operands(args) }]
        : [],
  },
  unzip: { read: ({ args }) => ({ writes: unpacked(args, /^-d$/) }) },
  find: {
    read: found,
    destroys: (call) =>
      call.args.includes("-delete")
        ? removedPaths([ANY], { ...call, supply: search(call).supply })
          .map((each) => ({ ...each, action: ["deletesFound"] }))
        : [],
  },
  fd: { read: found },
  xargs: { read: readXargs },
};

const AWK_CODE = ["file", "include", "load", "exec", "source"];
/** Options of awk that only say how to read; others of gawk write files or load code. */
const AWK_OPTIONS =
  "F:v:bcCgnNrsStV field-separator= assign= posix traditional characters-as-bytes re-interval " +
  "sandbox version";

/**
 * At the beginning of a program a slash can only open a pattern; one with a quote or a bracket is left to be
 * looked at.
 */
const AWK_FIRST_PATTERN = /^\s*!?\s*\/(?:[^/\\\n"[]|\\.)*\//;

/** Output to a file that is named in the program, where nothing in front could shift what is a string. */
const AWK_OUTPUT = /(\bprintf?\b[^;{}\n>|"'/#]*)>>?\s*"([\w.][\w./-]*)"(?=\s*(?:[;}\n]|$))/g;

/** An awk program can start commands with `system`, pipes and `getline`. */
function awk({ name, args }: Call): Found {
  let code: string | undefined;
  for (let i = 0; i < args.length && code === undefined; i++) {
    const word = args[i] ?? "";
    if (/^-[Fv]$/.test(word)) i++;
    else if (/^-[filEeDW]/.test(word) || isLong(word, AWK_CODE)) {
      return dynamic(`${name} reads its program from elsewhere (${word})`);
    } else if (!/^-./.test(word)) code = word;
  }
  if (code === undefined) return {};
  if (!isKnown(code)) return dynamic(`${name} runs a program that only the shell will know`);
  const outputs: string[] = [];
  const printing = code.replace(AWK_OUTPUT, (_, print: string, path: string) => {
    outputs.push(path);
    return print;
  });
  const bare = withoutStrings(printing.replace(AWK_FIRST_PATTERN, "1")).replaceAll("||", "");
  const writes = bare.split(/[;{}\n]/).some((statement) => {
    const print = statement.search(/\bprintf?\b/);
    return print >= 0 && statement.indexOf(">", print) >= 0;
  });
  const command = /^\s*BEGIN\s*\{\s*system\("([^"\\]*)"\);?\s*\}\s*$/.exec(code)?.[1];
  if (command !== undefined) return { wrapper: true, nested: [{ code: command }] };
  if (writes || /system|getline|\||@/.test(bare)) {
    return { dynamic: `the ${name} program may start commands or write files`, code };
  }
  return {
    writes: outputs.map((path) => ({ path })),
    readOnly: getopt(args, AWK_OPTIONS, true).unknown === undefined,
  };
}

/**
 * A quote in a pattern or a comment shifts what looks like a string, so that one may only be left out when
 * it holds nothing of note.
 */
function withoutStrings(code: string): string {
  const clear = !/[/#]/.test(code);
  return code.replace(
    /"(?:[^"\\]|\\.)*"/g,
    (text) => clear || !/system|getline|[|>@]/.test(text) ? '""' : text,
  );
}

const SED_ADDRESS = String.raw`(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/I?)`;
const SED_COMMAND = String
  .raw`(?:[pdqQDPhHgGxnN=lz}]\d*|s([^\w\s\\])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpIiMm0-9]*|` +
  String.raw`y/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/|[aic]\\?[^\n]*)`;
const SED_LINE = new RegExp(
  String
    .raw`^\s*(?:${SED_ADDRESS}(?:,(?:\+?${SED_ADDRESS}))?\s*!?\s*)?(?:\{|${SED_COMMAND}?\s*(?:[;\n}]+|$))`,
);
const SED_OPTIONS =
  "nErsuzbai::I::e:l: quiet silent regexp-extended null-data separate unbuffered zero-terminated " +
  "posix sandbox " +
  "debug help version expression= in-place=? line-length=";

/**
 * GNU sed can run commands (`e`) and write files (`w`); only programs made of other commands are known to
 * be plain.
 */
function sed({ name, args }: Call): Found {
  const hidden = args.map((word) => !isKnown(word) && !/^[\w./~@:+=,%]/.test(word));
  // A word that only the shell will know is taken for the program or a file; at worst it is an option.
  const { options, operands: words, unknown } = getopt(
    args.map((word, i) => hidden[i] ? `./${word}` : word),
    SED_OPTIONS,
  );
  if (unknown !== undefined) {
    return dynamic(`${name} is used with ${isKnown(unknown) ? unknown.slice(0, 20) : "…"}`);
  }
  const width = options.find((each) => each.name === "l")?.value;
  if ((width !== undefined && !/^\d+$/.test(width)) || !programs(options, words).every(isPlainSed)) {
    return dynamic(`the ${name} program may start commands or write files`);
  }
  // Elsewhere `-l` takes no word, and what follows is the program.
  return { readOnly: width === undefined && !hidden.includes(true) };
}

function programs(
  options: readonly { readonly name: string; readonly value?: string | undefined }[],
  words: readonly string[],
): string[] {
  const given = options.flatMap(({ name, value }) => /^(?:e|expression)$/.test(name) ? [value ?? ""] : []);
  return given.length > 0 ? given : words.slice(0, 1);
}

function isPlainSed(source: string): boolean {
  if (!isKnown(source)) return false;
  let rest = source;
  while (rest.trim() !== "") {
    const match = SED_LINE.exec(rest);
    if (!match || match[0] === "") return false;
    rest = rest.slice(match[0].length);
  }
  return true;
}

/** Reports whether a sed call changes files in place. */
function editsInPlace(args: readonly string[]): boolean {
  return args.some((word) => /^-[nErsuzb]*i/.test(word) || isLong(word, ["in-place"]));
}

function sedWithFiles(call: Call): Found {
  const words = operands(call.args);
  const files = call.args.some((word) => /^(?:-[A-Za-z]*[ef]|--(?:file|expression))/.test(word))
    ? words
    : words.slice(1);
  return {
    ...sed(call),
    ...(editsInPlace(call.args) ? { writes: reads(files) } : { reads: reads(files) }),
  };
}

const MAKE_FILE =
  /^(?:-[A-Za-z]*f|--(?:f|fi|fil|file|m|ma|mak|make|makef|makefi|makefil|makefile))(?:=(.*))?$/s;
const ATTACHED = /^-[bBdikLnpqrRsStvw]*f(.+)$/s;
/** Variables by which make itself decides what runs. */
const MAKE_VARIABLES = /^(?:SHELL|\.SHELLFLAGS|MAKEFLAGS|GNUMAKEFLAGS|MAKEFILES|MAKE|\.RECIPEPREFIX)$/;
const ASSIGNMENT = /^([^\s=:+?!]+)\s*(?:[:+?!]|::|:::)?=(.*)$/s;

/**
 * Returns what make is handed next to the rules of its project; values of its variables may represent
 * programs.
 */
function make({ name, args }: Call): Found {
  const runs = args.flatMap((word) => {
    const argv = (ASSIGNMENT.exec(word)?.[2] ?? "").split(/\s+/).filter((each) => each !== "");
    return argv.length > 0 ? [{ argv, at: 0, refusals: true as const }] : [];
  });
  return { ...makeCode(name, args), runs };
}

function makeCode(name: string, args: readonly string[]): Found | undefined {
  for (const [i, word] of args.entries()) {
    const file = MAKE_FILE.exec(word);
    const path = file ? file[1] ?? args[i + 1] ?? "" : ATTACHED.exec(word)?.[1];
    if (path !== undefined && isOpenFile(path)) {
      return dynamic(`${name} reads its rules from ${path || "nowhere"}`);
    }
    if (/^(?:-[CI]|--(?:directory|include-dir)=)?\/(?:dev|proc)\/(?!null$)/.test(word)) {
      return dynamic(`${name} is sent to ${word.slice(0, 30)}`);
    }
    if (/^-[A-Za-z]*E/.test(word)) return dynamic(`${name} is handed rules (${word.slice(0, 20)})`);
    const [, variable = "", value = ""] = ASSIGNMENT.exec(word) ?? [];
    const asks = /!=|\$[({]\s*shell\b|`|\$\$[({]/.test(word) && ASSIGNMENT.test(word);
    if (MAKE_VARIABLES.test(variable) || asks || /\$[({]/.test(value)) {
      return dynamic(`${name} is given ${variable} as code`);
    }
  }
  return undefined;
}

/** `cmake -E` can run a command that is somewhere in its words. */
function cmake({ name, args, at }: Call): Found | undefined {
  if (args[0] !== "-E" || !/^(?:env|chdir|time)$/.test(args[1] ?? "")) return undefined;
  const runs = args.map((_, i) => ({ argv: args.slice(i), at: at + 1 + i, refusals: true as const }));
  return { ...dynamic(`${name} is used in a way that is not known here`), runs };
}

/** Commands of these clients that only ask or format; all others may run or write something. */
const PLAIN_DOT =
  /^\.(?:tables|schema|fullschema|dump|mode|headers?|indexes|indices|databases|timer|width|separator|nullvalue|quit|exit|help|show|stats|bail|echo|explain|changes|limit|timeout|print)\b/;
const PLAIN_BACKSLASH =
  /^\\(?:d\S*|l\+?|x|q|t|a|c\S*|z|timing|pset|echo|conninfo|sf|sv|encoding|h|G|\?)(?:\s|$)/;
const RUNS = /\bprogram\s*['$]|\bload_extension\s*\(|\bedit\s*\(/i;
/** Commands that these clients take without a sign in front; elsewhere they are names of columns. */
const BARE_CLIENT = /^(?:mysql|mariadb)$/;
const BARE_RUNS = /\b(?:system|pager|edit|source)\s/i;

/** Clients of databases run commands on request, and read more requests from their input. */
function client({ name, args, input }: Call): Found | undefined {
  const dynamicInput = dynamic(`${name} is given commands that may run a program`);
  if (args.some((word) => /^-{1,2}(?:init|cmd|pager)\b/.test(word) || !isPlain(word, name))) {
    return dynamicInput;
  }
  if (input.kind === "inherited") return undefined;
  return input.kind === "text" && input.text !== undefined && isPlain(input.text, name)
    ? undefined
    : dynamicInput;
}

function isPlain(text: string, name: string): boolean {
  if (!isKnown(text) && !/^[\w./]/.test(text)) return false;
  if (RUNS.test(text) || (BARE_CLIENT.test(name) && BARE_RUNS.test(text))) return false;
  const dots = text.split("\n").map((line) => line.trim()).filter((line) => /^\.[a-z]/i.test(line));
  const slashes = [...text.matchAll(/\\./g)].map((match) => text.slice(match.index));
  return dots.every((line) => PLAIN_DOT.test(line) || /^\.{1,2}\//.test(line)) &&
    slashes.every((rest) => PLAIN_BACKSLASH.test(rest));
}

/** Options of xxd are whole words, and its second operand is a file it writes. */
const XXD = /^-(?:a|autoskip|b|bits|C|e|E|EBCDIC|i|include|p|ps|plain|postscript|u|z|[cglson]\d*)$/;

/** Grammars of text tools, build tools, clients of databases, and programs that change the running system. */
export const TOOLS: Grammars = {
  awk: { read: awk },
  sed: { read: sedWithFiles },
  xxd: {
    read: ({ args }) => {
      // Behind the first operand every word is one, whatever it looks like.
      let at = 0;
      while (at < args.length && XXD.test(args[at] ?? "")) at += /^-[cglson]$/.test(args[at] ?? "") ? 2 : 1;
      const operands = args.slice(at);
      return { readOnly: args.every(isKnown) && operands.length <= 1 && !/^-./.test(operands[0] ?? "") };
    },
  },
  make: { read: make },
  npm: {
    read: ({ args }) =>
      args.includes("pkg") && args.includes("set") ? { writes: [{ path: "package.json" }] } : undefined,
  },
  cmake: { read: cmake },
  gcc: {
    read: ({ args }) =>
      args.some((word) => /^-(?:[cSE]$|M|fsyntax|o)/.test(word)) || args.length < 1 ||
        args.every((word) => /^--?\w*version$|^-v$|^-dump/.test(word))
        ? undefined
        : { writes: [{ path: "a.out" }] },
  },
  database: { read: client },
  sftp: {
    read: ({ name, input }) =>
      input.kind === "inherited" ? undefined : dynamic(`${name} runs what it is given as input`),
  },
  kill: {
    destroys: ({ args }) => args.slice(1).some((arg) => arg === "-1") ? [{ action: ["killsOwn"] }] : [],
  },
};
