import { ReasonixError } from "../../../core/mod.ts";

/**
 * The spelling of sets of characters for a given text: ASCII sets are faster and enough when the text is
 * ASCII.
 */
export interface CharSets {
  readonly digit: string;
  readonly word: string;
  readonly space: string;
  /**
   * Members that no set may contain: the line end when lines are matched alone, and what stands for broken
   * bytes.
   */
  readonly never: string;
}

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
  space: "\\t\\n\\v\\f\\r\\x20",
  upper: "A-Z",
  word: "0-9A-Za-z_",
  xdigit: "0-9A-Fa-f",
};

const CONTROL: Readonly<Record<string, string>> = {
  a: "\u0007",
  f: "\f",
  t: "\t",
  n: "\n",
  r: "\r",
  v: "\v",
};

export function unsupported(what: string): never {
  throw new ReasonixError(`Cannot use the pattern: ${what}`, { remedy: "rewrite it or set literal" });
}

/** A literal character, safe inside and outside a class of a `v` expression. */
export function literal(char: string): string {
  if (/^[A-Za-z0-9_]$/.test(char)) return char;
  return `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
}

/** One escape: a character or a set, and the index after it. */
export type Escape = { readonly char: string; readonly next: number } | {
  readonly set: string;
  readonly next: number;
};

/**
 * Reads the escape at `at` as far as it means the same inside and outside a class; undefined for anchors and
 * the like.
 */
export function readEscape(pattern: string, at: number, sets: CharSets): Escape | undefined {
  const name = pattern.charAt(at + 1);
  const next = at + 2;
  const simple = CONTROL[name];
  if (simple !== undefined) return { char: simple, next };
  switch (name) {
    case "d":
      return { set: sets.digit, next };
    case "D":
      return { set: `[^${sets.digit}]`, next };
    case "w":
      return { set: sets.word, next };
    case "W":
      return { set: `[^${sets.word}]`, next };
    case "s":
      return { set: sets.space, next };
    case "S":
      return { set: `[^${sets.space}]`, next };
    case "p":
    case "P":
      return property(pattern, at);
    case "x":
    case "u":
    case "U":
      return codePoint(pattern, at);
  }
  if (name === "") return unsupported("it ends with a backslash");
  return /[A-Za-z0-9<>]/.test(name) ? undefined : { char: name, next };
}

function codePoint(pattern: string, at: number): Escape {
  const found = /^\\(?:[xuU]\{([0-9A-Fa-f]+)\}|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))/
    .exec(pattern.slice(at));
  const digits = found?.slice(1).find((part) => part !== undefined);
  const value = digits === undefined ? NaN : Number.parseInt(digits, 16);
  if (!found || !(value <= 0x10ffff)) return unsupported(`${pattern.slice(at, at + 6)} is not a character`);
  return { char: String.fromCodePoint(value), next: at + found[0].length };
}

function property(pattern: string, at: number): Escape {
  const found = /^\\([pP])(?:\{(\^?)([^}]*)\}|([A-Za-z]))/.exec(pattern.slice(at));
  if (!found) return unsupported(`${pattern.slice(at, at + 2)} names no property`);
  const name = (found[3] ?? found[4] ?? "").replace(/\s*[:=]\s*/, "=");
  const letter = (found[1] === "P") !== (found[2] === "^") ? "P" : "p";
  const forms = [
    name,
    `Script=${name}`,
    name.replace(/^(?:sc|script)=/i, "Script="),
    name.replace(/^gc=/i, ""),
  ];
  const capital = forms.map((form) =>
    form.replace(/(^|[=_])([a-z])/g, (_, head, char) => head + char.toUpperCase())
  );
  for (const form of [...forms, ...capital]) {
    const set = `\\${letter}{${form}}`;
    try {
      new RegExp(set, "v");
      return { set, next: at + found[0].length };
    } catch {
      continue;
    }
  }
  return unsupported(`${found[0]} names no property this engine knows`);
}

/** Translates the class at `at` into `v` syntax. */
export function translateClass(
  pattern: string,
  at: number,
  sets: CharSets,
): { source: string; next: number } {
  const { source, next } = readClass(pattern, at, sets);
  return { source: `[${source}--[${sets.never}]]`, next };
}

function readClass(pattern: string, at: number, sets: CharSets): { source: string; next: number } {
  let index = at + 1;
  const negated = pattern[index] === "^";
  if (negated) index++;
  let left: string | undefined;
  let operator = "";
  let items = "";
  for (let first = true;; first = false) {
    const char = pattern.charAt(index);
    if (char === "") return unsupported("a [ is never closed");
    if (char === "]" && !first) break;
    const two = pattern.slice(index, index + 2);
    if (!first && (two === "&&" || two === "--" || two === "~~")) {
      left = combine(left, operator, items);
      [operator, items] = [two, ""];
      index += 2;
      continue;
    }
    const item = readItem(pattern, index, sets);
    items += item.source;
    index = item.next;
  }
  const whole = combine(left, operator, items);
  return { source: negated ? `[^${whole}]` : whole, next: index + 1 };
}

function combine(left: string | undefined, operator: string, items: string): string {
  const right = `[${items}]`;
  if (left === undefined) return right;
  if (operator === "~~") return `[[${left}--${right}][${right}--${left}]]`;
  return `[${left}${operator}${right}]`;
}

function readItem(pattern: string, at: number, sets: CharSets): { source: string; next: number } {
  if (pattern[at] === "[") {
    const posix = /^\[:(\^?)([a-z]+):\]/.exec(pattern.slice(at));
    if (!posix) return readClass(pattern, at, sets);
    const members = POSIX[posix[2] ?? ""] ?? unsupported(`${posix[0]} is not a known class`);
    return { source: posix[1] ? `[^${members}]` : members, next: at + posix[0].length };
  }
  const from = readMember(pattern, at, sets);
  if ("set" in from) return { source: from.set, next: from.next };
  const after = pattern.slice(from.next, from.next + 2);
  if (!after.startsWith("-") || after === "-]" || after === "--" || after.length < 2) {
    return { source: literal(from.char), next: from.next };
  }
  const to = readMember(pattern, from.next + 1, sets);
  if ("set" in to) return unsupported("a range ends with a set");
  return { source: `${literal(from.char)}-${literal(to.char)}`, next: to.next };
}

function readMember(pattern: string, at: number, sets: CharSets): Escape {
  if (pattern[at] === "\\") {
    return readEscape(pattern, at, sets) ?? unsupported(`${pattern.slice(at, at + 2)} has no meaning in [ ]`);
  }
  const char = String.fromCodePoint(pattern.codePointAt(at) ?? 0);
  return { char, next: at + char.length };
}
