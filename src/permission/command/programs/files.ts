import { baseName } from "../../../path/lexical.ts";
import { ANY, isKnown } from "../../../rule/mod.ts";
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
import { type Destruction, type Input, isDiscardDevice, type Supply } from "../types.ts";

/**
 * Returns the paths a removal is given: what its words name, or below the directories that its words come
 * from.
 */
function removedPaths(paths: readonly string[], { supply }: Call): Destruction[] {
  if (!supply) return [{ deed: ["deletes"], paths }];
  const named = paths.filter((path) => !path.includes(ANY));
  const some: Destruction[] = named.length < paths.length
    // Selected files of the workspace are not the workspace.
    ? [{
      deed: ["deletes"],
      paths: supply.folders,
      ...(supply.filtered ? { among: "notRoot" as const } : {}),
    }]
    : [];
  return [{ deed: ["deletes"], paths: named }, ...some];
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
  return [{ deed: ["changesBelow", name], paths: operands(args).slice(named ? 0 : 1), among: "notRoot" }];
}

function rsyncDelete({ args }: Call): Destruction[] {
  const words = operands(args);
  const target = words.at(-1);
  if (args.some((arg) => isLong(arg, ["remove-source-files"]) && arg.length > 8)) {
    return [{ deed: ["rsyncRemoves"], paths: words.slice(0, -1) }];
  }
  if (!args.some((arg) => /^--(?:delete|del$)/.test(arg)) || target === undefined) return [];
  return /^(?:[\w.-]+@)?[\w.-]+:|^rsync:/.test(target)
    ? [{ deed: ["rsyncDeletesOn", target] }]
    : [{ deed: ["rsyncDeletesIn"], paths: [target] }];
}

function deviceCopy({ args }: Call): Destruction[] {
  const target = args.find((arg) => arg.startsWith("of="))?.slice(3);
  if (
    target === undefined || !(target.startsWith("/dev/") || target.startsWith(ANY)) ||
    /^\/dev\/(?:null|stdout|stderr|shm\/)/.test(target)
  ) return [];
  return [{ deed: ["overwritesDevice", "dd", isKnown(target) ? target : "…"] }];
}

/** Options of tar that only list, after `t` or `--list`, or print what is in an archive (`-xO`). */
const TAR_LIST =
  "txOvzjJaf:C:T:X: list extract get to-stdout verbose file= gzip bzip2 xz zstd auto-compress directory= wildcards exclude= " +
  "full-time numeric-owner show-transformed-names";

function tar({ name, args }: Call): Found {
  const [first = "", ...rest] = args;
  // Its first word may be a cluster of options without a dash.
  if (/^[A-Za-z]*[IF]/.test(first)) return dynamic(`${name} is handed a command (${first})`);
  const bundled = /^[tvzjJaf]*t[tvzjJaf]*$|^[xvzjJaf]*(?:x[vzjJaf]*O|O[vzjJaf]*x)[vzjJaf]*$/.test(first);
  const { options, unknown } = getopt(bundled ? rest : args, TAR_LIST);
  // A colon in a name means another machine.
  const local = !args.some((word) => word.includes(":"));
  const has = (names: RegExp) => options.some(({ name }) => names.test(name));
  const prints = has(/^(?:t|list)$/) || (has(/^(?:x|extract|get)$/) && has(/^(?:O|to-stdout)$/));
  if (local && unknown === undefined && (bundled || prints)) return { readOnly: true };
  const into = args.flatMap((word, i) => /^(?:-C|--directory)$/.test(word) ? [args[i + 1] ?? ""] : []);
  return { writes: into.map((path) => ({ path: `${path}/${ANY}` })) };
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

interface Search {
  /** Commands it starts for what it finds. */
  readonly commands: readonly (readonly string[])[];
  readonly supply: Supply;
  readonly written: readonly string[];
  readonly changes: boolean;
}

const EXEC = /^-(?:exec|execdir|ok|okdir)$/;
const WRITES = /^-(?:fprint|fprint0|fprintf|fls)$/;
/** Parts of an expression that select nothing. */
const UNSELECTIVE =
  /^-(?:delete|print0?|depth|d|mindepth|maxdepth|xdev|mount|noleaf|daystart|follow|H|L|P|O\d|ls|prune|and|a|exec|execdir|ok|okdir|warn|nowarn|ignore_readdir_race)$/;

function readFind(argv: readonly string[]): Search {
  const first = argv.findIndex((word, i) => i > 0 && /^(?:-(?![HLP]$|O\d|D$).|[()!,])/.test(word));
  const end = first < 0 ? argv.length : first;
  const folders = argv.slice(1, end).filter((word) => !/^-[HLPO]/.test(word));
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
  return { commands, supply: { folders: folders.length > 0 ? folders : ["."], filtered }, written, changes };
}

function readFd(argv: readonly string[]): Search {
  const at = argv.findIndex((word) => /^(?:-[A-Za-z]*[xX].*|--exec(?:-batch)?(?:=.*)?)$/s.test(word));
  const attached = /^(?:-[A-Za-z]*?[xX]|--exec(?:-batch)?=)(.+)$/s.exec(argv[at] ?? "")?.[1];
  const rest = at < 0 ? [] : argv.slice(at + 1).filter((word) => word !== ";");
  const words = attached === undefined ? rest : [attached, ...rest];
  const command = words.map((word) => word.replace(/\{[/.]{0,2}\}/g, ANY));
  const given = argv.slice(1, at < 0 ? undefined : at).filter((word) => !word.startsWith("-"));
  return {
    commands: words.length > 0 ? [[...command, ANY]] : [],
    supply: { folders: given.length > 1 ? given.slice(1) : ["."], filtered: true },
    written: [],
    changes: argv.some((word) => !isKnown(word) && !/^[\w./~@:+=,]/.test(word)) ||
      argv.includes("--exec-batch"),
  };
}

function search({ name, argv }: Call): Search {
  return name === "find" ? readFind(argv) : readFd(argv);
}

function found(call: Call): Found {
  const { commands, supply, written, changes } = search(call);
  const emptied = call.args.includes("-delete") && !supply.filtered ? supply.folders : [];
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

/** Tells where the words come from that xargs reads: below the directories of a `find`, or unknown. */
function supplied(input: Input): Supply | undefined {
  if (input.kind !== "pipe" || input.from.length !== 1) return undefined;
  const argv = input.from[0]?.argv ?? [];
  const name = baseName(argv[0] ?? "");
  if (argv.includes(ANY)) return undefined;
  return name === "find" ? readFind(argv).supply : name === "fd" ? readFd(argv).supply : undefined;
}

/** Grammars of programs that make, change, copy, remove, pack and find files. */
export const FILES: Grammars = {
  tee: {
    read: ({ args }) => ({
      readOnly: args.every((word) => /^-[aip]+$/.test(word) || isDiscardDevice(word)),
    }),
  },
  rm: { destroys: removal },
  chmod: { destroys: recursiveChange },
  mv: {
    destroys: ({ args }) => [{ deed: ["movesAway"], paths: operands(args).slice(0, -1), among: "vital" }],
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
      args.some((arg) => isLong(arg, ["remove-files"])) ? [{ deed: ["deletes"], paths: operands(args) }] : [],
  },
  unzip: {
    read: ({ args }) => {
      const { options, unknown } = getopt(args, "lvtpzZ1qCashm:x: ");
      const into = args.flatMap((word, i) => word === "-d" ? [args[i + 1] ?? ANY] : []);
      return {
        writes: into.map((path) => ({ path: `${path}/${ANY}` })),
        readOnly: unknown === undefined && options.some((each) => /^[lvtpZ]$/.test(each.name)),
      };
    },
  },
  gzip: {
    read: ({ args }) => {
      const { options, unknown } = getopt(
        args,
        "cdlktvqfT:# stdout to-stdout decompress list test keep verbose quiet",
      );
      const prints = options.some((each) => /^(?:[clt]|stdout|to-stdout|list|test)$/.test(each.name));
      return { readOnly: unknown === undefined && prints };
    },
  },
  "7z": {
    read: ({ args }) => ({
      readOnly: /^[lt]$/.test(args[0] ?? "") && args.every((word) => !/^-[ow]/.test(word)),
    }),
  },
  find: {
    read: found,
    destroys: (call) =>
      call.args.includes("-delete")
        ? removedPaths([ANY], { ...call, supply: search(call).supply })
          .map((each) => ({ ...each, deed: ["deletesFound"] }))
        : [],
  },
  fd: { read: found },
  xargs: { read: readXargs },
};
