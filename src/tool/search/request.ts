import type { PathFilter, PathTest } from "./path_filter.ts";
import type { TreeScope } from "./walk.ts";

/** The goal of a content search; plain data, so that it can cross to a worker. */
export interface SearchRequest {
  readonly pattern: string;
  readonly ignoreCase: boolean;
  /** Matches may cross line ends, and `.` matches them. */
  readonly multiline: boolean;
  readonly before: number;
  readonly after: number;
  readonly mode: "content" | "files" | "count";
  readonly maxLines: number;
}

export interface SearchRoot extends TreeScope {
  readonly filter: PathFilter;
  readonly included: PathTest | undefined;
  /** Time (ms since the epoch) at which the search ends with what it has. */
  readonly deadline: number;
}

export interface FoundLine {
  readonly number: number;
  readonly text: string;
  /** Index of the first match in `text`; absent on context lines. */
  readonly column?: number;
}

export interface FoundFile {
  readonly path: string;
  readonly count: number;
  /** In mode `content`: matching lines and their context, by number. */
  readonly lines: readonly FoundLine[];
}

export interface SearchReport {
  readonly files: readonly FoundFile[];
  readonly total: number;
  /** The reason files are missing from the report, when they are. */
  readonly stopped?: "limit" | "deadline";
  readonly stuckAt?: string;
}

/** Sorted by path, part by part, as a walk through sorted directories does. */
export function sortedByPath<T>(items: readonly T[], pathOf: (item: T) => string): T[] {
  const keyed = items.map((item) => ({ item, key: pathOf(item).replaceAll("/", "\0") }));
  keyed.sort((a, b) => a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
  return keyed.map(({ item }) => item);
}

/** A report of what was found, by path. */
export function reportOf({ files, ...end }: Omit<SearchReport, "total">): SearchReport {
  return {
    files: sortedByPath(files, ({ path }) => path),
    total: files.reduce((sum, file) => sum + file.count, 0),
    ...end,
  };
}
