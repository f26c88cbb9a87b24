import type { Nested } from "../types.ts";

/** What is known of a language that code is handed in. */
export interface Language {
  /** Calls that start programs by literal words. */
  readonly calls: readonly (readonly [RegExp, Commands])[];
  /** Returns what in the rest of the code could start something else, undefined when nothing could. */
  readonly hides: (left: string) => string | undefined;
}

type Commands = (groups: readonly (string | undefined)[]) => Nested | undefined;

/** A literal string; `PLAIN` in languages that expand double-quoted ones. */
export const STRING = String.raw`(?:'([^'\\\n]*)'|"([^"\\\n]*)")`;
export const PLAIN = String.raw`(?:'([^'\\\n]*)'|"([^"\\\n$@#]*)")`;
/** A list in brackets, and two or more arguments, of literal strings. */
export const LIST = String.raw`\[((?:\s*(?:'[^'\\\n]*'|"[^"\\\n]*")\s*,?)*)\]`;
export const PLAIN_WORDS = String.raw`((?:\s*(?:'[^'\\\n]*'|"[^"\\\n$@#]*")\s*,?){2,})`;

/** Signs that code writes files, which ones being its own affair. */
export const WRITES = /\bopen\b|[wW]rite|save|dump|copy|rename|move|[lL]ink|touch|mkdir|File\.|IO\.|>/;

export function calls(source: string): RegExp {
  return new RegExp(source, "g");
}

export function wordsIn(list: string): string[] {
  return [...list.matchAll(/'([^']*)'|"([^"]*)"/g)].map(([, single, double]) => single ?? double ?? "");
}

export const shellText: Commands = ([single, double]) => ({ code: single ?? double ?? "" });
export const words: Commands = ([list = ""]) => ({ argv: wordsIn(list) });
/** A program in a string and its words in a list. */
export const programAndWords: Commands = ([single, double, list = ""]) => ({
  argv: [single ?? double ?? "", ...wordsIn(list)],
});

/** Returns one of these names, separated by spaces, as a pattern; they may hold patterns themselves. */
export function oneOf(names: string): string {
  return `(?:${names.replaceAll(" ", "|")})`;
}

/** Returns where a pattern first matches, shortened for people. */
export function find(pattern: RegExp, left: string): string | undefined {
  return pattern.exec(left)?.[0].trim().slice(0, 30);
}
