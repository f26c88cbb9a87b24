import {
  type FileLines,
  indentOf,
  keyOf,
  type Normalization,
  NormalizedLine,
  normalizeLine,
  partsOfLine,
  UNICODE_TWINS,
} from "./normalize.ts";
import { lineRuns } from "../text/diff.ts";

/** A removed line: as the model wrote it, and as the file has it. */
export interface Replaced {
  readonly old: string;
  readonly raw: string;
}

/** Fits a new line into its surroundings. `replaced` finds the removed line that it takes the place of. */
export type Adapt = (text: string, replaced: () => Replaced | undefined) => string;

export interface LineMatch {
  readonly line: number;
  readonly shift?: IndentShift | undefined;
  readonly normalization?: Normalization;
  /** Continues "matched after"; absent when only blanks at line ends differ. */
  readonly note?: string;
}

/**
 * Whole-line matches of a block: first ignoring blanks at line ends, else with one indentation shift that
 * holds for every line. Blank lines match blank lines; places may overlap.
 */
export function blockMatches(
  file: FileLines,
  block: readonly string[],
  normalization?: Normalization,
): LineMatch[] {
  const wanted = block.map((text) => keyOf(text, "ended", normalization));
  if (wanted.every((text) => text === "")) return [];
  const common = normalization ? { normalization, note: normalization.note } : {};
  const shiftAt = (line: number) =>
    shiftBetween(block, file.lines.slice(line, line + block.length).map(({ text }) => text));
  const level = file.index("ended", normalization).starts(wanted);
  // Normalized lines are level although their blanks may be others.
  if (level.length > 0) {
    return level.map((line) => ({ line, shift: normalization && shiftAt(line), ...common }));
  }
  return file.index("bare", normalization).starts(wanted.map((text) => text.slice(indentOf(text).length)))
    .flatMap(
      (line) => {
        const shift = shiftAt(line);
        if (!shift) return [];
        return [{
          line,
          shift,
          ...common,
          note: normalization ? `${shift.note} and ${normalization.note}` : shift.note,
        }];
      },
    );
}

export function shiftBetween(quoted: readonly string[], raw: readonly string[]): IndentShift | undefined {
  return uniformShift(
    quoted.flatMap((text, index) =>
      text.trim() === "" ? [] : [{ from: indentOf(text), to: indentOf(raw[index] ?? "") }]
    ),
  );
}

/**
 * The function that fits new lines to a match; undefined when one of them cannot be unindented as far.
 * `replaced` are the lines that they replace.
 */
export function adaptTo(
  match: LineMatch,
  fresh: readonly string[],
  replaced: readonly Replaced[],
): Adapt | undefined {
  const { normalization } = match;
  const shift = match.shift && !isRebased(fresh, replaced) ? match.shift.apply : undefined;
  if (shift && fresh.some((text) => shift(text) === undefined)) return undefined;
  const indent = (text: string) => shift?.(text) ?? text;
  if (!normalization) return indent;
  return (text, replacedLine) => {
    const replaced = replacedLine();
    return replaced ? mergeTokens({ ...replaced, fresh: text }, normalization, indent) : indent(text);
  };
}

function isRebased(fresh: readonly string[], replaced: readonly Replaced[]): boolean {
  const partners = partnersOf(fresh, replaced.map(({ old }) => old));
  const pairs = fresh.flatMap((text, index) => {
    const line = replaced[partners[index] ?? -1];
    return line && text.trim() !== "" ? [{ text, line }] : [];
  });
  if (pairs.length === 0) {
    const text = fresh.find((one) => one.trim() !== "");
    const line = replaced.find(({ old }) => old.trim() !== "");
    if (text !== undefined && line) pairs.push({ text, line });
  }
  let votes = 0;
  for (const { text, line } of pairs) {
    const [given, quoted, raw] = [text, line.old, line.raw].map(indentOf);
    if (quoted !== raw && given === raw) votes++;
    if (quoted !== raw && given === quoted) votes--;
  }
  return votes > 0;
}

interface IndentPair {
  readonly from: string;
  readonly to: string;
}

interface IndentShift {
  /** The line with its new indentation; undefined when it has less of it than is to be taken away. */
  readonly apply: (text: string) => string | undefined;
  readonly note: string;
}

/** The rule that maps every indentation of the block to that of the file. */
function uniformShift(pairs: readonly IndentPair[]): IndentShift | undefined {
  const [head] = pairs;
  if (!head || pairs.every(({ from, to }) => from === to)) return undefined;
  const spellings = respellings(pairs);
  const candidates = [...moves(head), ...spellings, respellingEach(pairs)];
  // Only lines of different depth show both how far a block is moved and how its blanks are spelled.
  if (new Set(pairs.map(({ from }) => from)).size > 1) {
    candidates.push(...spellings.flatMap((first) => {
      const from = indentOf(first.apply(`${head.from}x`) ?? "");
      return moves({ from, to: head.to }).map((then) => both(first, then));
    }));
  }
  return candidates.find((one) => one && pairs.every((pair) => one.apply(`${pair.from}x`) === `${pair.to}x`));
}

function both(first: IndentShift, then: IndentShift): IndentShift {
  const apply = (text: string) => {
    const respelled = first.apply(text);
    return respelled === undefined ? undefined : then.apply(respelled);
  };
  return { apply, note: `${first.note} and ${then.note}` };
}

function moves(pair: IndentPair): IndentShift[] {
  return [adding(pair), removing(pair)].filter((rule) => rule !== undefined);
}

function adding({ from, to }: IndentPair): IndentShift | undefined {
  if (!to.endsWith(from) || to === from) return undefined;
  const prefix = to.slice(0, to.length - from.length);
  return { apply: (text) => text === "" ? "" : prefix + text, note: `indenting by ${named(prefix)}` };
}

function removing({ from, to }: IndentPair): IndentShift | undefined {
  if (!from.endsWith(to) || to === from) return undefined;
  const prefix = from.slice(0, from.length - to.length);
  return {
    apply: (text) =>
      text.startsWith(prefix) ? text.slice(prefix.length) : text.trim() === "" ? "" : undefined,
    note: `unindenting by ${named(prefix)}`,
  };
}

const WIDTHS = [1, 2, 4, 8];

function respellings(pairs: readonly IndentPair[]): IndentShift[] {
  const theirs = pairs.find(({ from }) => from !== "")?.from[0];
  const ours = pairs.find(({ to }) => to !== "")?.to[0];
  if (theirs === undefined || ours === undefined || theirs === ours) return [];
  // A tab is never as narrow as one blank.
  const widths = theirs === "\t" || ours === "\t" ? WIDTHS.slice(1) : WIDTHS;
  return widths.flatMap((width) => [
    replacing(theirs.repeat(width), ours),
    replacing(theirs, ours.repeat(width)),
  ]);
}

function replacing(unit: string, fresh: string): IndentShift {
  const apply = (text: string) => {
    let count = 0;
    while (text.startsWith(unit, count * unit.length)) count++;
    return fresh.repeat(count) + text.slice(count * unit.length);
  };
  return { apply, note: `taking ${counted(unit)} for ${counted(fresh)}` };
}

/** Maps each blank to its twin, for an indentation of several kinds of blanks. */
function respellingEach(pairs: readonly IndentPair[]): IndentShift | undefined {
  const longest = pairs.reduce((one, pair) => pair.from.length > one.from.length ? pair : one);
  const { from, to } = longest;
  if (normalizeLine(from, UNICODE_TWINS) !== normalizeLine(to, UNICODE_TWINS)) return undefined;
  const apply = (text: string) => {
    let shared = 0;
    while (shared < from.length && text[shared] === from[shared]) shared++;
    return to.slice(0, shared) + text.slice(shared);
  };
  return { apply, note: "taking other blanks in the indentation" };
}

function counted(blanks: string): string {
  const one = blanks === " " ? "a space" : blanks === "\t" ? "a tab" : `a ${nameOf(blanks)}`;
  return blanks.length === 1 ? one : named(blanks);
}

function named(blanks: string): string {
  const isUniform = blanks === blanks[0]?.repeat(blanks.length);
  return `${blanks.length} ${isUniform ? nameOf(blanks) : "blank"}${blanks.length === 1 ? "" : "s"}`;
}

function nameOf(blanks: string): string {
  const char = blanks[0] ?? "";
  if (char === " ") return "space";
  if (char === "\t") return "tab";
  return `U+${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")} blank`;
}

/**
 * The new line, in which every word, blank or sign that the model did not change is taken from the file: a
 * typographic quote stays one, although the model quoted it as a plain one. `indent` shifts an indentation
 * that is new. Where the normalized lines of the file and of the quote differ, the new line is the model's.
 */
function mergeTokens(
  line: { readonly raw: string; readonly old: string; readonly fresh: string },
  normalization: Normalization,
  indent: (text: string) => string,
): string {
  const [raw, old, fresh] = [partsOfLine(line.raw), partsOfLine(line.old), partsOfLine(line.fresh)];
  const file = new NormalizedLine(raw.body, normalization);
  const quoted = new NormalizedLine(old.body, normalization);
  if (fresh.body === "" || file.text !== quoted.text) return indent(line.fresh);
  const rawAt = (offset: number) => {
    const index = quoted.indexAt(offset);
    return index === undefined ? undefined : file.offsetAt(index);
  };
  const out = [old.lead === fresh.lead ? raw.lead : indent(`${fresh.lead}x`).slice(0, -1)];
  let at = 0;
  for (const run of lineRuns(tokensOf(old.body), tokensOf(fresh.body))) {
    const text = run.lines.join("");
    const [from, to] = [rawAt(at), rawAt(at + text.length)];
    // A run that ends inside one character of the file cannot be cut out of it.
    const isWhole = from !== undefined && to !== undefined;
    if (run.kind === " ") out.push(isWhole ? raw.body.slice(from, to) : text);
    if (run.kind === "+") out.push(text);
    if (run.kind !== "+") at += text.length;
  }
  out.push(old.tail === fresh.tail ? raw.tail : fresh.tail);
  return out.join("");
}

/**
 * Words, blanks and signs. Signs that stand together are one token, since `-` and `--` or `->` have nothing
 * in common; quotes and brackets are not part of it, since their other half is elsewhere.
 */
function tokensOf(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

const PAIRED = String.raw`["'()\[\]{}\u2018-\u201f\uff02\uff07\uff08\uff09\uff3b\uff3d\uff5b\uff5d]`;
const TOKEN = new RegExp(
  String.raw`[\p{L}\p{N}\p{M}_]+|\s+|(${PAIRED})\p{M}*(?:\1\p{M}*)*|(?:(?!${PAIRED})[^\p{L}\p{N}_\s]\p{M}*)+`,
  "gu",
);

/** Pairs of lines that are compared; beyond them the lines are taken in order. */
const MAX_PAIRS = 2500;

/** For each new line the index of the most similar removed line, in order. */
export function partnersOf(
  fresh: readonly string[],
  removed: readonly string[],
): readonly (number | undefined)[] {
  if (fresh.length === 1 && removed.length === 1) return [0];
  if (fresh.length * removed.length > MAX_PAIRS) return removed.map((_, index) => index);
  const [a, b] = [fresh.map(wordsOf), removed.map(wordsOf)];
  const likeness = a.map((one) => b.map((other) => alike(one, other)));
  /** The best sum of the new lines from `i` on and the removed ones from `j` on. */
  const best = Array.from({ length: a.length + 1 }, () => new Float64Array(b.length + 1));
  const at = (i: number, j: number) => best[i]?.[j] ?? 0;
  const paired = (i: number, j: number) => (likeness[i]?.[j] ?? 0) + at(i + 1, j + 1);
  for (let i = a.length - 1; i >= 0; i--) {
    const row = best[i] ?? new Float64Array();
    for (let j = b.length - 1; j >= 0; j--) row[j] = Math.max(at(i + 1, j), at(i, j + 1), paired(i, j));
  }
  const partners: (number | undefined)[] = fresh.map(() => undefined);
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (at(i, j) === paired(i, j) && (likeness[i]?.[j] ?? 0) > 0) partners[i++] = j++;
    else if (at(i, j) === at(i, j + 1)) j++;
    else i++;
  }
  return partners;
}

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.match(/[\p{L}\p{N}\p{M}_]+|[^\s]/gu));
}

/** 1 for the same words and signs; 0 where less than half of them are. */
function alike(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  const share = 2 * one.intersection(other).size / Math.max(one.size + other.size, 1);
  return share < 0.5 ? 0 : share;
}
