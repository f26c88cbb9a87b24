import type { PatchLine } from "./patch.ts";

export const HUNK_HEADER = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

export interface HunkBody {
  readonly lines: PatchLine[];
  /** Index of the first line after the hunk. */
  readonly next: number;
}

/** Reads exactly as many lines as the header promises; undefined when the lines are not there. */
export function readCounted(
  lines: readonly string[],
  at: number,
  counts: [number, number],
): HunkBody | undefined {
  let [old, fresh] = counts;
  const out: PatchLine[] = [];
  for (; old > 0 || fresh > 0; at++) {
    const line = lines[at];
    if (line === undefined) return undefined;
    const parsed = lineOf(line);
    if (!parsed) {
      if (!markNoNewline(out, line)) return undefined;
      continue;
    }
    if (parsed.kind !== "+") old--;
    if (parsed.kind !== "-") fresh--;
    if (old < 0 || fresh < 0) return undefined;
    out.push(parsed);
  }
  if (markNoNewline(out, lines[at] ?? "")) at++;
  return continues(lines, at) ? undefined : { lines: out, next: at };
}

/** Reads up to the next header, whatever the counts say: models count badly. */
export function readLoose(lines: readonly string[], at: number): HunkBody {
  const out: PatchLine[] = [];
  let solid = 0;
  let next = at;
  for (; at < lines.length && !isHeader(lines, at); at++) {
    const line = lines[at] ?? "";
    const parsed = lineOf(line);
    if (parsed) out.push(parsed);
    else if (!markNoNewline(out, line)) break;
    if (line === "") continue;
    // Empty lines count only when more of the hunk follows.
    solid = out.length;
    next = at + 1;
  }
  return { lines: out.slice(0, solid), next };
}

function lineOf(line: string): PatchLine | undefined {
  if (line === "" || line === "\r") return { kind: " ", text: line, newline: true };
  const kind = line[0];
  return kind === " " || kind === "+" || kind === "-"
    ? { kind, text: line.slice(1), newline: true }
    : undefined;
}

function markNoNewline(out: PatchLine[], line: string): boolean {
  if (!line.startsWith("\\ ")) return false;
  const last = out.pop();
  if (last) out.push({ ...last, newline: false });
  return true;
}

/**
 * Reports whether the line after a complete hunk still looks like a part of it, so that the counts are wrong.
 */
function continues(lines: readonly string[], at: number): boolean {
  const line = lines[at];
  // `-- ` is the signature at the end of a mailed patch.
  if (line === undefined || line === "-- " || isHeader(lines, at)) return false;
  return /^[ +-]/.test(line) && line.trim() !== "";
}

function isHeader(lines: readonly string[], at: number): boolean {
  const line = lines[at] ?? "";
  if (/^(@@|diff --git |Index: |\*\*\* (Add|Update|Delete|End) )/.test(line)) return true;
  return isFileHeader(lines, at);
}

/** `---` and `+++` lines followed by a hunk; a removed line can look like the first of them. */
export function isFileHeader(lines: readonly string[], at: number): boolean {
  return (lines[at] ?? "").startsWith("--- ") && (lines[at + 1] ?? "").startsWith("+++ ") &&
    /^(@@|$)/.test(lines[at + 2] ?? "");
}
