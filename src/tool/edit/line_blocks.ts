import { type FileLines, indentOf, keyOf } from "./file_lines.ts";
import type { Fold } from "./fold.ts";
import { mergeTokens } from "./merge_tokens.ts";

/** A line that a new one takes the place of: as the model wrote it, and as the file has it. */
export interface Replaced {
  readonly old: string;
  readonly raw: string;
}

/** Fits a new line into its surroundings. `replaced` is the removed line across from it, if there is one. */
export type Adapt = (text: string, replaced?: Replaced) => string;

/** A block of whole lines found in a file. */
export interface LineMatch {
  /** Index of the first line. */
  readonly line: number;
  /** The one change of indentation between the block and the file. */
  readonly shift?: IndentShift;
  readonly fold?: Fold;
  /** Continues "matched after"; absent when only blanks at line ends differ. */
  readonly note?: string;
}

/**
 * Whole-line matches of a block: first ignoring blanks at line ends, else with one indentation shift that
 * holds for every line. Blank lines match blank lines; places may overlap.
 */
export function blockMatches(file: FileLines, block: readonly string[], fold?: Fold): LineMatch[] {
  const wanted = block.map((text) => keyOf(text, "ended", fold));
  if (wanted.every((text) => text === "")) return [];
  const common = fold ? { fold, note: fold.note } : {};
  const level = file.index("ended", fold).starts(wanted);
  if (level.length > 0) return level.map((line) => ({ line, ...common }));
  const ended = file.index("ended", fold).keys;
  return file.index("bare", fold).starts(wanted.map((text) => text.slice(indentOf(text).length))).flatMap(
    (line) => {
      const shift = uniformShift(
        wanted.flatMap((text, index) =>
          text === "" ? [] : [{ from: indentOf(text), to: indentOf(ended[line + index] ?? "") }]
        ),
      );
      if (!shift) return [];
      return [{ line, shift, ...common, note: fold ? `${shift.note} and ${fold.note}` : shift.note }];
    },
  );
}

/**
 * Tells how new lines are fitted to a match; undefined when one of them cannot be unindented as far. `head`
 * is the line that the first of them takes the place of, by default the first line of the block.
 */
export function adaptTo(match: LineMatch, fresh: readonly string[], head?: Replaced): Adapt | undefined {
  const { fold } = match;
  const pair = head ? { from: indentOf(head.old), to: indentOf(head.raw) } : match.shift?.head;
  const shift = pair && isRebased(pair, fresh) ? undefined : match.shift?.apply;
  if (shift && fresh.some((text) => shift(text) === undefined)) return undefined;
  const indent = (text: string) => shift?.(text) ?? text;
  if (!fold) return indent;
  return (text, replaced) =>
    replaced ? mergeTokens({ ...replaced, fresh: text }, fold, indent) : indent(text);
}

/** The new lines have the file's indentation already, although the text they replace has not. */
function isRebased({ from, to }: IndentPair, fresh: readonly string[]): boolean {
  const first = fresh.find((text) => text.trim() !== "");
  return first !== undefined && from !== to && indentOf(first) === to;
}

interface IndentPair {
  /** Indentation in the text to replace. */
  readonly from: string;
  /** Indentation in the file. */
  readonly to: string;
}

interface IndentShift {
  /** The line with its new indentation; undefined when it has less of it than is to be taken away. */
  readonly apply: (text: string) => string | undefined;
  readonly note: string;
  /** Of the first line that is not blank. */
  readonly head: IndentPair;
}

/** The one rule that turns every indentation of the block into that of the file, if there is one. */
function uniformShift(pairs: readonly IndentPair[]): IndentShift | undefined {
  const head = pairs[0];
  if (!head) return undefined;
  const candidates = [adding(head), removing(head), ...WIDTHS.map(toTabs), ...WIDTHS.map(toSpaces)];
  const shift = candidates.find((one) =>
    one && pairs.every((pair) => one.apply(`${pair.from}x`) === `${pair.to}x`)
  );
  return shift && { ...shift, head };
}

type Rule = Omit<IndentShift, "head">;

const WIDTHS = [2, 4, 8];

function adding({ from, to }: IndentPair): Rule | undefined {
  if (!to.endsWith(from) || to === from) return undefined;
  const prefix = to.slice(0, to.length - from.length);
  return { apply: (text) => text === "" ? "" : prefix + text, note: `indenting by ${named(prefix)}` };
}

function removing({ from, to }: IndentPair): Rule | undefined {
  if (!from.endsWith(to) || to === from) return undefined;
  const prefix = from.slice(0, from.length - to.length);
  return {
    apply: (text) =>
      text.startsWith(prefix) ? text.slice(prefix.length) : text.trim() === "" ? "" : undefined,
    note: `unindenting by ${named(prefix)}`,
  };
}

function toTabs(width: number): Rule {
  const apply = (text: string) => {
    const spaces = /^ */.exec(text)?.[0].length ?? 0;
    return "\t".repeat(Math.floor(spaces / width)) + " ".repeat(spaces % width) + text.slice(spaces);
  };
  return { apply, note: `taking ${width} spaces for a tab` };
}

function toSpaces(width: number): Rule {
  const apply = (text: string) => {
    const tabs = /^\t*/.exec(text)?.[0].length ?? 0;
    return " ".repeat(tabs * width) + text.slice(tabs);
  };
  return { apply, note: `taking a tab for ${width} spaces` };
}

function named(blanks: string): string {
  const kind = /^ +$/.test(blanks) ? "space" : /^\t+$/.test(blanks) ? "tab" : "blank";
  return `${blanks.length} ${kind}${blanks.length === 1 ? "" : "s"}`;
}
