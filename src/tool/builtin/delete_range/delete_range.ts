import { commitText, writesDenied } from "../../file/commit.ts";
import { resolveWrite } from "../../file/target.ts";
import { loadText, requireSeen } from "../../file/text_file.ts";
import { eolStyle, type Line, splitLines, toLf } from "../../text/eol.ts";
import { failure, type ToolContext, type ToolResult } from "../../tool.ts";

/** First and last line to delete, 0-based. */
interface Range {
  readonly first: number;
  readonly last: number;
}

export async function deleteRange(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const denied = writesDenied(context);
  if (denied) return denied;
  const target = await resolveWrite(context, String(args.path));
  const before = await loadText(context, target);
  requireSeen(context, before);
  const lines = splitLines(before.text, eolStyle(before.text));
  const found = findRange(lines, String(args.start_anchor), String(args.end_anchor));
  if (typeof found === "string") return failure(`${target.shown}: ${found}`);
  const range = args.inclusive === false ? { first: found.first + 1, last: found.last - 1 } : found;
  const kept = lines.filter((_, index) => index < range.first || index > range.last);
  const note = range.last < range.first
    ? "there are no lines between the anchors"
    : `deleted lines ${range.first + 1}–${range.last + 1}`;
  const after = kept.map((line) => line.text + line.eol).join("");
  return await commitText(context, { ...before, target, before, after, note });
}

/**
 * The start anchor must be unique; the end anchor is the next place after it. A string says what is wrong.
 */
function findRange(lines: readonly Line[], start: string, end: string): Range | string {
  const starts = anchorLines(lines, start);
  const first = starts[0];
  if (first === undefined) return `start_anchor ${JSON.stringify(start)} was not found`;
  if (starts.length > 1) {
    const at = starts.slice(0, 20).map((range) => range.first + 1).join(", ");
    return `start_anchor occurs ${starts.length} times, at lines ${at}; use a longer one`;
  }
  const last = anchorLines(lines, end).find((range) => range.first >= first.first);
  return last
    ? { first: first.first, last: Math.max(first.last, last.last) }
    : `end_anchor ${JSON.stringify(end)} was not found at or below line ${first.first + 1}`;
}

/**
 * Tells where an anchor of one or more lines stands; the first of its lines may be the end of a line, the
 * last a beginning.
 */
function anchorLines(lines: readonly Line[], anchor: string): Range[] {
  const parts = toLf(anchor).replace(/\n$/, "").split("\n");
  const found: Range[] = [];
  if (parts.every((part) => part.trim() === "")) return found;
  for (let at = 0; at + parts.length <= lines.length; at++) {
    const text = lines.slice(at, at + parts.length).map((line) => line.text).join("\n");
    if (text.includes(parts.join("\n"))) found.push({ first: at, last: at + parts.length - 1 });
  }
  return found;
}
