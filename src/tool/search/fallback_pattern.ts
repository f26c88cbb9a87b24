import type { SearchRequest } from "./request.ts";

/** A pattern in ripgrep's syntax as JavaScript expressions. */
export interface FallbackPattern {
  /** For text that is plain ASCII without `\r`, and for any other text. */
  readonly ascii: RegExp;
  readonly unicode: RegExp;
  /** Text that every match contains. */
  readonly required: string;
  /** A bound of the steps of a search: `length × longest line ^ repetitions × 2 ^ choices`. */
  readonly repetitions: number;
  readonly choices: number;
}

/** Sets of characters, as the inside of a class of a `v` expression. */
interface CharSets {
  readonly digit: string;
  readonly word: string;
  readonly space: string;
  /** Members that no set may contain: the line end when lines are matched, and the mark of broken bytes. */
  readonly never: string;
}

const ASCII = { digit: "0-9", word: "0-9A-Za-z_", space: "\\t-\\r\\x20" };
const UNICODE = {
  digit: "\\p{Nd}",
  word: "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}",
  space: "\\p{White_Space}",
};

const POSIX: Readonly<Record<string, string>> = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  ascii: "\\x00-\\x7F",
  blank: "\\t\\x20",
  cntrl: "\\x00-\\x1F\\x7F",
  digit: "0-9",
  graph: "\\x21-\\x7E",
  lower: "a-z",
  print: "\\x20-\\x7E",
  punct: "\\x21-\\x2F\\x3A-\\x40\\x5B-\\x60\\x7B-\\x7E",
  space: "\\t-\\r\\x20",
  upper: "A-Z",
  word: "0-9A-Za-z_",
  xdigit: "0-9A-Fa-f",
};

const ESCAPE =
  /\\(?:[pP](?:\{[^}]*\}|[^])|[xuU]\{[^}]*\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|k<[^>]*>|[1-9]\d*|[^]|$)/uy;
const SETS = new RegExp(
  `(?!\\\\[1-9k])${ESCAPE.source}|\\[\\^?\\]?(?:\\\\[^]|\\[[^\\]]*\\]|[^\\]\\\\])*\\]`,
  "gu",
);

/** Throws a `SyntaxError` for a pattern that has no JavaScript form. */
export function compilePattern({ pattern, ignoreCase, multiline }: SearchRequest): FallbackPattern {
  const flags = `gv${ignoreCase ? "i" : ""}`;
  const end = multiline ? "" : "\\n";
  const ascii = new Translator(pattern, { ...ASCII, never: end }).source;
  const unicode = new Translator(pattern, { ...UNICODE, never: `${end}\\uFFFD` }).source;
  const expressions = { ascii: new RegExp(ascii, flags), unicode: new RegExp(unicode, flags) };
  return { ...expressions, ...matchCost(pattern), required: ignoreCase ? "" : requiredText(pattern) };
}

/** The pattern with a NUL in place of each escape and class. */
function withoutSets(pattern: string): string {
  return pattern.replace(SETS, "\0");
}

/** The longest plain text before the first group, unless the pattern has alternatives. */
function requiredText(pattern: string): string {
  const plain = withoutSets(pattern);
  if (/[|[\]]/.test(plain)) return "";
  const head = plain.replace(/\([^]*/, "").replace(/[^](?:[*+?]|\{[^}]*\})/gu, "\0");
  return head.split(/[\0.^$]/).sort((a, b) => b.length - a.length)[0] ?? "";
}

/** Repetitions of a group, look-around and back-references have no bound. */
function matchCost(pattern: string): { readonly repetitions: number; readonly choices: number } {
  const plain = withoutSets(pattern);
  const unbounded = /\\|\)[*+{]|[*+}?][*+{]|\(\?<?[=!]/.test(plain);
  return {
    repetitions: unbounded ? Infinity : plain.match(/[*+{]/g)?.length ?? 0,
    choices: plain.match(/[?|]/g)?.length ?? 0,
  };
}

function needsRipgrep(what: string): never {
  throw new SyntaxError(`Only ripgrep knows ${what}`);
}

/** A literal character, safe inside and outside a class of a `v` expression. */
function literal(char: string): string {
  return /^[A-Za-z0-9_]$/.test(char) ? char : `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
}

/** A property of characters under one of the names that ripgrep accepts. */
function property(token: string): string {
  const [, letter = "p", name = ""] = /^\\([pP])\{?([^}]*)\}?$/.exec(token) ?? [];
  const found = [name, `Script=${name}`].map((form) => `\\${letter}{${form}}`).find((set) => {
    try {
      return new RegExp(set, "v");
    } catch {
      return false;
    }
  });
  return found ?? needsRipgrep(token);
}

class Translator {
  readonly source: string;
  #at = 0;
  readonly #pattern: string;
  readonly #sets: CharSets;

  constructor(pattern: string, sets: CharSets) {
    this.#pattern = pattern;
    this.#sets = sets;
    const flags = this.#take(/\(\?([ismu]+)\)/y);
    const parts: string[] = [];
    while (this.#at < pattern.length) parts.push(this.#part());
    this.source = flags.includes("i") ? `(?i:${parts.join("")})` : parts.join("");
  }

  get #isAscii(): boolean {
    return this.#sets.word === ASCII.word;
  }

  /** Returns the text that matches here, and moves past it; an empty text where nothing does. */
  #take(expression: RegExp): string {
    expression.lastIndex = this.#at;
    const found = expression.exec(this.#pattern)?.[0] ?? "";
    this.#at += found.length;
    return found;
  }

  #set(members: string): string {
    const { never } = this.#sets;
    return never === "" ? `[${members}]` : `[[${members}]--[${never}]]`;
  }

  #part(): string {
    if (this.#pattern[this.#at] === "[") return this.#set(this.#classMembers());
    if (this.#pattern[this.#at] === "\\") return this.#escape();
    const group = this.#take(/\((?:\?(?:P?<(?![=!])[^>]*>|<?[=!]|[a-zA-Z-]*[:)]?))?/y);
    if (group !== "") return this.#group(group);
    const char = this.#take(/[^]/uy);
    if (char === ".") return this.#set("\\0-\\u{10FFFF}");
    if (char === "^") return this.#isAscii ? "(?m:^)" : "(?<=\\n|^)";
    if (char === "$") return this.#isAscii ? "(?m:$)" : "(?=\\n|$)";
    if (char === "{") return `{${this.#take(/\d+(?:,\d*)?\}/y)}`;
    return /[)|*+?]/.test(char) ? char : literal(char);
  }

  #group(head: string): string {
    const flags = /^\(\?([a-zA-Z-]+)([:)])$/.exec(head);
    if (!flags) return head.replace("(?P<", "(?<");
    const [, letters = "", end] = flags;
    if (end === ")" || !/^(?:[ismu]+|[ismu]*-i)$/.test(letters)) return needsRipgrep(head);
    return `(?${letters.replace(/[smu]/g, "")}:`;
  }

  #escape(): string {
    const token = this.#take(ESCAPE);
    const { digit, word, space } = this.#sets;
    const wordEdge = `(?:(?<=[${word}])(?![${word}])|(?<![${word}])(?=[${word}]))`;
    const name = token.charAt(1);
    switch (name) {
      case "d":
        return `[${digit}]`;
      case "w":
        return `[${word}]`;
      case "s":
        return this.#set(space);
      case "D":
        return this.#set(`[^${digit}]`);
      case "W":
        return this.#set(`[^${word}]`);
      case "S":
        return this.#set(`[^${space}]`);
      case "p":
      case "P":
        return this.#set(property(token));
      case "b":
        return this.#isAscii ? "\\b" : wordEdge;
      case "B":
        return this.#isAscii ? "\\B" : `(?!${wordEdge})`;
      case "A":
        return "^";
      case "z":
        return "$";
      case "a":
        return "\\x07";
      case "x":
      case "u":
      case "U":
        return token.length === 2 ? needsRipgrep(token) : `\\u{${token.slice(2).replace(/[{}]/g, "")}}`;
    }
    if (/^[tnrfvk1-9]$/.test(name)) return token;
    return name === "" || /[A-Za-z0-9<>]/.test(name) ? needsRipgrep(token) : literal(token.slice(1));
  }

  /** The inside of the class that begins here, in the syntax of `v` expressions. */
  #classMembers(): string {
    const negated = this.#take(/\[\^?/y) === "[^" ? "^" : "";
    let left = "";
    let items = this.#take(/[\]-]/y).replace(/./, literal);
    while (this.#take(/\]/y) === "") {
      if (this.#at >= this.#pattern.length) throw new SyntaxError("Unterminated character class");
      const operator = this.#take(/&&|--|~~/y);
      if (operator === "~~") return needsRipgrep("~~ in [ ]");
      if (operator !== "") {
        left += `[${items}]${operator}`;
        items = "";
      } else items += this.#classItem();
    }
    return left === "" && negated === "" ? items : `${negated === "" ? "" : "^"}${left}[${items}]`;
  }

  #classItem(): string {
    const posix = this.#take(/\[:\^?[a-z]+:\]/y);
    if (posix !== "") {
      const members = POSIX[posix.replace(/[^a-z]/g, "")] ?? needsRipgrep(posix);
      return posix.includes("^") ? `[^${members}]` : members;
    }
    if (this.#pattern[this.#at] === "[") return `[${this.#classMembers()}]`;
    const from = this.#classChar();
    return this.#take(/-(?![\]-])/y) === "" ? from : `${from}-${this.#classChar()}`;
  }

  #classChar(): string {
    if (this.#pattern[this.#at] !== "\\") return literal(this.#take(/[^]/uy));
    if (/\\[bBAzk1-9]/y.test(this.#pattern.slice(this.#at, this.#at + 2))) return needsRipgrep("\\ in [ ]");
    return this.#escape();
  }
}
