import type { Line } from "../text/eol.ts";

/** A block of lines found in a file, and how a new line has to be changed to sit beside them. */
export interface LineMatch {
  /** Index of the first line. */
  readonly line: number;
  readonly adapt: (text: string) => string;
  /** How the match was found, when not by trailing blanks alone. */
  readonly note?: string;
}

/**
 * Whole-line matches of a block: first ignoring blanks at line ends, else with one indentation shift that holds for every
 * line. Blank lines match blank lines.
 */
export function blockMatches(lines: readonly Line[], block: readonly Line[]): LineMatch[] {
  const wanted = block.map((line) => trimEnd(line.text));
  const first = wanted.findIndex((text) => text !== "");
  if (first < 0 || block.length > lines.length) return [];
  const ended = lines.map((line) => trimEnd(line.text));
  const level = collect(lines.length - block.length, block.length, (at) => {
    return wanted.every((text, index) => ended[at + index] === text)
      ? { line: at, adapt: (text) => text }
      : undefined;
  });
  if (level.length > 0) return level;
  const bare = wanted.map(trimStart);
  return collect(lines.length - block.length, block.length, (at) => {
    if (trimStart(ended[at + first] ?? "") !== bare[first]) return undefined;
    if (!bare.every((text, index) => trimStart(ended[at + index] ?? "") === text)) return undefined;
    const pairs = wanted.flatMap((text, index) =>
      text === "" ? [] : [{ from: indent(text), to: indent(ended[at + index] ?? "") }]
    );
    const shift = uniformShift(pairs);
    return shift && { line: at, adapt: shift.adapt, note: shift.note };
  });
}

/** Tries every start up to `last`; a match is not looked into again. */
function collect(last: number, step: number, test: (at: number) => LineMatch | undefined): LineMatch[] {
  const found: LineMatch[] = [];
  for (let at = 0; at <= last;) {
    const match = test(at);
    if (match) found.push(match);
    at += match ? step : 1;
  }
  return found;
}

interface IndentPair {
  /** Indentation in old_string. */
  readonly from: string;
  /** Indentation in the file. */
  readonly to: string;
}

interface Shift {
  readonly adapt: (text: string) => string;
  readonly note: string;
}

/** The one rule that turns every indentation of old_string into that of the file, if there is one. */
function uniformShift(pairs: readonly IndentPair[]): Shift | undefined {
  const head = pairs[0];
  if (!head) return undefined;
  const candidates: (Shift | undefined)[] = [
    adding(head),
    removing(head),
    ...WIDTHS.map(toTabs),
    ...WIDTHS.map(toSpaces),
  ];
  return candidates.find((shift) =>
    shift && pairs.every((pair) => shift.adapt(`${pair.from}x`) === `${pair.to}x`)
  );
}

const WIDTHS = [2, 4, 8];

function adding({ from, to }: IndentPair): Shift | undefined {
  if (!to.endsWith(from) || to === from) return undefined;
  const prefix = to.slice(0, to.length - from.length);
  return { adapt: (text) => text === "" ? "" : prefix + text, note: `indenting by ${named(prefix)}` };
}

function removing({ from, to }: IndentPair): Shift | undefined {
  if (!from.endsWith(to) || to === from) return undefined;
  const prefix = from.slice(0, from.length - to.length);
  const adapt = (text: string) => text.startsWith(prefix) ? text.slice(prefix.length) : trimStart(text);
  return { adapt, note: `unindenting by ${named(prefix)}` };
}

function toTabs(width: number): Shift {
  const adapt = (text: string) => {
    const spaces = /^ */.exec(text)?.[0].length ?? 0;
    return "\t".repeat(Math.floor(spaces / width)) + " ".repeat(spaces % width) + text.slice(spaces);
  };
  return { adapt, note: `taking ${width} spaces for a tab` };
}

function toSpaces(width: number): Shift {
  const adapt = (text: string) => {
    const tabs = /^\t*/.exec(text)?.[0].length ?? 0;
    return " ".repeat(tabs * width) + text.slice(tabs);
  };
  return { adapt, note: `taking a tab for ${width} spaces` };
}

function named(blanks: string): string {
  const kind = /^ +$/.test(blanks) ? "space" : /^\t+$/.test(blanks) ? "tab" : "blank";
  return `${blanks.length} ${kind}${blanks.length === 1 ? "" : "s"}`;
}

function indent(text: string): string {
  return /^[ \t]*/.exec(text)?.[0] ?? "";
}

function trimStart(text: string): string {
  let at = 0;
  while (isBlank(text.charCodeAt(at))) at++;
  return at === 0 ? text : text.slice(at);
}

function trimEnd(text: string): string {
  let at = text.length;
  while (at > 0 && isBlank(text.charCodeAt(at - 1))) at--;
  return at === text.length ? text : text.slice(0, at);
}

function isBlank(unit: number): boolean {
  return unit === 32 || unit === 9;
}
