import type { EventBodies } from "../core/event_schema.ts";
import type { EventOf, WrittenMessage } from "../core/mod.ts";
import { parseJson } from "../util/json.ts";
import { oneLine, terminalSafe } from "../util/terminal_text.ts";
import { diffLines, type DiffMarks } from "./diff.ts";
import type { Palette } from "./palette.ts";
import { type MeasureWidth, wrapText } from "./wrap.ts";

type TodoItem = EventBodies["todo.update"]["items"][number];

const MARKS = { pending: " ", in_progress: "~", completed: "x" } as const;

/** A todo as a line of a checklist: `[ ]` pending, `[~]` in progress, `[x]` completed. */
export function checklistLine({ status, content }: TodoItem): string {
  return `[${MARKS[status]}] ${content}`;
}

/** The last lines of a command's output, without the exit code, and the number of lines before them. */
export function outputTail(
  content: string,
  maxLines: number,
): { readonly lines: string[]; readonly before: number } {
  const lines = content.replace(/\n?\[exit code \d+\]\s*$/, "").trimEnd().split("\n");
  const all = lines.length === 1 && lines[0] === "" ? [] : lines;
  const kept = all.slice(-maxLines).map((line) => terminalSafe(line.replaceAll("\t", "  ")));
  return { lines: kept, before: all.length - kept.length };
}

/** The last nonblank lines as a terminal would show them: `\r` overwrites a line. */
export function liveTail(text: string, most: number): string[] {
  const lines = text.replace(/\r+\n/g, "\n").trimEnd().split("\n").slice(-most);
  return lines
    .map((line) => terminalSafe(line.slice(line.lastIndexOf("\r") + 1).replaceAll("\t", "  ")))
    .filter((line) => line.trim() !== "");
}

/** Gives a text of an event in the language of the user. */
interface WrittenTexts {
  readonly written: (said: readonly WrittenMessage[] | undefined, english: string) => string;
}

interface RetryTexts extends WrittenTexts {
  readonly attempt: (attempt: number, most: number, seconds: string) => string;
  readonly because: (attempt: string, reason: string) => string;
}

/** The line about a request that is sent again, without a reason that is `known`. */
export function retryText(
  { attempt, maxAttempts, waitMs, reason, said }: EventOf<"message.retry">,
  texts: RetryTexts,
  known?: string,
): string {
  const next = texts.attempt(attempt, maxAttempts, (waitMs / 1000).toFixed(1));
  return reason === known ? next : texts.because(next, texts.written(said, reason));
}

interface ActivityTexts {
  readonly thinking: (model: string) => string;
  readonly writing: (model: string) => string;
  readonly waitingFor: (model: string) => string;
  readonly waitingForYou: string;
  readonly compacting: string;
  readonly working: string;
  readonly verifying: string;
}

/** The activity of a running turn: the part of a reply that comes, or a state of the turn. */
export function activityText(what: string | undefined, model: string, texts: ActivityTexts): string {
  switch (what) {
    case "thinking":
    case "writing":
      return texts[what](model);
    case "compacting":
    case "verifying":
      return texts[what];
    case "running_tools":
      return texts.working;
    case "awaiting_approval":
    case "awaiting_answer":
      return texts.waitingForYou;
    default:
      return texts.waitingFor(model);
  }
}

interface PlanWords {
  readonly proposed: string;
  readonly saved: (file: string) => string;
  readonly approved: string;
  readonly approvedByFlag: string;
  readonly revised: (note: string) => string;
  readonly rejected: string;
  readonly finished: string;
}

export function planText({ state, file, note = "", by }: EventOf<"plan.change">, words: PlanWords): string {
  switch (state) {
    case "proposed":
      return file === undefined ? words.proposed : words.saved(file);
    case "approved":
      return by === "flag" ? words.approvedByFlag : words.approved;
    case "revised":
      return words.revised(note);
    default:
      return words[state];
  }
}

interface CallTexts extends WrittenTexts {
  readonly seconds: (seconds: string) => string;
  readonly skipped: (summary: string) => string;
  readonly blocked: (summary: string) => string;
  readonly notExecuted: string;
  readonly stopped: (summary: string) => string;
  readonly linesAbove: (count: number) => string;
  readonly moreLines: (count: number) => string;
}

/** The width of a terminal, and functions to measure and cut text. */
interface LineLayout {
  readonly columns: () => number;
  readonly fit: (text: string, columns: number) => string;
  readonly width: MeasureWidth;
}

/** Options for showing calls. */
export interface CallView {
  readonly palette: Palette;
  readonly texts: () => CallTexts;
  /** The terminal; absent for a file, which gets no diffs and no output. */
  readonly layout: LineLayout | undefined;
  readonly verbose: boolean;
  /** Marks within the lines of diffs; without them whole lines are colored. */
  readonly marks?: DiffMarks | undefined;
}

type Started = Pick<EventOf<"tool.start">, "call" | "summary" | "title" | "said">;

/** Maximum length of a reason, long enough for its remedy. */
const WHOLE = 1000;
const DIFF_LINES = 24;
const TAIL_LINES = 4;
const FAILED_TAIL_LINES = 20;
const SLOW_MS = 1000;

export function callTitle({ call, summary, title, said }: Started, texts: WrittenTexts): string {
  return oneLine(title === undefined ? `${call.name} ${summary}` : texts.written(said, title), WHOLE);
}

const KINDS = {
  execute: "bash shell exec execute run command terminal job jobs",
  think: "todo todowrite task think goal plan step update_goal read_only_task",
  switch_mode: "exit_plan_mode",
  delete: "delete remove forget drop",
  move: "move rename",
  edit: "edit write create update patch insert replace append save remember set add lsp_rename",
  fetch: "fetch http url web browse browser navigate download",
  search: "grep glob search find query list ls symbols references definition history",
  read: "read get view show hover memory resource open describe",
} as const;

/** The effect of a call, which front ends show by a sign. */
export type CallKind = keyof typeof KINDS | "other";

let kinds: ReadonlyMap<string, CallKind> | undefined;

/** The kind of a tool by its name, else by its first word that has one; the name of an MCP server aside. */
export function callKind(name: string): CallKind {
  kinds ??= new Map(
    Object.entries(KINDS).flatMap(([kind, words]) =>
      words.split(" ").map((word) => [word, kind as CallKind])
    ),
  );
  const own = name.replace(/^mcp__.+?__/, "").replace(/([a-z])([A-Z])/g, "$1_$2").toLowerCase();
  const words = [own, ...own.split(/[^a-z]+/)];
  return kinds.get(words.find((word) => kinds?.has(word)) ?? "") ?? "other";
}

const ABOUT = /"(command|path|file_path|pattern|query|url|description)"\s*:\s*("(?:[^"\\]|\\.)*")/;

/** The title of a call that the model is writing, by as many of its arguments as there are. */
export function earlyTitle(name: string, written: string): string {
  const [, field, text = '""'] = ABOUT.exec(written) ?? [];
  const about = String(parseJson(text) ?? "");
  const isCommand = field === "command" && callKind(name) === "execute";
  return oneLine(isCommand ? `$ ${about}` : `${name} ${about}`, WHOLE);
}

/** A finished call: one line with its result, then what it changed or the end of what it printed. */
export function callLines(title: string, end: EventOf<"tool.end">, view: CallView): string[] {
  const line = callLine(title, end, view.texts());
  return [...headlines(line, view), ...details(end, view).map((row) => `  ${row}`)];
}

/** Signs of the ends of calls. */
export const CALL_MARKS = { ok: "✓", error: "✗", blocked: "⊘", aborted: "✗", skipped: "–" } as const;

interface CallLine {
  readonly mark: typeof CALL_MARKS[keyof typeof CALL_MARKS];
  readonly title: string;
  /** The result in the language of the user; an empty text is none. */
  readonly result: string;
}

/** A finished call in a line, as data. */
export function callLine(title: string, end: EventOf<"tool.end">, texts: CallTexts): CallLine {
  const time = end.durationMs >= SLOW_MS ? texts.seconds((end.durationMs / 1000).toFixed(1)) : "";
  const summary = oneLine(texts.written(end.said, end.summary), end.outcome === "ok" ? undefined : WHOLE);
  const timed = (text: string) => [text, time].filter(Boolean).join(" · ");
  const results = {
    ok: timed(summary),
    error: timed(summary),
    blocked: timed(end.denied ? texts.notExecuted : texts.blocked(summary)),
    aborted: timed(texts.stopped(summary)),
    skipped: texts.skipped(summary),
  };
  return { mark: CALL_MARKS[end.outcome], title, result: results[end.outcome] };
}

/** Columns that a title keeps when its result is on the same line. */
const SHORTEST_TITLE = 30;

/** Puts a result behind its title where both fit, else below it; it is never cut. */
function headlines(line: CallLine, { palette: { good, dim, bad }, layout }: CallView): string[] {
  const { title, result } = line;
  const color = line.mark === "✓" || line.mark === "–" ? dim : bad;
  const mark = (line.mark === "✓" ? good : color)(line.mark);
  if (result === "") return [`${mark} ${layout ? layout.fit(title, layout.columns() - 2) : title}`];
  if (!layout) return [`${mark} ${title}${color(` · ${result}`)}`];
  const columns = layout.columns();
  const space = columns - layout.width(` · ${result}`) - 2;
  if (space >= Math.min(layout.width(title), SHORTEST_TITLE)) {
    return [`${mark} ${layout.fit(title, space)}${color(` · ${result}`)}`];
  }
  const below = wrapText(result, Math.max(10, columns - 2), layout.width);
  return [`${mark} ${layout.fit(title, columns - 2)}`, ...below.map((line) => `  ${color(line)}`)];
}

function details(end: EventOf<"tool.end">, view: CallView): string[] {
  const { palette, verbose, layout } = view;
  const detailed = layout !== undefined || verbose;
  const fit = (line: string) => layout ? layout.fit(line, Math.max(10, layout.columns() - 2)) : line;
  // The purpose of a dry run is to see its changes.
  const changes = (end.changes ?? []).filter((change) => detailed || change.written === false);
  const maxLines = verbose ? Infinity : Math.max(6, Math.floor(DIFF_LINES / Math.max(1, changes.length)));
  const diffs = changes.flatMap(({ diff }) =>
    diff === undefined
      ? []
      : diffLines(diff, { palette, maxLines, more: view.texts().moreLines, fit, marks: view.marks })
  );
  if (diffs.length > 0 || end.exitCode === undefined || !detailed) return diffs;
  const failed = end.outcome !== "ok" || end.exitCode !== 0;
  const most = verbose ? Infinity : failed ? FAILED_TAIL_LINES : TAIL_LINES;
  const { lines, before } = outputTail(end.content, most);
  const more = before > 0 ? [palette.dim(view.texts().linesAbove(before))] : [];
  return [...more, ...lines.map((line) => palette.dim(fit(line)))];
}
