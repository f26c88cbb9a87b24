import { baseName } from "../../../path/lexical.ts";
import { ANY, isKnown } from "../../../rule/mod.ts";
import { type Call, dynamic, type Found, getopt, type Program } from "../program.ts";
import type { Input, Supply } from "../types.ts";
import { removedPaths } from "./files.ts";

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

/** Programs that look for files and hand them on. */
export const FINDERS: readonly Program[] = [
  {
    names: "find",
    files: "reads",
    deep: true,
    read: found,
    destroys: (call) =>
      call.args.includes("-delete")
        ? removedPaths([ANY], { ...call, supply: search(call).supply })
          .map((each) => ({ ...each, deed: ["deletesFound"] }))
        : [],
  },
  { names: "fd fdfind", files: "reads", deep: true, read: found },
  { names: "xargs", read: readXargs },
];
