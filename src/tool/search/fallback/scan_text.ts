import type { FoundLine, SearchRequest } from "../request.ts";
import { MatchFinder } from "./match_finder.ts";
import { type Translated, translatePattern } from "./regex_translate.ts";

/** A compiled search. */
export interface Matcher {
  readonly pattern: Translated;
  readonly ascii: RegExp;
  readonly unicode: RegExp;
  /** Leaves out texts that may take long. */
  readonly timeBoxed: boolean;
}

export function compileMatcher(
  request: Pick<SearchRequest, "pattern" | "ignoreCase" | "multiline">,
  timeBoxed = false,
): Matcher {
  const pattern = translatePattern(request.pattern, request);
  const flags = `gv${request.ignoreCase ? "i" : ""}`;
  const [ascii, unicode] = [new RegExp(pattern.ascii, flags), new RegExp(pattern.unicode, flags)];
  return { pattern, ascii, unicode, timeBoxed };
}

/** Lines `first` to `last` (0-based) that one or more matches touch. */
interface Hit {
  readonly first: number;
  last: number;
  readonly start: number;
  end: number;
  readonly column: number;
}

export interface TextMatches {
  readonly count: number;
  readonly lines: readonly FoundLine[];
}

/** Searches one text. Undefined: no match; "long": it was not searched, because that may take long. */
export function scanText(
  text: string,
  isAscii: boolean,
  matcher: Matcher,
  request: SearchRequest,
): TextMatches | "long" | undefined {
  const { pattern } = matcher;
  if (text === "" || !text.includes(pattern.required)) return undefined;
  if (!pattern.others.every((other) => text.includes(other))) return undefined;
  const plain = isAscii && !text.includes("\r");
  const finder = new MatchFinder(text, pattern, plain ? matcher.ascii : matcher.unicode, matcher.timeBoxed);
  const hits = collectHits(text, finder, request);
  if (finder.outOfBudget) return "long";
  if (hits.length === 0) return undefined;
  const count = hits.reduce((sum, hit) => sum + hit.last - hit.first + 1, 0);
  return { count, lines: request.mode === "content" ? linesAround(text, hits, request) : [] };
}

function collectHits(text: string, finder: MatchFinder, request: SearchRequest): Hit[] {
  const hits: Hit[] = [];
  let line = 0;
  let counted = 0;
  for (let from = 0; from <= text.length;) {
    const match = finder.next(from);
    // Behind the last line end there is no line any more.
    if (!match || (match.start === text.length && text.endsWith("\n"))) break;
    line += newlinesIn(text, counted, match.start);
    counted = match.start;
    const start = text.lastIndexOf("\n", match.start - 1) + 1;
    const inside = match.end > match.start ? newlinesIn(text, match.start, match.end - 1) : 0;
    const end = lineEnd(text, match.end > match.start ? match.end - 1 : match.end);
    const column = match.start - (match.start === 0 ? 0 : start);
    const last = hits.at(-1);
    if (last && line <= last.last) {
      [last.last, last.end] = [line + inside, end];
    } else hits.push({ first: line, last: line + inside, start: match.start === 0 ? 0 : start, end, column });
    if (request.mode === "files" || hits.length > request.maxLines) break;
    from = request.multiline ? Math.max(match.end, match.start + 1) : end + 1;
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
