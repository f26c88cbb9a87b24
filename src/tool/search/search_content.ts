import { ReasonixError } from "../../core/mod.ts";
import { fallbackSearch } from "./fallback_search.ts";
import { includeTest } from "./path_filter.ts";
import type { SearchReport, SearchRequest, SearchRoot } from "./request.ts";
import { findRipgrep, RipgrepUnusable, searchWithRipgrep } from "./ripgrep.ts";

export interface ContentSearch
  extends Omit<SearchRequest, "maxLines">, Omit<SearchRoot, "included" | "deadline"> {
  readonly literal: boolean;
  /** Directories from which no program is started. */
  readonly writable?: readonly string[];
  readonly shownLines: number;
  readonly deadlineMs: number;
}

const MAX_LINES = 50_000;

/** Makes `$` match before the CR of a line. */
function endingBeforeReturn(pattern: string): string {
  if (!pattern.includes("$")) return pattern;
  return pattern.replace(/\\[^]|\[\^?\]?(?:\\[^]|[^\]\\])*\]|\$/g, (part) => part === "$" ? "\\r?$" : part);
}

/**
 * Finds lines in the files of a tree. With ripgrep and without, the result is the same;
 * without it, a few rare patterns are refused.
 *
 * Rejects with a `ReasonixError` when the pattern cannot be used.
 */
export async function searchContent(search: ContentSearch): Promise<SearchReport> {
  const source = search.literal ? literalPattern(search.pattern) : endingBeforeReturn(search.pattern);
  const normal = normalizePattern(source);
  const { ignoreCase, before, after, mode } = search;
  const multiline = search.multiline || normal.crossesLines;
  const pattern = normal.source;
  const request: SearchRequest = { pattern, ignoreCase, multiline, before, after, mode, maxLines: MAX_LINES };
  const place = {
    ...search,
    included: includeTest(search.filter, search.root, search.cwd),
    deadline: Date.now() + search.deadlineMs,
  };
  const command = normal.needsBacktracking ? undefined : findRipgrep(search.cwd, search.writable);
  if (command !== undefined) {
    try {
      return await searchWithRipgrep(command, request, place, search.shownLines);
    } catch (error) {
      if (!(error instanceof RipgrepUnusable || error instanceof Deno.errors.NotCapable)) throw error;
    }
  }
  try {
    return await fallbackSearch(request, place, search.shownLines);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const here = normal.needsBacktracking ? "" : " without ripgrep";
    const install = normal.needsBacktracking ? "" : "install ripgrep (rg), ";
    throw new ReasonixError(`Cannot use the pattern${here}: ${error.message}`, {
      remedy: `${install}fix the regular expression or set literal`,
    });
  }
}

/** A search pattern in the syntax both engines understand, and what has to be known before one is chosen. */
interface NormalPattern {
  readonly source: string;
  /** The pattern can only match across line ends. */
  readonly crossesLines: boolean;
  /** Look-around or a back-reference: ripgrep's engine refuses these, JavaScript's does not. */
  readonly needsBacktracking: boolean;
}

const META = new Set("\\.+*?()|[]{}^$#&-~");

/**
 * Fixes what has one meaning but is an error in ripgrep's syntax: escapes of plain punctuation (`\"`, `\/`),
 * a `{` that starts no repetition (`interface{}`), and `(?<name>`.
 */
function normalizePattern(pattern: string): NormalPattern {
  let source = "";
  let crossesLines = false;
  let needsBacktracking = false;
  let quantifiable = false;
  for (let at = 0; at < pattern.length;) {
    const char = pattern.charAt(at);
    if (char === "\\") {
      const [text, next] = escape(pattern, at);
      if (text === "\\n") crossesLines = true;
      if (/^\\(?:[1-9]|k<)/.test(pattern.slice(at, at + 3))) needsBacktracking = true;
      source += text;
      at = next;
      quantifiable = true;
    } else if (char === "[") {
      const end = classEnd(pattern, at);
      const body = pattern.slice(at, end);
      if (/^\[(?!\^).*(?<!\\)\\n/s.test(body) && !/\\[SWDP]/.test(body)) crossesLines = true;
      source += body;
      at = end;
      quantifiable = true;
    } else if (char === "(") {
      const head = /^\((?:\?(?:P?<(?![=!])[^>]*>|<?[=!]|[a-zA-Z-]*[:)]?))?/.exec(pattern.slice(at))?.[0] ??
        "(";
      if (/^\(\?<?[=!]/.test(head)) needsBacktracking = true;
      source += head.replace(/^\(\?<(?![=!])/, "(?P<");
      at += head.length;
      quantifiable = false;
    } else if (char === "{") {
      const repetition = quantifiable ? /^\{\d+(?:,\d*)?\}/.exec(pattern.slice(at))?.[0] : undefined;
      source += repetition ?? "\\{";
      at += repetition?.length ?? 1;
    } else {
      if (char === "\n") crossesLines = true;
      source += char === "}" ? "\\}" : char;
      at++;
      quantifiable = char !== "|";
    }
  }
  return { source, crossesLines, needsBacktracking };
}

function escape(pattern: string, at: number): [text: string, next: number] {
  const name = pattern.charAt(at + 1);
  const braced = /^\\(?:[pPxuU]|k|b)(?:\{[^}]*\}|<[^>]*>)/.exec(pattern.slice(at))?.[0];
  if (braced !== undefined) return [braced, at + braced.length];
  if (name !== "" && !META.has(name) && /[!-/:-@[-`{-~ ]/.test(name)) return [name, at + 2];
  return [pattern.slice(at, at + 2), at + 2];
}

/** Index after the `]` that closes the class at `at`; nested classes count. */
function classEnd(pattern: string, at: number): number {
  let index = at + 1;
  if (pattern[index] === "^") index++;
  if (pattern[index] === "]") index++;
  while (index < pattern.length) {
    const char = pattern[index];
    if (char === "\\") index += 2;
    else if (char === "]") return index + 1;
    else if (char === "[") {
      const posix = /^\[:\^?[a-z]+:\]/.exec(pattern.slice(index))?.[0];
      index = posix ? index + posix.length : classEnd(pattern, index);
    } else index++;
  }
  return pattern.length;
}

function literalPattern(text: string): string {
  return text.replace(/[\\.+*?()|[\]{}^$#&~-]/g, "\\$&").replaceAll("\n", "\\n");
}
