import { type LinePort, readLines, tell } from "../host/line_process.ts";
import { compilePattern, type FallbackPattern } from "./fallback_pattern.ts";
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

  /** Continues for about `milliseconds` and returns what was found in that time. */
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

/** Returns where the pieces before the one with a NUL byte end. */
function endOfText(bytes: Uint8Array, request: SearchRequest): number {
  const nul = bytes.indexOf(0);
  if (nul < 0) return bytes.length;
  if (request.mode === "count") return 0;
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
  /** First line number (0-based) not shown yet. */
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

/** Progress of a task: what was found since the last message and the index of the file that comes next. */
export interface SearchPart {
  readonly found: readonly FoundFile[];
  readonly next: number;
  readonly done: boolean;
  readonly full: boolean;
}

/** Body of the search process: executes tasks until there are no more. */
export async function runSearchProcess(port: LinePort): Promise<void> {
  for await (const { files, request } of readLines<SearchTask>(port.input)) {
    const job = new ScanJob(files, request, { leaveLong: false });
    while (true) {
      const found = job.step(REPORT_MS);
      tell(port, { found, next: job.next, done: job.done, full: job.full } satisfies SearchPart);
      if (job.done) break;
    }
  }
}
