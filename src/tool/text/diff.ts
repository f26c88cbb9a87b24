/**
 * The one diff module: line diffs by the `diff` package, printed in the form `git apply` and our apply_patch
 * read.
 */
import { diffArrays } from "diff";

export interface DiffResult {
  /** Unified diff with `---` and `+++` headers; empty when the texts are equal. */
  readonly diff: string;
  readonly added: number;
  readonly removed: number;
}

export interface DiffOptions {
  /** Names for the headers; undefined means /dev/null. */
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly context?: number;
  /** The diff is cut after the last hunk line that fits, with a marker. */
  readonly maxBytes?: number;
}

const MAX_EDITS = 4000;

/** A run of lines: taken from both sides, or removed, or added. */
interface Run {
  readonly kind: " " | "-" | "+";
  readonly lines: readonly string[];
}

export function unifiedDiff(before: string, after: string, options: DiffOptions): DiffResult {
  if (before === after) return { diff: "", added: 0, removed: 0 };
  const context = options.context ?? 3;
  const { head, tail } = sharedEnds(before, after);
  const rest = before.length - tail;
  const runs = lineRuns(linesOf(before.slice(head, rest)), linesOf(after.slice(head, after.length - tail)));
  const lead = linesOf(before.slice(linesBack(before, head, context), head));
  const trail = linesOf(before.slice(rest, linesOn(before, rest, context)));
  const skipped = countLines(before, head) - lead.length;
  const body = hunks([{ kind: " ", lines: lead }, ...runs, { kind: " ", lines: trail }], skipped, context);
  const count = (kind: Run["kind"]) =>
    runs.reduce((sum, run) => sum + (run.kind === kind ? run.lines.length : 0), 0);
  const header = `--- ${side("a", options.from)}\n+++ ${side("b", options.to)}\n`;
  return { diff: header + bounded(body, options.maxBytes), added: count("+"), removed: count("-") };
}

/** Lengths of the equal beginning and end, in whole lines. */
function sharedEnds(a: string, b: string): { readonly head: number; readonly tail: number } {
  const limit = Math.min(a.length, b.length);
  let head = 0;
  while (head < limit && a.charCodeAt(head) === b.charCodeAt(head)) head++;
  head = head === 0 ? 0 : a.lastIndexOf("\n", head - 1) + 1;
  let tail = 0;
  while (tail < limit - head && a.charCodeAt(a.length - 1 - tail) === b.charCodeAt(b.length - 1 - tail)) {
    tail++;
  }
  const isLineStart = (text: string, at: number) => at === head || text.charCodeAt(at - 1) === 10;
  if (isLineStart(a, a.length - tail) && isLineStart(b, b.length - tail)) return { head, tail };
  const next = a.indexOf("\n", a.length - tail);
  return { head, tail: next < 0 ? 0 : a.length - next - 1 };
}

function linesBack(text: string, at: number, count: number): number {
  for (; count > 0 && at > 0; count--) at = at < 2 ? 0 : text.lastIndexOf("\n", at - 2) + 1;
  return at;
}

function linesOn(text: string, at: number, count: number): number {
  for (; count > 0 && at < text.length; count--) {
    const end = text.indexOf("\n", at);
    at = end < 0 ? text.length : end + 1;
  }
  return at;
}

function countLines(text: string, end: number): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0 && at < end; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

/** Matches two lists of lines: equal runs, removals and additions, in order. */
export function lineRuns(a: readonly string[], b: readonly string[]): Run[] {
  if (a.length === 0 || b.length === 0) return replaced(a, b);
  const changes = diffArrays([...a], [...b], { maxEditLength: MAX_EDITS, timeout: 500 });
  if (!changes) return replaced(a, b);
  return changes.map((change) => ({
    kind: change.added ? "+" : change.removed ? "-" : " ",
    lines: change.value,
  }));
}

function replaced(a: readonly string[], b: readonly string[]): Run[] {
  const runs: Run[] = [{ kind: "-", lines: a }, { kind: "+", lines: b }];
  return runs.filter((run) => run.lines.length > 0);
}

function side(prefix: "a" | "b", name: string | undefined): string {
  if (name === undefined) return "/dev/null";
  return `${prefix}/${name.replace(/^\/+/, "")}${/\s/.test(name) ? "\t" : ""}`;
}

function linesOf(text: string): string[] {
  const lines = text.split("\n").map((line) => `${line}\n`);
  const last = lines.pop()?.slice(0, -1);
  if (last) lines.push(last);
  return lines;
}

interface Hunk {
  readonly oldStart: number;
  readonly newStart: number;
  oldCount: number;
  newCount: number;
  readonly lines: string[];
}

/** Prints hunks, each as one string. `skipped` counts the equal lines before the first run. */
function hunks(runs: readonly Run[], skipped: number, context: number): string[] {
  const out: string[] = [];
  let oldLine = skipped;
  let newLine = skipped;
  let hunk: Hunk | undefined;
  const open = (lead: readonly string[]): Hunk => {
    const made: Hunk = {
      oldStart: oldLine - lead.length,
      newStart: newLine - lead.length,
      oldCount: 0,
      newCount: 0,
      lines: [],
    };
    lead.forEach((line) => add(made, " ", line));
    return made;
  };
  for (const [index, run] of runs.entries()) {
    if (run.kind !== " ") {
      hunk ??= open([]);
      for (const line of run.lines) add(hunk, run.kind, line);
    }
    if (run.kind !== "+") oldLine += run.lines.length;
    if (run.kind !== "-") newLine += run.lines.length;
    if (run.kind !== " ") continue;
    const last = index === runs.length - 1;
    if (hunk && !last && run.lines.length <= context * 2) {
      for (const line of run.lines) add(hunk, " ", line);
      continue;
    }
    if (hunk) {
      for (const line of run.lines.slice(0, context)) add(hunk, " ", line);
      out.push(print(hunk));
      hunk = undefined;
    }
    if (!last) hunk = open(context === 0 ? [] : run.lines.slice(-context));
  }
  return out;
}

function add(hunk: Hunk, kind: Run["kind"], line: string): void {
  if (kind !== "+") hunk.oldCount++;
  if (kind !== "-") hunk.newCount++;
  hunk.lines.push(line.endsWith("\n") ? `${kind}${line}` : `${kind}${line}\n\\ No newline at end of file\n`);
}

function print(hunk: Hunk): string {
  const range = (start: number, count: number) =>
    `${count === 0 ? start : start + 1}${count === 1 ? "" : `,${count}`}`;
  const head = `@@ -${range(hunk.oldStart, hunk.oldCount)} +${range(hunk.newStart, hunk.newCount)} @@\n`;
  return head + hunk.lines.join("");
}

function bounded(hunksText: readonly string[], maxBytes = Infinity): string {
  const whole = hunksText.join("");
  if (whole.length <= maxBytes) return whole;
  const kept: string[] = [];
  let size = 0;
  for (const line of whole.split(/(?<=\n)/)) {
    size += line.length;
    if (size > maxBytes) break;
    kept.push(line);
  }
  return `${kept.join("")}[diff cut: ${
    whole.length - kept.join("").length
  } of ${whole.length} characters left out]\n`;
}
