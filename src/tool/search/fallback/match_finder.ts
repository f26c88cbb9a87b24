import type { MatchCost, Translated } from "./regex_translate.ts";

/** Half a second, or so: a step costs some nanoseconds, and the fewer the more repetitions there are. */
const MOST_STEPS = 200_000_000;

interface Match {
  readonly start: number;
  readonly end: number;
}

/** Finds the matches in one text, one after the other. */
export class MatchFinder {
  /**
   * The search of this text ended because it may take longer than a thread can be kept busy that has other
   * things to do.
   */
  outOfBudget = false;
  readonly next: (from: number) => Match | undefined;
  readonly #text: string;
  readonly #pattern: Translated;
  readonly #expression: RegExp;
  /** Steps that are left; Infinity: whoever started this process watches over it. */
  #left: number;

  constructor(text: string, pattern: Translated, expression: RegExp, timeBoxed: boolean) {
    const { repetitions, choices } = pattern.matchCost;
    this.#text = text;
    this.#pattern = pattern;
    this.#expression = expression;
    this.#left = !timeBoxed || (repetitions === 0 && choices <= 4)
      ? Infinity
      : MOST_STEPS * Math.max(1, repetitions) ** 2 / 2 ** choices;
    this.outOfBudget = timeBoxed && repetitions === Infinity;
    this.next = this.outOfBudget
      ? () => undefined
      : pattern.isLiteral
      ? this.#literal
      : pattern.byLine && pattern.required !== ""
      ? this.#inLines
      : this.#inText;
  }

  readonly #literal = (from: number): Match | undefined => {
    const { required } = this.#pattern;
    const start = this.#text.indexOf(required, from);
    return start < 0 ? undefined : { start, end: start + required.length };
  };

  /** Only lines that have everything a match contains are searched. */
  readonly #inLines = (from: number): Match | undefined => {
    const { required, others, matchCost } = this.#pattern;
    for (let at = this.#text.indexOf(required, from); at >= 0;) {
      const start = this.#text.lastIndexOf("\n", at) + 1;
      const newline = this.#text.indexOf("\n", at);
      const line = this.#text.slice(start, newline < 0 ? undefined : newline);
      if (others.every((other) => line.includes(other))) {
        if (this.#left !== Infinity && !this.#spend(line.length, line.length, matchCost)) return undefined;
        this.#expression.lastIndex = 0;
        const found = this.#expression.exec(line);
        if (found) return { start: start + found.index, end: start + found.index + found[0].length };
      }
      at = newline < 0 ? -1 : this.#text.indexOf(required, newline);
    }
    return undefined;
  };

  readonly #inText = (from: number): Match | undefined => {
    const { byLine, matchCost } = this.#pattern;
    if (this.#left !== Infinity) {
      const longest = byLine ? longestLine(this.#text) : this.#text.length;
      if (!this.#spend(this.#text.length, longest, matchCost)) return undefined;
      this.#left = Infinity;
    }
    this.#expression.lastIndex = from;
    const found = this.#expression.exec(this.#text);
    return found === null ? undefined : { start: found.index, end: found.index + found[0].length };
  };

  #spend(characters: number, line: number, { repetitions }: MatchCost): boolean {
    this.#left -= characters * line ** repetitions;
    this.outOfBudget = this.#left < 0;
    return !this.outOfBudget;
  }
}

function longestLine(text: string): number {
  let longest = 0;
  for (let start = 0; start < text.length;) {
    const newline = text.indexOf("\n", start);
    const end = newline < 0 ? text.length : newline;
    longest = Math.max(longest, end - start);
    start = end + 1;
  }
  return longest;
}
