import { type LinePort, readLines, sendMessage } from "../host/worker.ts";
import type { FoundFile, FoundLine, SearchRequest } from "./request.ts";

/** ripgrep reads this much at once and gives up a file at the piece that holds a NUL byte. */
const RIPGREP_PIECE = 65_536;
/** Larger files are searched part by part, cut at line ends. */
const PART = 32 * 1024 * 1024;
/** A match across lines needs the text as a whole; larger files are left out. */
const MAX_WHOLE = 256 * 1024 * 1024;
/** About half a second: a step costs some nanoseconds, and the fewer the more repetitions there are. */
const MAX_STEPS = 200_000_000;
const REPORT_MS = 100;
const UTF8 = new TextDecoder();
/** Most files fit; one buffer saves an allocation and a `stat` per file. Results are strings. */
const BUFFER = new Uint8Array(256 * 1024);

/** Searches a list of files one after the other, in steps of a given time. */
export class ScanJob {
  total = 0;
  next = 0;
  /** Files with lines so long that searching them may take long. */
  readonly left: string[] = [];
  readonly files: readonly string[];
  readonly #request: SearchRequest;
  readonly #pattern: FallbackPattern;
  readonly #leaveLong: boolean;

  constructor(files: readonly string[], request: SearchRequest, options: { readonly leaveLong: boolean }) {
    this.files = files;
    this.#request = request;
    this.#pattern = compilePattern(request);
    this.#leaveLong = options.leaveLong;
  }

  get full(): boolean {
    return this.total > this.#request.maxLines;
  }

  get done(): boolean {
    return this.full || this.next >= this.files.length;
  }

  step(milliseconds: number): FoundFile[] {
    const end = performance.now() + milliseconds;
    const out: FoundFile[] = [];
    while (!this.done && performance.now() < end) {
      const path = this.files[this.next++] ?? "";
      const found = this.#scanFile(path);
      if (found === "long") this.left.push(path);
      else if (found.count > 0) {
        this.total += found.count;
        out.push({ path, ...found });
      }
    }
    return out;
  }

  #scanFile(path: string): TextMatches | "long" {
    const lines: FoundLine[] = [];
    let [count, firstLine, previous] = [0, 0, ""];
    try {
      for (const bytes of readParts(path, this.#request)) {
        firstLine += newlinesIn(previous, 0, previous.length);
        const wide = wideEncoding(bytes);
        const text = (wide ? new TextDecoder(wide) : UTF8).decode(bytes);
        previous = text;
        if (!text.includes(this.#pattern.required)) continue;
        const isAscii = text.length === bytes.length && !text.includes("\r") && !text.includes("\ufffd");
        if (this.#leaveLong && isLong(text, this.#pattern)) return "long";
        const found = scanText(text, isAscii ? this.#pattern.ascii : this.#pattern.unicode, this.#request);
        for (const hit of found.lines) lines.push({ ...hit, number: hit.number + firstLine });
        count += found.count;
        if (count > this.#request.maxLines || (count > 0 && this.#request.mode === "files")) break;
      }
    } catch (error) {
      const { NotFound, PermissionDenied, NotCapable } = Deno.errors;
      if ([NotFound, PermissionDenied, NotCapable].some((kind) => error instanceof kind)) return NO_MATCHES;
      throw error;
    }
    return { count, lines };
  }
}

/**
 * Reads the searchable bytes of a file: parts that end at line ends, and the part before the first NUL byte.
 */
function* readParts(path: string, request: SearchRequest): Generator<Uint8Array> {
  using file = Deno.openSync(path);
  let [kept, isFirst] = [file.readSync(BUFFER) ?? 0, true];
  let buffer = BUFFER;
  if (kept === BUFFER.length) {
    const { size } = file.statSync();
    if (request.multiline && size > MAX_WHOLE) return;
    buffer = new Uint8Array(Math.max(kept, request.multiline ? size : Math.min(size, PART)) + 1);
    buffer.set(BUFFER);
  }
  while (true) {
    const read = file.readSync(buffer.subarray(kept));
    const filled = kept + (read ?? 0);
    if (filled === 0) return;
    kept = filled;
    if (read !== null && filled < buffer.length) continue;
    const newline = read === null ? -1 : buffer.lastIndexOf(10, filled - 1);
    const end = newline < 0 ? filled : newline + 1;
    const part = buffer.subarray(0, end);
    const textEnd = isFirst && wideEncoding(part) ? end : endOfText(part, request);
    if (textEnd > 0) yield part.subarray(0, textEnd);
    if (read === null || textEnd < end) return;
    buffer.copyWithin(0, end, filled);
    [kept, isFirst] = [filled - end, false];
  }
}

function wideEncoding(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  return bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : undefined;
}

/** The end of the pieces before the one with a NUL byte. */
function endOfText(bytes: Uint8Array, request: SearchRequest): number {
  const nul = bytes.indexOf(0);
  if (nul < 0) return bytes.length;
  if (request.multiline) return nul < RIPGREP_PIECE ? 0 : bytes.length;
  let start = 0;
  while (nul >= start + RIPGREP_PIECE) {
    const newline = bytes.lastIndexOf(10, start + RIPGREP_PIECE - 1);
    start = newline < start ? start + RIPGREP_PIECE : newline + 1;
  }
  return start;
}

function isLong(text: string, { repetitions, choices }: FallbackPattern): boolean {
  const most = MAX_STEPS * Math.max(1, repetitions) ** 2 / 2 ** choices;
  const steps = (longest: number) => text.length * longest ** repetitions;
  if (repetitions === Infinity || steps(1) > most) return true;
  if (steps(text.length) <= most) return false;
  let longest = 0;
  for (let start = 0; start < text.length;) {
    const end = lineEnd(text, start);
    longest = Math.max(longest, end - start);
    start = end + 1;
  }
  return steps(longest) > most;
}

interface TextMatches {
  readonly count: number;
  readonly lines: readonly FoundLine[];
}

const NO_MATCHES: TextMatches = { count: 0, lines: [] };

/** Lines `first` to `last` (0-based) that one or more matches touch. */
interface Hit {
  readonly first: number;
  last: number;
  readonly start: number;
  end: number;
  readonly column: number;
}

function scanText(text: string, expression: RegExp, request: SearchRequest): TextMatches {
  const hits = collectHits(text, expression, request);
  if (hits.length === 0) return NO_MATCHES;
  const count = hits.reduce((sum, hit) => sum + hit.last - hit.first + 1, 0);
  return { count, lines: request.mode === "content" ? linesAround(text, hits, request) : [] };
}

function collectHits(text: string, expression: RegExp, request: SearchRequest): Hit[] {
  const hits: Hit[] = [];
  let [line, counted] = [0, 0];
  for (let from = 0; from <= text.length;) {
    expression.lastIndex = from;
    const match = expression.exec(text);
    // Behind the last line end there is no line any more.
    if (!match || (match.index === text.length && (text === "" || text.endsWith("\n")))) break;
    const [begin, length] = [match.index, match[0].length];
    line += newlinesIn(text, counted, begin);
    counted = begin;
    const start = text.lastIndexOf("\n", begin - 1) + 1;
    const inside = length > 0 ? newlinesIn(text, begin, begin + length - 1) : 0;
    const end = lineEnd(text, length > 0 ? begin + length - 1 : begin);
    const column = begin - (begin === 0 ? 0 : start);
    const last = hits.at(-1);
    if (last && line <= last.last) {
      [last.last, last.end] = [line + inside, end];
    } else hits.push({ first: line, last: line + inside, start: begin === 0 ? 0 : start, end, column });
    if (request.mode === "files" || hits.length > request.maxLines) break;
    from = request.multiline ? begin + Math.max(length, 1) : end + 1;
  }
  return hits;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

function newlinesIn(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf("\n", from); at >= 0 && at < to; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

function linesAround(text: string, hits: readonly Hit[], request: SearchRequest): FoundLine[] {
  const out: FoundLine[] = [];
  let shown = 0;
  for (const [index, hit] of hits.entries()) {
    const first = Math.max(shown, hit.first - request.before);
    let start = hit.start;
    const ahead: FoundLine[] = [];
    for (let line = hit.first - 1; line >= first; line--) {
      const end = start - 1;
      start = end === 0 ? 0 : text.lastIndexOf("\n", end - 1) + 1;
      ahead.push({ number: line + 1, text: text.slice(start, end) });
    }
    out.push(...ahead.reverse());
    for (const [offset, line] of text.slice(hit.start, hit.end).split("\n").entries()) {
      out.push({ number: hit.first + offset + 1, text: line, column: offset === 0 ? hit.column : 0 });
    }
    shown = hit.last + 1;
    const stop = Math.min(hit.last + 1 + request.after, hits[index + 1]?.first ?? Infinity);
    for (let at = hit.end + 1; shown < stop && at < text.length; shown++) {
      const end = lineEnd(text, at);
      out.push({ number: shown + 1, text: text.slice(at, end) });
      at = end + 1;
    }
  }
  return out;
}

export interface SearchTask {
  readonly files: readonly string[];
  readonly request: SearchRequest;
}

/** Progress of a task: what was found since the last message, and the index of the next file. */
export interface SearchPart {
  readonly found: readonly FoundFile[];
  readonly next: number;
  readonly done: boolean;
  readonly full: boolean;
}

export async function runSearchProcess(port: LinePort): Promise<void> {
  for await (const { files, request } of readLines<SearchTask>(port.input)) {
    const job = new ScanJob(files, request, { leaveLong: false });
    while (true) {
      const found = job.step(REPORT_MS);
      sendMessage(port, { found, next: job.next, done: job.done, full: job.full } satisfies SearchPart);
      if (job.done) break;
    }
  }
}

/** A pattern in ripgrep's syntax as JavaScript expressions. */
export interface FallbackPattern {
  /** For text that is plain ASCII without `\r`, and for any other text. */
  readonly ascii: RegExp;
  readonly unicode: RegExp;
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

function compilePattern({ pattern, ignoreCase, multiline }: SearchRequest): FallbackPattern {
  const flags = `gv${ignoreCase ? "i" : ""}`;
  const end = multiline ? "" : "\\n";
  const ascii = new Translator(pattern, { ...ASCII, never: end }).source;
  const unicode = new Translator(pattern, { ...UNICODE, never: `${end}\\uFFFD` }).source;
  const expressions = { ascii: new RegExp(ascii, flags), unicode: new RegExp(unicode, flags) };
  return { ...expressions, ...matchCost(pattern), required: ignoreCase ? "" : requiredText(pattern) };
}

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

  /** Moves past the text that matches here; returns "" where nothing does. */
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
