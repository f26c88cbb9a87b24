import { ReasonixError } from "../../core/mod.ts";
import { fallbackSearch } from "./fallback/fallback_search.ts";
import { includeTest, type PathFilter } from "./path_filter.ts";
import { literalPattern, normalizePattern } from "./normalize_pattern.ts";
import type { SearchReport, SearchRequest } from "./request.ts";
import { findRipgrep } from "./ripgrep/ripgrep.ts";
import { RipgrepUnusable, searchWithRipgrep } from "./ripgrep/search.ts";

export interface ContentSearch {
  readonly pattern: string;
  /** The pattern is plain text. */
  readonly literal: boolean;
  readonly ignoreCase: boolean;
  readonly multiline: boolean;
  readonly before: number;
  readonly after: number;
  readonly mode: SearchRequest["mode"];
  readonly filter: PathFilter;
  /** Absolute and real. */
  readonly root: string;
  readonly cwd: string;
  readonly hidden: (path: string) => boolean;
  /** Directories from which no program is started. */
  readonly writable?: readonly string[];
  /** Lines worth keeping when there are too many. */
  readonly shownLines: number;
  readonly signal: AbortSignal;
  readonly deadlineMs: number;
}

/** Matches beyond this are not counted. */
const MAX_LINES = 50_000;

/** The end of a line (`$`) lies before its CR. */
function endingBeforeReturn(pattern: string): string {
  if (!pattern.includes("$")) return pattern;
  return pattern.replace(/\\[^]|\[\^?\]?(?:\\[^]|[^\]\\])*\]|\$/g, (part) => part === "$" ? "\\r?$" : part);
}

/**
 * Finds lines in the files of a tree. With ripgrep and without, the result is the same.
 *
 * Rejects with a `ReasonixError` when the pattern cannot be used.
 */
export async function searchContent(search: ContentSearch): Promise<SearchReport> {
  const source = search.literal ? literalPattern(search.pattern) : endingBeforeReturn(search.pattern);
  const normal = normalizePattern(source);
  const request: SearchRequest = {
    pattern: normal.source,
    ignoreCase: search.ignoreCase,
    multiline: search.multiline || normal.crossesLines,
    before: search.before,
    after: search.after,
    mode: search.mode,
    maxLines: MAX_LINES,
  };
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
    throw new ReasonixError(`Cannot use the pattern: ${error.message}`, {
      remedy: "mend the regular expression or set literal",
    });
  }
}
