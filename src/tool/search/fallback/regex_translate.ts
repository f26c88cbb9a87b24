import { type CharSets, literal, readEscape, translateClass, unsupported } from "./regex_class.ts";

/** A pattern in ripgrep's syntax, turned into JavaScript. */
export interface Translated {
  /** For text that is plain ASCII without `\r`; the other form is for everything else. */
  readonly ascii: string;
  readonly unicode: string;
  /** Text every match contains, to skip files without it. */
  readonly required: string;
  /** Other texts that every match contains. */
  readonly others: readonly string[];
  /** True when a line can be searched by itself: nothing in the pattern looks at the text around it. */
  readonly byLine: boolean;
  /** The pattern is exactly `required`. */
  readonly isLiteral: boolean;
  readonly matchCost: MatchCost;
}

/**
 * The bound of a match's duration: `length × longest line ^ repetitions × 2 ^ choices` steps at most, or so.
 */
export interface MatchCost {
  /** Infinity: nobody can tell how many steps it takes. */
  readonly repetitions: number;
  readonly choices: number;
}

export interface TranslateOptions {
  readonly ignoreCase: boolean;
  /** `.` and sets may match line ends. */
  readonly multiline: boolean;
}

interface Flags {
  ignoreCase: boolean;
  dotAll: boolean;
  verbose: boolean;
}

const ASCII: CharSets = { digit: "[0-9]", word: "[0-9A-Za-z_]", space: "[\\t-\\r\\x20]", never: "" };
const UNICODE: CharSets = {
  digit: "[\\p{Nd}]",
  word: "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}]",
  space: "[\\p{White_Space}]",
  never: "\\uFFFD",
};

export function translatePattern(pattern: string, options: TranslateOptions): Translated {
  const ascii = new Translator(pattern, ASCII, options);
  const unicode = new Translator(pattern, UNICODE, options);
  const source = ascii.run();
  const [required = "", ...others] = options.ignoreCase ? [] : ascii.required;
  return {
    ascii: source,
    unicode: unicode.run(),
    required,
    others,
    byLine: !options.multiline && !ascii.looksAround,
    isLiteral: required !== "" && required === ascii.onlyLiterals,
    matchCost: ascii.matchCost,
  };
}

class Translator {
  /** A lookaround, or the beginning or end of the whole text. */
  looksAround = false;
  readonly #always: string[] = [];
  /** The whole pattern's text when it consists of plain characters only. */
  onlyLiterals: string | undefined = "";
  #choices = 0;
  #repetitions = 0;
  #alternation = false;
  #at = 0;
  #run = "";
  #depth = 0;
  #flags: Flags;
  readonly #sets: CharSets;
  readonly #pattern: string;
  readonly #options: TranslateOptions;
  readonly #unicode: boolean;

  constructor(pattern: string, sets: CharSets, options: TranslateOptions) {
    this.#pattern = pattern;
    this.#options = options;
    this.#unicode = sets === UNICODE;
    this.#sets = options.multiline ? sets : { ...sets, never: `\\n${sets.never}` };
    this.#flags = { ignoreCase: options.ignoreCase, dotAll: options.multiline, verbose: false };
  }

  get matchCost(): MatchCost {
    return { repetitions: this.#repetitions, choices: this.#choices };
  }

  run(): string {
    const source = this.#alternatives();
    if (this.#at < this.#pattern.length) unsupported("a ) has no (");
    this.#endRun();
    return source;
  }

  /** Texts that are in every match, the longest first. */
  get required(): string[] {
    return this.#alternation ? [] : [...new Set(this.#always)].sort((a, b) => b.length - a.length);
  }

  #alternatives(): string {
    const outer = { ...this.#flags };
    const branches: string[] = [];
    let pieces: string[] = [];
    let quantified = false;
    let varied = false;
    while (this.#at < this.#pattern.length && this.#pattern[this.#at] !== ")") {
      const char = this.#pattern.charAt(this.#at);
      if (char === "|") {
        this.#at++;
        this.#notLiteral();
        if (this.#depth > 0) this.#choices++;
        else this.#alternation = true;
        branches.push(pieces.join(""));
        [pieces, quantified] = [[], false];
        continue;
      }
      const repetition = this.#repetition();
      if (repetition !== undefined) {
        const last = pieces.pop() ?? unsupported(`${repetition} has nothing to repeat`);
        pieces.push((quantified ? `(?:${last})` : last) + repetition);
        // One repetition within another can match the same text in countless ways.
        if (quantified || (varied && !repetition.startsWith("?"))) this.#repetitions = Infinity;
        quantified = true;
        continue;
      }
      const before = this.#repetitions + this.#choices;
      const piece = this.#atom(char);
      if (piece === "") continue;
      pieces.push(piece);
      quantified = false;
      varied = this.#repetitions + this.#choices > before;
    }
    branches.push(pieces.join(""));
    this.#flags = outer;
    return branches.join("|");
  }

  #repetition(): string | undefined {
    const found = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/.exec(this.#pattern.slice(this.#at))?.[0];
    if (found === undefined) return undefined;
    this.#at += found.length;
    // The character before belongs to the repetition, not to the text that is always there.
    this.#run = this.#run.replace(/.$/su, "");
    this.#endRun();
    this.onlyLiterals = undefined;
    if (found.startsWith("?")) this.#choices++;
    else this.#repetitions++;
    return found;
  }

  #atom(char: string): string {
    switch (char) {
      case "(":
        return this.#group();
      case "[": {
        this.#notLiteral();
        const { source, next } = translateClass(this.#pattern, this.#at, this.#sets);
        this.#at = next;
        return this.#cased(source);
      }
      case ".":
        this.#at++;
        this.#notLiteral();
        return this.#flags.dotAll && this.#options.multiline
          ? `[^${this.#unicode ? this.#sets.never : ""}]`
          : `[^\\n${this.#unicode ? "\\uFFFD" : ""}]`;
      case "^":
        this.#at++;
        this.#notLiteral();
        return this.#unicode ? "(?<=\\n|^)" : "(?m:^)";
      case "$":
        this.#at++;
        this.#notLiteral();
        return this.#unicode ? "(?=\\n|$)" : "(?m:$)";
      case "\\":
        return this.#escape();
    }
    if (this.#flags.verbose && this.#skipVerbose(char)) return "";
    const point = String.fromCodePoint(this.#pattern.codePointAt(this.#at) ?? 0);
    this.#at += point.length;
    return this.#char(point);
  }

  #char(char: string): string {
    if (this.#depth === 0 && !this.#flags.ignoreCase) {
      this.#run += char;
      if (this.onlyLiterals !== undefined) this.onlyLiterals += char;
    } else this.#notLiteral();
    return this.#cased(literal(char));
  }

  #escape(): string {
    const simple = readEscape(this.#pattern, this.#at, this.#sets);
    if (simple && "char" in simple) {
      this.#at = simple.next;
      return this.#char(simple.char);
    }
    this.#notLiteral();
    if (simple) {
      this.#at = simple.next;
      const { never } = this.#sets;
      return this.#cased(never === "" ? simple.set : `[[${simple.set}]--[${never}]]`);
    }
    const name = this.#pattern.charAt(this.#at + 1);
    const back = /^\\(?:[1-9]\d?|k<[^>]+>)/.exec(this.#pattern.slice(this.#at))?.[0];
    this.#at += back?.length ?? 2;
    if (back !== undefined) {
      this.#repetitions = Infinity;
      return back;
    }
    if (name === "A" || name === "z") {
      this.looksAround = true;
      return name === "A" ? "(?:^)" : "(?:$)";
    }
    const word = this.#sets.word;
    const edge = `(?:(?<=${word})(?!${word})|(?<!${word})(?=${word}))`;
    if (name === "b") return this.#unicode ? edge : "\\b";
    if (name === "B") return this.#unicode ? `(?!${edge})` : "\\B";
    return unsupported(`\\${name} is not a known escape`);
  }

  #group(): string {
    this.#notLiteral();
    const head = /^\((?:\?(?:P?<[^=!>][^>]*>|<?[=!]|[a-zA-Z]*(?:-[a-zA-Z]+)?[:)]))?/
      .exec(this.#pattern.slice(this.#at))?.[0] ?? "(";
    this.#at += head.length;
    const flags = /^\(\?([a-zA-Z-]*)([:)])$/.exec(head);
    const outer = { ...this.#flags };
    if (flags) this.#setFlags(flags[1] ?? "");
    if (flags?.[2] === ")") return "";
    this.#depth++;
    const body = this.#alternatives();
    this.#depth--;
    if (this.#pattern[this.#at] !== ")") unsupported("a ( is never closed");
    this.#at++;
    this.#flags = outer;
    if (/^\(\?<?[=!]/.test(head)) {
      this.#repetitions = Infinity;
      this.looksAround = true;
    }
    const open = flags ? "(?:" : head.replace("(?P<", "(?<");
    return `${open}${body})`;
  }

  #setFlags(text: string): void {
    let on = true;
    for (const letter of text) {
      if (letter === "-") on = false;
      else if (letter === "i") this.#flags.ignoreCase = on;
      else if (letter === "s") this.#flags.dotAll = on;
      else if (letter === "x") this.#flags.verbose = on;
      else if (!(on && (letter === "m" || letter === "u"))) {
        unsupported(`the flag ${on ? "" : "-"}${letter} is not available`);
      }
    }
  }

  #skipVerbose(char: string): boolean {
    const found = /^(?:\s+|#[^\n]*)/.exec(this.#pattern.slice(this.#at))?.[0];
    if (found === undefined || char === "") return false;
    this.#at += found.length;
    return true;
  }

  /** Wraps what is cased otherwise than the whole expression. */
  #cased(source: string): string {
    if (this.#flags.ignoreCase === this.#options.ignoreCase) return source;
    return `(?${this.#flags.ignoreCase ? "" : "-"}i:${source})`;
  }

  #notLiteral(): void {
    this.#endRun();
    this.onlyLiterals = undefined;
  }

  #endRun(): void {
    if (this.#run !== "") this.#always.push(this.#run);
    this.#run = "";
  }
}
