import { type LinePort, readLines, sendMessage } from "../host/worker.ts";
import type { FoundFile, FoundLine, SearchRequest } from "./request.ts";
import { attempt } from "../../util/lazy.ts";

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
  /** Files whose long lines may make the search slow. */
  readonly left: string[] = [];
  readonly files: readonly string[];
  readonly #request: SearchRequest;
  readonly #pattern: Pattern;
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

  #scanFile(path: string): FileMatches | "long" {
    const { mode, maxLines } = this.#request;
    const found: FoundLine[] = [];
    let count = 0;
    let firstLine = 1;
    let text = "";
    try {
      for (const bytes of readParts(path, this.#request)) {
        for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) firstLine++;
        text = (wideEncoding(bytes) ?? UTF8).decode(bytes);
        if (this.#pattern.mayMatch(text)) {
          const lines = text.split("\n");
          if (lines.at(-1) === "") lines.pop();
          if (this.#leaveLong && mayTakeLong(text, lines, this.#pattern)) return "long";
          const columns = this.#request.multiline
            ? columnsAcross(text, this.#pattern)
            : columnsOf(lines, this.#pattern, mode === "files" ? 1 : maxLines + 1 - count);
          count += columns.size;
          if (mode === "content") {
            for (const line of linesAround(lines, columns, { ...this.#request, firstLine })) found.push(line);
          }
          if (count > maxLines || (count > 0 && mode === "files")) break;
        }
      }
    } catch (error) {
      const { NotFound, PermissionDenied, NotCapable } = Deno.errors;
      if (![NotFound, PermissionDenied, NotCapable].some((kind) => error instanceof kind)) throw error;
    }
    return { count: mode === "files" ? Math.min(count, 1) : count, lines: found };
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

function wideEncoding(bytes: Uint8Array): TextDecoder | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder("utf-16le");
  return bytes[0] === 0xfe && bytes[1] === 0xff ? new TextDecoder("utf-16be") : undefined;
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

function mayTakeLong(text: string, lines: readonly string[], { repetitions, choices }: Pattern): boolean {
  const most = MAX_STEPS * Math.max(1, repetitions) ** 2 / 2 ** choices;
  const steps = (longest: number) => text.length * longest ** repetitions;
  if (repetitions === Infinity || steps(1) > most) return true;
  return steps(text.length) > most &&
    steps(lines.reduce((most, { length }) => Math.max(most, length), 0)) > most;
}

interface FileMatches {
  readonly count: number;
  readonly lines: readonly FoundLine[];
}

/** The index of each line that matches, with the column of its first match. */
type Columns = ReadonlyMap<number, number>;

function columnsOf(lines: readonly string[], { expression, required }: Pattern, most: number): Columns {
  const columns = new Map<number, number>();
  for (let at = 0; at < lines.length && columns.size < most; at++) {
    const line = lines[at] ?? "";
    if (!line.includes(required)) continue;
    expression.lastIndex = 0;
    const match = expression.exec(line);
    if (match) columns.set(at, match.index);
  }
  return columns;
}

/** Matches across lines; their later lines have column 0. */
function columnsAcross(text: string, { expression }: Pattern): Columns {
  const columns = new Map<number, number>();
  let line = 0;
  let lineStart = 0;
  const advance = (to: number) => {
    for (let end = text.indexOf("\n", lineStart); end >= 0 && end < to; end = text.indexOf("\n", lineStart)) {
      line++;
      lineStart = end + 1;
    }
  };
  for (const { index, 0: { length } } of text.matchAll(expression)) {
    // After the last line end there is no line any more.
    if (index === text.length && (text === "" || text.endsWith("\n"))) break;
    advance(index);
    if (!columns.has(line)) columns.set(line, index - lineStart);
    const first = line;
    advance(index + length - 1);
    for (let at = first + 1; at <= line; at++) if (!columns.has(at)) columns.set(at, 0);
  }
  return columns;
}

function* linesAround(
  lines: readonly string[],
  columns: Columns,
  { before, after, firstLine }: SearchRequest & { readonly firstLine: number },
): Generator<FoundLine> {
  let next = 0;
  for (const at of columns.keys()) {
    const end = Math.min(lines.length, at + after + 1);
    for (let index = Math.max(next, at - before); index < end; index++) {
      const column = columns.get(index);
      const text = lines[index] ?? "";
      yield { number: index + firstLine, text, ...(column === undefined ? {} : { column }) };
    }
    next = Math.max(next, end);
  }
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

/** A pattern of ripgrep as a JavaScript expression. */
interface Pattern {
  readonly expression: RegExp;
  /** A quick look at a whole text. */
  readonly mayMatch: (text: string) => boolean;
  /** Part of every match. */
  readonly required: string;
  /** A bound of the steps of a search: `length × longest line ^ repetitions × 2 ^ choices`. */
  readonly repetitions: number;
  readonly choices: number;
}

const WORD = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}";
const WORD_EDGE = `(?:(?<=[${WORD}])(?![${WORD}])|(?<![${WORD}])(?=[${WORD}]))`;

/** Escapes with another form or meaning in JavaScript. */
const ESCAPES: Readonly<Record<string, string>> = {
  a: "\\x07",
  A: "^",
  b: WORD_EDGE,
  B: `(?!${WORD_EDGE})`,
  d: "\\p{Nd}",
  D: "\\P{Nd}",
  s: "\\p{White_Space}",
  S: "\\P{White_Space}",
  w: `[${WORD}]`,
  W: `[^${WORD}]`,
  z: "$",
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

/** An escape, a POSIX class, a bracket or operator of classes, a beginning of a group, or a character. */
const TOKEN =
  /\\(?:[pP](?:\{[^}]*\}|[^])|[xuU]\{[^}]*\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|b\{[^}]*\}|k<[^>]*>|[1-9]\d*|[^]|$)|\[:\^?[a-z]+:\]|\[\^?[\]-]?|-?\]|&&|--|~~|\(\?(?:P?<(?![=!])|[a-zA-Z-]+[:)])|[^]/gu;

/** Throws a `SyntaxError` for a pattern that has no JavaScript form. */
function compilePattern({ pattern, ignoreCase, multiline }: SearchRequest): Pattern {
  const head = /^\(\?[ismu]+\)/.exec(pattern)?.[0] ?? "";
  const flags = `gsv${multiline ? "m" : ""}${ignoreCase || head.includes("i") ? "i" : ""}`;
  const plain: string[] = [];
  let depth = 0;
  const source = pattern.slice(head.length).replace(TOKEN, (token) => {
    const inClass = depth > 0;
    if (!inClass) plain.push(/^(?:\\(?![1-9k])|\[)/.test(token) ? "\0" : token);
    if (token.startsWith("[") && !(inClass && token.startsWith("[:"))) depth++;
    else if (inClass && /^-?\]$/.test(token)) depth--;
    return translated(token, inClass);
  });
  const expression = new RegExp(source, flags);
  const text = plain.join("");
  const cost = matchCost(text);
  const required = flags.includes("i") ? "" : requiredText(text);
  const whole = new RegExp(source, flags.replace(/[gm]/g, "") + "m");
  // Only without repetitions is it certain that this is quick.
  const mayMatch = required === "" && cost.repetitions === 0
    ? (text: string) => whole.test(text)
    : (text: string) => text.includes(required);
  return { expression, mayMatch, required, ...cost };
}

function needsRipgrep(what: string): never {
  throw new SyntaxError(`Only ripgrep knows ${what}`);
}

/** A token of ripgrep's syntax in that of `v` expressions; `inClass`: within brackets. */
function translated(token: string, inClass: boolean): string {
  if (token.startsWith("[:") && inClass) {
    const members = POSIX[token.replace(/[^a-z]/g, "")] ?? needsRipgrep(token);
    return token.startsWith("[:^") ? `[^${members}]` : members;
  }
  if (token === "~~" && inClass) return needsRipgrep("~~ in [ ]");
  // Both sides of an operator have to be classes.
  if (/^(?:&&|--)$/.test(token) && inClass) return `]${token}[`;
  if (token.startsWith("[")) {
    return token.replace(/(\[\^?)([\]-]?)/, (_, open, first) => `${open}[${first && `\\${first}`}`);
  }
  if (/^-?\]$/.test(token)) return inClass ? `${token.replace("-", "\\-")}]` : token.replace("]", "\\]");
  // The mark of bytes that are not UTF-8 is no character.
  if (token === "." && !inClass) return "[^\\uFFFD]";
  if (token.startsWith("(?P<")) return "(?<";
  const group = /^\(\?([a-zA-Z-]+)([:)])$/.exec(token);
  if (group && !inClass) {
    const [, letters = "", end] = group;
    if (end === ")" || !/^(?:[ismu]+|[ismu]*-i)$/.test(letters)) return needsRipgrep(token);
    return `(?${letters.replace(/[smu]/g, "")}:`;
  }
  if (token.startsWith("\\")) return escaped(token, inClass);
  return inClass && /^[(){}\/|]$/.test(token) ? `\\${token}` : token;
}

function escaped(token: string, inClass: boolean): string {
  const name = token.charAt(1);
  if (/^[xuU]$/.test(name) && token.length > 2) return `\\u{${token.slice(2).replace(/[{}]/g, "")}}`;
  if (/^[pP]$/.test(name)) return property(token);
  if (Object.hasOwn(ESCAPES, name) && token.length === 2) {
    return inClass && /[bBAz]/.test(name) ? needsRipgrep("\\ in [ ]") : ESCAPES[name] ?? token;
  }
  if (/^[tnrfvk1-9]$/.test(name)) return token;
  if (name === "" || /[A-Za-z0-9<>]/.test(name)) return needsRipgrep(token);
  return `\\u{${(name.codePointAt(0) ?? 0).toString(16)}}`;
}

/** A property of characters under one of the names that ripgrep accepts. */
function property(token: string): string {
  const [, letter = "p", name = ""] = /^\\([pP])\{?([^}]*)\}?$/.exec(token) ?? [];
  const found = [name, `Script=${name}`].map((form) => `\\${letter}{${form}}`).find((set) => {
    return attempt(() => new RegExp(set, "v")) ?? false;
  });
  return found ?? needsRipgrep(token);
}

/** The longest plain text before the first group, unless there are alternatives; NUL represents a set. */
function requiredText(plain: string): string {
  if (/[|[\]]/.test(plain)) return "";
  const head = plain.replace(/\([^]*/, "").replace(/[^](?:[*+?]|\{[^}]*\})/gu, "\0");
  return head.split(/[\0.^$]/).sort((a, b) => b.length - a.length)[0] ?? "";
}

/** Repetitions of a group, look-around and back-references have no bound. */
function matchCost(plain: string): Pick<Pattern, "repetitions" | "choices"> {
  const unbounded = /\\|\)[*+{]|[*+}?][*+{]|\(\?<?[=!]/.test(plain);
  return {
    repetitions: unbounded ? Infinity : plain.match(/[*+{]/g)?.length ?? 0,
    choices: plain.match(/[?|]/g)?.length ?? 0,
  };
}
