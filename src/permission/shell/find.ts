import { ANY } from "../../rule/mod.ts";
import type { PathUse, Supply } from "./line.ts";

export interface FindCall {
  /** Commands it starts for what it finds. */
  readonly commands: readonly (readonly string[])[];
  readonly supply: Supply;
  readonly uses: readonly PathUse[];
  /** It removes what it finds. */
  readonly deletes: boolean;
}

const EXEC = /^-(?:exec|execdir|ok|okdir)$/;
const WRITES = /^-(?:fprint|fprint0|fprintf|fls)$/;
/** Parts of an expression that select nothing. */
const UNSELECTIVE =
  /^-(?:delete|print0?|depth|d|mindepth|maxdepth|xdev|mount|noleaf|daystart|follow|H|L|P|O\d|ls|prune|and|a|exec|execdir|ok|okdir|warn|nowarn|ignore_readdir_race)$/;

/** Reads the words of `find`, or of `fd` with `-x`. */
export function readFind(argv: readonly string[], name: string): FindCall {
  return name === "find" ? readClassic(argv) : readFd(argv);
}

function readClassic(argv: readonly string[]): FindCall {
  const first = argv.findIndex((word, i) => i > 0 && /^(?:-(?![HLP]$|O\d|D$).|[()!,])/.test(word));
  const end = first < 0 ? argv.length : first;
  const folders = argv.slice(1, end).filter((word) => !/^-[HLPO]/.test(word));
  const commands: string[][] = [];
  const uses: PathUse[] = [];
  let filtered = false;
  for (let i = end; i < argv.length; i++) {
    const word = argv[i] ?? "";
    if (EXEC.test(word)) {
      const stop = argv.findIndex((each, at) =>
        at > i && (each === ";" || (each === "+" && argv[at - 1] === "{}"))
      );
      const words = argv.slice(i + 1, stop < 0 ? undefined : stop);
      if (words.length > 0) commands.push(words.map((each) => each.replaceAll("{}", ANY)));
      i = stop < 0 ? argv.length : stop;
    } else if (WRITES.test(word)) {
      uses.push({ path: argv[i + 1] ?? ANY, access: "write" });
      i++;
    } else if (word.startsWith("-") && !UNSELECTIVE.test(word)) filtered = true;
  }
  const supply: Supply = { folders: folders.length > 0 ? folders : ["."], filtered };
  return { commands, supply, uses, deletes: argv.slice(end).includes("-delete") };
}

function readFd(argv: readonly string[]): FindCall {
  const at = argv.findIndex((word) => /^(?:-[A-Za-z]*[xX].*|--exec(?:-batch)?(?:=.*)?)$/s.test(word));
  const attached = /^(?:-[A-Za-z]*?[xX]|--exec(?:-batch)?=)(.+)$/s.exec(argv[at] ?? "")?.[1];
  const rest = at < 0 ? [] : argv.slice(at + 1).filter((word) => word !== ";");
  const words = attached === undefined ? rest : [attached, ...rest];
  const command = words.map((word) => word.replace(/\{[/.]{0,2}\}/g, ANY));
  const given = argv.slice(1, at < 0 ? undefined : at).filter((word) => !word.startsWith("-"));
  return {
    commands: words.length > 0 ? [[...command, ANY]] : [],
    supply: { folders: given.slice(1).length > 0 ? given.slice(1) : ["."], filtered: true },
    uses: [],
    deletes: false,
  };
}
