import { ANY } from "../../../rule/mod.ts";
import { type Call, operands, type Program } from "../program.ts";
import type { FileUse } from "../types.ts";

interface FileUses {
  readonly reads: readonly FileUse[];
  readonly writes: readonly FileUse[];
}

/** Options that give the pattern or the program, so that every plain word is a file. */
const PATTERN = /^(?:-[A-Za-z]*[ef]|--(?:regexp|file|expression))/;
const EVERYTHING_BELOW = /^(?:-[A-Za-z]*[rRa][A-Za-z]*|--recursive|--archive)$/;

/**
 * Returns the files that a program names in its words, as far as its row tells; used to refuse, never to
 * allow.
 */
export function fileUses({ args }: Call, row: Program): FileUses {
  const deep = row.deep || args.some((word) => EVERYTHING_BELOW.test(word)) ? { deep: true } as const : {};
  const words = operands(args);
  const uses = (paths: readonly string[]): FileUse[] => paths.map((path) => ({ path, ...deep }));
  const written = row.outputs ? outputs(args, row.outputs.split(" ")).map((path) => ({ path })) : [];
  switch (row.files) {
    case "reads":
      return { reads: uses(words), writes: written };
    case "searches":
      return {
        reads: uses(args.some((word) => PATTERN.test(word)) ? words : words.slice(1)),
        writes: written,
      };
    case "writes":
      return { reads: [], writes: uses(words) };
    case "writes rest":
      return { reads: [], writes: uses(words.slice(1)) };
    case "copies":
    case "moves":
      return copies(args, { words, moves: row.files === "moves", uses });
    default:
      return { reads: [], writes: written };
  }
}

/** Returns the files named by output options. */
function outputs(args: readonly string[], names: readonly string[]): string[] {
  return args.flatMap((word, i) =>
    names.flatMap((name) => {
      if (word === name) return [args[i + 1] ?? ANY];
      const head = name.startsWith("--") ? `${name}=` : name;
      return word.startsWith(head) && !word.startsWith(`${head}-`) ? [word.slice(head.length)] : [];
    })
  );
}

function copies(
  args: readonly string[],
  { words, moves, uses }: {
    words: readonly string[];
    moves: boolean;
    uses: (paths: readonly string[]) => FileUse[];
  },
): FileUses {
  const [target] = outputs(args, ["-t", "--target-directory"]);
  const named = target === undefined ? words.slice(0, -1) : words.filter((word) => word !== target);
  const sources = uses(named);
  const last = target ?? words.at(-1);
  // Into a directory, a file keeps its name; `from/.` and, for some, `from/` give what is in them.
  const inside = uses(named.map((path) => `${last}/${path.slice(path.lastIndexOf("/") + 1)}`));
  const whole = args.some((word) => /^(?:-[A-Za-z]*T[A-Za-z]*|--no-target-directory)$/.test(word));
  return {
    reads: moves ? sources.map((use) => ({ ...use, moved: true })) : sources,
    writes: [
      ...moves ? sources : [],
      ...last === undefined ? [] : [...whole ? uses([last]) : [{ path: last }], ...inside],
    ],
  };
}
