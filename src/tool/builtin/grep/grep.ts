import { message, type Text } from "../../../core/mod.ts";
import { readFilter } from "../../search/path_filter.ts";
import { reported, type SearchTarget, searchTarget, shown } from "../../search/search_target.ts";
import type { FoundFile, FoundLine, SearchReport } from "../../search/request.ts";
import { searchContent } from "../../search/search_content.ts";
import { failure, type ToolContext, type ToolResult } from "../../tool.ts";
import { keepHead } from "../../truncation.ts";

const DEFAULT_LIMIT = 100;
const MAX_BYTES = 20_000;
const DEADLINE_MS = 20_000;

/** Longer lines are shown around the match only. */
const MAX_LINE = 400;

type Mode = "content" | "files" | "count";

export function grep(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  return reported(async () => {
    const pattern = String(args.pattern);
    if (pattern === "") return failure("Cannot search for an empty pattern", "list files with glob");
    const target = await searchTarget(context, args.path);
    const mode = (args.output_mode ?? "content") as Mode;
    const limit = typeof args.limit === "number" ? args.limit : DEFAULT_LIMIT;
    const skip = typeof args.offset === "number" ? args.offset : 0;
    const around = typeof args.context === "number" ? args.context : 0;
    const report = await searchContent({
      pattern,
      literal: args.literal === true,
      ignoreCase: args.case_insensitive === true,
      multiline: args.multiline === true,
      before: around,
      after: around,
      mode,
      filter: readFilter(texts(args.include), texts(args.exclude)),
      root: target.path,
      cwd: target.cwd,
      hidden: (path) => context.paths.hidden(path),
      writable: context.paths.roots ?? [],
      shownLines: skip + limit,
      signal: context.signal,
      deadlineMs: DEADLINE_MS,
    });
    return rendered(report, { mode, limit, skip, target });
  });
}

function texts(value: unknown): string[] {
  return typeof value === "string" ? [value] : [];
}

interface View {
  readonly mode: Mode;
  readonly limit: number;
  /** Matches, or files, left out before the first one. */
  readonly skip: number;
  readonly target: SearchTarget;
}

function rendered(report: SearchReport, view: View): ToolResult {
  const { mode, skip, target } = view;
  const limit = skip + view.limit;
  const lines = mode === "content"
    ? contentLines(report.files, view)
    : report.files.slice(skip, limit).map((file) => {
      const path = shown(file.path, target);
      return mode === "count" ? `${path}:${file.count}` : path;
    });
  const summary = summaryOf(report, mode);
  const cut = keepHead(lines.join("\n"), { maxBytes: MAX_BYTES });
  const units = mode === "content" ? report.total : report.files.length;
  const notes = notesOf(report, mode, limit, target);
  const left = units > limit || report.stopped !== undefined;
  const truncated = cut.truncated ??
    (left ? { cut: "tail" as const, reason: "matches" as const, keptBytes: cut.text.length } : undefined);
  const body = lines.length === 0 ? "No matches" : cut.text;
  return { content: [body, ...notes].join("\n"), summary, ...(truncated ? { truncated } : {}) };
}

function summaryOf(report: SearchReport, mode: Mode): Text {
  const files = report.files.length === 1 ? message`1 file` : message`${report.files.length} files`;
  if (report.stopped === "limit") return message`too many matches`;
  if (report.total === 0) return message`no matches`;
  if (mode === "files") return files;
  return report.total === 1 ? message`1 match in ${files}` : message`${report.total} matches in ${files}`;
}

function notesOf(report: SearchReport, mode: Mode, limit: number, target: SearchTarget): string[] {
  const out: string[] = [];
  const units = mode === "content" ? report.total : report.files.length;
  const what = mode === "content" ? `matches in ${report.files.length} files` : "files";
  if (report.stopped === "limit") {
    out.push(`[first ${limit} of very many; narrow the pattern, include or path]`);
  } else if (units > limit) {
    out.push(`[first ${limit} of ${units} ${what}; narrow the pattern, include or path, or raise limit]`);
  }
  if (report.stopped === "deadline") {
    const stuck = report.stuckAt === undefined ? "" : ` in ${shown(report.stuckAt, target)}`;
    out.push(
      `[stopped after ${DEADLINE_MS / 1000} s${stuck}, so matches may be missing; simplify the pattern]`,
    );
  }
  return out;
}

function contentLines(files: readonly FoundFile[], { limit, skip, target }: View): string[] {
  const out: string[] = [];
  let left = limit;
  let before = skip;
  for (const file of files) {
    const path = shown(file.path, target);
    let previous: number | undefined;
    for (const line of file.lines) {
      const matched = line.column !== undefined;
      if (before > 0) {
        if (matched) before--;
        continue;
      }
      if (matched && left-- <= 0) return out;
      const withContext = file.lines.length > file.count;
      if (withContext && previous !== line.number - 1 && out.length > 0) out.push("--");
      out.push(`${path}${matched ? ":" : "-"}${line.number}${matched ? ":" : "-"}${excerpt(line)}`);
      previous = line.number;
    }
  }
  return out;
}

/** A long line around its match, with marks where it continues. */
function excerpt(line: FoundLine): string {
  const text = line.text.endsWith("\r") ? line.text.slice(0, -1) : line.text;
  if (text.length <= MAX_LINE) return text;
  const start = Math.max(0, Math.min((line.column ?? 0) - MAX_LINE / 4, text.length - MAX_LINE));
  const end = start + MAX_LINE;
  const tail = end < text.length ? `… [line of ${text.length} characters]` : "";
  return `${start > 0 ? "…" : ""}${text.slice(start, end).toWellFormed()}${tail}`;
}
