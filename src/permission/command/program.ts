import { isKnown } from "../../rule/mod.ts";
import type { Destruction, Effects, FileUse, Input, Invocation, Nested, Supply } from "./types.ts";
import text from "./programs.txt" with { type: "text" };

/** The rows of `programs.txt`, each with its fields; its head says how they are written. */
export const ROWS: readonly (readonly [name: string, ...fields: string[]])[] = text
  .replace(/^#.*\n/gm, "").replace(/\n {4}(?=\S)/g, " ").replace(/\n {2}(?=\S)/g, "  ")
  .split("\n").filter((line) => line !== "")
  .map((line) => {
    const [name = "", ...fields] = line.split("  ");
    return [name, ...fields];
  });

/** The fields of each row of a list. */
export function listed(name: string): readonly (readonly string[])[] {
  return ROWS.flatMap(([row, ...fields]) => row === `%${name}` ? [fields] : []);
}

/** A list of words as one pattern. */
export function wordPattern(name: string, flags?: string): RegExp {
  return new RegExp(`^(?:${listed(name).flat().join(" ").replaceAll(" ", "|")})$`, flags);
}

/**
 * A row of `programs.txt`, its fields by their names. Options are written as getopt takes them, then the long
 * ones: `vo: verbose output= color=?` (`:` and `=` take a value, `::` and `=?` only an attached one).
 */
export interface Program extends Grammar {
  /** Separated by spaces. `python#` also means names that end in a version. */
  readonly names: string;
  /** Subcommands that the row is about; absent: the program as a whole. */
  readonly sub?: string;
  /** It only reads, whatever its words are. */
  readonly reads?: true;
  /** With these options it only reads; with one that is not listed, it may write. */
  readonly options?: string;
  /** One of these options has to be there. */
  readonly needs?: RegExp;
  readonly operands?: RegExp;
  /** The most operands. */
  readonly most?: number;
  /** In place of options and operands: each word. */
  readonly words?: RegExp;
  /** The first word; of git, the first operand of a subcommand. */
  readonly first?: RegExp;
  /** Words that alone make it print something about itself. */
  readonly prints?: string;
  /**
   * Its plain words, for rules that refuse: files that it `reads`, `writes`, `copies` or `moves`; `searches`
   * and `writes rest` leave out the first word.
   */
  readonly files?: string;
  /** It does to everything below a directory what it does to the directory. */
  readonly deep?: true;
  /** Options whose value is a file it writes. */
  readonly outputs?: string;
  /** It runs the command that follows these options. */
  readonly wraps?: string;
  /** Words between the options of a wrapper and the command, such as the duration of `timeout`. */
  readonly skip?: number;
  /** Words with `=` before the command of a wrapper. */
  readonly assigns?: true;
  /** A lone dash may be an option of a wrapper (`env -`). */
  readonly dash?: true;
  /** Options of a wrapper that only ask about the command. */
  readonly queries?: string;
  /** Options of a wrapper whose value is a file it writes; `operand` when the first operand is one. */
  readonly writes?: string;
  /** The reason why a rule for the command of a wrapper does not cover the wrapper. */
  readonly guarded?: string;
  /** Without a command a wrapper only `prints`, or it runs a `shell`. */
  readonly bare?: string;
  /** It runs other programs in ways that are not read here. */
  readonly runs?: true;
  /** Plain words from the `first` or `afterFirst` on may name a program: refusals look at them. */
  readonly mentions?: string;
  /** Options that hand it code or a command: as a pattern, and long ones that may be shortened. */
  readonly code?: RegExp;
  readonly codeLong?: string;
  /** It runs code of another language; `shown`: what the line gives is searched for commands and files. */
  readonly interprets?: string;
  /** Options of an interpreter that may precede its file, or its input. */
  readonly input?: RegExp;
  /** Files of a project that it runs automatically. */
  readonly autoexec?: RegExp;
  /** It talks to other machines: always, or with one of these words. */
  readonly network?: true | RegExp;
  /** Package registries that it contacts, and hosts of its service. */
  readonly registries?: string;
  readonly hosts?: string;
  /** Prefix rules that may be offered: subcommands (`+` takes one more word), or `.`, the name alone. */
  readonly offers?: string;
  /** Subcommands that delete on another machine, among the first `depth` words. `*` is any text. */
  readonly deletes?: string;
  readonly depth?: number;
  /** Options that delete there; one whose value matters is written with `=`. */
  readonly deleting?: string;
  /** Statements in its words or its input that delete there. */
  readonly text?: RegExp;
}

/** Reports whether a row says with which words its program only reads. */
export function limitsReading({ options, words, first }: Program): boolean {
  return (options ?? words ?? first) !== undefined;
}

/** Reads the words of a program that has its own grammar. */
export interface Grammar {
  readonly read?: ((call: Call) => Found | undefined) | undefined;
  readonly destroys?: ((call: Call) => readonly Destruction[]) | undefined;
}

export type Grammars = Readonly<Record<string, Grammar>>;

/** The effects that a grammar finds in the words of a program. */
export type Found =
  & Partial<
    Pick<Effects, "reads" | "writes" | "network" | "readOnly" | "dynamic" | "unseen" | "code" | "wrapper">
  >
  & {
    readonly runs?: readonly Invocation[];
    readonly nested?: readonly Nested[];
    readonly scripts?: readonly string[];
    readonly interpreter?: string;
  };

/** The words of a program that is about to run. */
export interface Call {
  readonly name: string;
  readonly argv: readonly string[];
  readonly args: readonly string[];
  readonly input: Input;
  /** Index of the words in the command's. */
  readonly at: number;
  readonly supply?: Supply | undefined;
  readonly sessionScript: (path: string) => string | undefined;
  /** Returns what is known of another program. */
  readonly named: (name: string) => Program | undefined;
}

export function dynamic(reason: string): Found {
  return { dynamic: reason };
}

/** The same of code that the line does not show at all. */
export function unseen(reason: string): Found {
  return { dynamic: reason, unseen: true };
}

/** A program that runs its input: a file or a here-document can be looked at, a pipe cannot. */
export function runsInput({ name, input }: Pick<Call, "name" | "input">): Found {
  const reason = `${name} runs what it is given as input`;
  return input.kind === "pipe" ? unseen(reason) : dynamic(reason);
}

/**
 * Reports whether a word is one of these long options, or a shortening of one as GNU programs and git
 * accept it.
 */
export function isLong(word: string, names: readonly string[]): boolean {
  if (!word.startsWith("--")) return false;
  const name = word.slice(2).split("=", 1)[0] ?? "";
  return name !== "" && names.some((each) => each.startsWith(name));
}

/** Returns the words that are no options; after `--` all are operands. */
export function operands(words: readonly string[]): string[] {
  const end = words.indexOf("--");
  const before = end < 0 ? words : words.slice(0, end);
  return [...before.filter((word) => !/^-./.test(word)), ...(end < 0 ? [] : words.slice(end + 1))];
}

export function reads(paths: readonly string[]): FileUse[] {
  return paths.map((path) => ({ path }));
}

const specs = new Map<string, ReadonlyMap<string, string>>();

/** Options by name, with `:` for one that takes a value and `::` for one that takes an attached one. */
function specOf(text: string): ReadonlyMap<string, string> {
  let spec = specs.get(text);
  if (!spec) {
    const [letters = "", ...names] = text.split(" ");
    const short = [...letters.matchAll(/([^:])(:{0,2})/g)].map(([, letter = "", takes = ""]) =>
      [letter, takes] as const
    );
    const long = names.map((each) => {
      const [name = "", value] = each.split(/=(.*)/s, 2);
      return [`--${name}`, value === undefined ? "" : value === "?" ? "::" : ":"] as const;
    });
    specs.set(text, spec = new Map([...short, ...long]));
  }
  return spec;
}

/** Options and operands of a call as getopt would take them. */
export interface Parsed {
  readonly options: readonly { readonly name: string; readonly value?: string | undefined }[];
  readonly operands: readonly string[];
  /** Index of the first operand, or of what follows `--`. */
  readonly end: number;
  /** An option that the specification does not know, or a word that only the shell will know. */
  readonly unknown?: string | undefined;
}

/** Reads words by a specification (see {@linkcode Program}). `inOrder` stops at the first operand. */
export function getopt(args: readonly string[], text: string, inOrder = false): Parsed {
  const spec = specOf(text);
  const options: ReadOption[] = [];
  const rest: string[] = [];
  let at = 0;
  for (; at < args.length; at++) {
    const word = args[at] ?? "";
    if (word === "--") {
      rest.push(...args.slice(++at));
      break;
    }
    if (!isKnown(word) && !/^[\w./~@:+=,%]/.test(word)) {
      return { options, operands: rest, end: at, unknown: word };
    }
    if (!/^-./.test(word)) {
      if (inOrder) break;
      rest.push(word);
      continue;
    }
    const found = optionsIn(word, spec);
    if (!found) return { options, operands: rest, end: at, unknown: word };
    options.push(...found);
    const last = found.at(-1);
    if (last?.isOpen) last.value = args[++at] ?? "";
  }
  return { options, operands: rest, end: at };
}

/** `isOpen`: its value is the next word. */
type ReadOption = { name: string; value?: string | undefined; isOpen?: boolean };

/** The options that one word gives; undefined if one of them is not known. */
function optionsIn(word: string, spec: ReadonlyMap<string, string>): ReadOption[] | undefined {
  if (word.startsWith("--")) {
    const [name = "", value] = word.split(/=(.*)/s, 2);
    const takes = spec.get(name);
    if (takes === undefined || (takes === "" && value !== undefined)) return undefined;
    return [{ name: name.slice(2), value, isOpen: takes === ":" && value === undefined }];
  }
  const found: ReadOption[] = [];
  for (let i = 1; i < word.length; i++) {
    const name = word[i] ?? "";
    const takes = spec.get(name) ?? (/\d/.test(name) ? spec.get("#") : undefined);
    if (takes === undefined) return undefined;
    const value = word.slice(i + 1);
    const isOpen = takes === ":" && value === "";
    found.push(takes === "" || isOpen ? { name, isOpen } : { name, value });
    if (takes !== "") break;
  }
  return found;
}
