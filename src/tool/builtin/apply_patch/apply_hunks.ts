import { closestMatch } from "../../edit/closest_match.ts";
import { omissionIn, omissionProblem } from "../../edit/omission.ts";
import { type EolStyle, eolStyle, splitLines } from "../../text/eol.ts";
import type { PatchedFile, WrittenLine } from "./fit_hunk.ts";
import { type Hunk, oldLines, type PatchLine } from "./patch.ts";
import type { Placement } from "./hunk_search.ts";
import { placeHunks } from "./place_hunks.ts";

/** The patched text and where hunks were found elsewhere than stated, or why a hunk does not fit. */
export type HunksOutcome = { readonly text: string; readonly notes: readonly string[] } | {
  readonly problem: string;
};

// deno-lint-ignore no-control-regex
const ASCII = /^[\x00-\x7f]*$/;

/**
 * Applies the hunks of one file. Nothing is guessed: more than one way to place them is an error. A byte
 * order mark in the text or the hunks is a character like any other.
 */
export function applyHunks(text: string, hunks: readonly Hunk[]): HunksOutcome {
  const label = (index: number) => hunks.length > 1 ? `hunk ${index + 1} of ${hunks.length}` : "the hunk";
  for (const [index, hunk] of hunks.entries()) {
    const placeholder = omissionIn(textsOf(hunk, "+"), oldLines(hunk).map((line) => line.text));
    if (placeholder !== undefined && oldLines(hunk).length > 0) {
      return { problem: omissionProblem(placeholder, label(index)) };
    }
  }
  const style = styleFor(text, hunks);
  const file: PatchedFile = { style, lines: splitLines(text, style), isAscii: ASCII.test(text) };
  const placed = placeHunks(file, hunks);
  if ("hunk" in placed) {
    return {
      problem: `${label(placed.hunk)} ${placed.problem ?? notFound(text, file, hunks[placed.hunk])}`,
    };
  }
  const notes = placed.flatMap(({ note }, index) => note === undefined ? [] : [`${label(index)} ${note}`]);
  return { text: rewritten(text, file, placed), notes };
}

/** A diff program knows no lone CR as a line end: when its hunks carry one, it is a character. */
function styleFor(text: string, hunks: readonly Hunk[]): EolStyle {
  const style = eolStyle(text);
  if (style.dominant !== "\r") return style;
  const carried = hunks.some((hunk) => hunk.lines.some((line) => line.text.includes("\r")));
  return carried ? { dominant: "\n", mixed: false, any: false } : style;
}

function textsOf(hunk: Hunk, kind: PatchLine["kind"]): string[] {
  return hunk.lines.filter((line) => line.kind === kind).map((line) => line.text);
}

/** The whole file with all hunks in place. */
function rewritten(text: string, file: PatchedFile, placements: readonly Placement[]): string {
  const { lines, style } = file;
  const out: string[] = [];
  let cursor = 0;
  let at = 0;
  const advance = (to: number) => {
    const from = at;
    for (; cursor < to; cursor++) at += (lines[cursor]?.text.length ?? 0) + (lines[cursor]?.eol.length ?? 0);
    return text.slice(from, at);
  };
  for (const placement of [...placements].sort((a, b) => a.line - b.line)) {
    const shared = Math.max(0, cursor - placement.line);
    const kept = advance(placement.line);
    if (kept !== "") out.push(kept);
    // Context that the hunk before has in common with this one is there already.
    const put = (placement.fitted ?? verbatim(file, placement)).slice(shared);
    const open = out.length > 0 && !/[\r\n]$/.test(out.at(-1) ?? "");
    // The last line of a file may have no newline; it gets one when more comes behind it.
    if (put.length > 0 && open) out.push(style.dominant);
    for (const line of put) if (line.text + line.eol !== "") out.push(line.text + line.eol);
    advance(placement.line + oldLines(placement.hunk).length);
  }
  return out.join("") + advance(lines.length);
}

/** Old lines are there byte for byte, so new lines are taken byte for byte too. */
function verbatim({ lines, style }: PatchedFile, { hunk, line: at }: Placement): WrittenLine[] {
  const inserts = oldLines(hunk).length === 0;
  // A pure insertion shows no line end of the file; its LF means whatever the file uses.
  const bare = inserts && style.any && !style.mixed && style.dominant === "\r\n" &&
    !hunk.lines.some((line) => line.text.endsWith("\r"));
  const eol = bare ? style.dominant : "\n";
  const out = hunk.lines.filter((line) => line.kind !== "-").map(({ text, newline }) => ({
    text,
    eol: newline ? eol : "",
  }));
  const last = out.at(-1);
  // Appended behind a last line without a newline: then the new last line has none either.
  if (inserts && last && at > 0 && lines[at - 1]?.eol === "") {
    return [...out.slice(0, -1), { text: last.text.replace(/\r$/, ""), eol: "" }];
  }
  return out;
}

function notFound(text: string, { style, lines }: PatchedFile, hunk: Hunk | undefined): string {
  const join = (lines: readonly PatchLine[]) => lines.map((line) => `${line.text}\n`).join("");
  const oldString = join(hunk ? oldLines(hunk) : []);
  const newString = join(hunk?.lines.filter((line) => line.kind !== "-") ?? []);
  const names = { old: "its old text", fresh: "its new text" };
  return `does not fit: ${closestMatch(text, { oldString, newString }, { style, lines, names })}`;
}
