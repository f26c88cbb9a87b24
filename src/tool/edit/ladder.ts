import { type EolStyle, eolStyle, lineNumber, splitLines, toLf } from "../text/eol.ts";
import { blockMatches, type LineMatch } from "./blocks.ts";
import { nearestLines } from "./nearest.ts";
import { applySplices, localEol, rebuildLines, type Splice } from "./splice.ts";

/** One replacement, as the edit tools take it. */
export interface Edit {
  readonly oldString: string;
  readonly newString: string;
  readonly replaceAll: boolean;
}

/** The new text with the number of replacements, or why nothing was replaced. `note` says how the match was found. */
export type EditOutcome =
  | { readonly text: string; readonly count: number; readonly note: string | undefined }
  | { readonly problem: string };

/** Places of a match, and what to put there. */
interface Found {
  readonly splices: readonly Splice[];
  readonly note: string | undefined;
}

/**
 * Replaces `oldString` in a text, going down a ladder until a step matches: exactly, ignoring line ends and a byte order
 * mark, ignoring blanks at line ends, with one indentation shift for all lines. A step that matches more than once is
 * ambiguous and ends the search.
 *
 * Contract: characters outside the matched place are kept as they are, and so are lines inside it that the edit repeats.
 */
export function applyEdit(text: string, edit: Edit): EditOutcome {
  if (edit.oldString === "") {
    return text === ""
      ? { text: edit.newString, count: 1, note: undefined }
      : { problem: "old_string is empty; give the text to replace, or use write_file for the whole file" };
  }
  const style = eolStyle(text);
  for (const step of [exactly, ignoringLineEnds, ignoringBlanks]) {
    const found = step(text, edit, style);
    if (!found) continue;
    const { splices, note } = found;
    if (splices.length > 1 && !edit.replaceAll) return { problem: ambiguous(text, splices) };
    return { text: applySplices(text, splices), count: splices.length, note };
  }
  return { problem: nearestLines(text, edit, { style, names: { old: "old_string", fresh: "new_string" } }) };
}

function ambiguous(text: string, splices: readonly Splice[]): string {
  const lines = splices.slice(0, 20).map((splice) => lineNumber(text, splice.start));
  const more = splices.length > 20 ? `, … (${splices.length} in all)` : "";
  return `old_string occurs ${splices.length} times, at lines ${lines.join(", ")}${more}; ` +
    "add neighbouring lines to make it unique, or set replace_all";
}

function exactly(text: string, edit: Edit, style: EolStyle): Found | undefined {
  // Nobody sees which line ends in CRLF: in a mixed file an exact match may be one of several equal looking places.
  if (style.mixed && edit.oldString.includes("\n")) return undefined;
  const starts = occurrences(text, edit.oldString);
  if (starts.length === 0) return undefined;
  // In a file without CR, and for a replacement within a line, there is nothing to adapt.
  const plain = !text.includes("\r") || !edit.newString.includes("\n");
  const raw = splitLines(edit.oldString, style);
  const fresh = plain ? [] : splitLines(edit.newString, eolStyle(edit.newString));
  const splices = starts.map((start) => {
    const end = start + edit.oldString.length;
    const fallback = localEol(text, end, style);
    const put = plain
      ? edit.newString
      : rebuildLines({ raw, old: raw, fresh, fallback, keepCrlf: true, adapt: asIs });
    return { start, end, text: put };
  });
  return { splices, note: undefined };
}

function ignoringLineEnds(text: string, edit: Edit, style: EolStyle): Found | undefined {
  const wanted = unified(edit.oldString);
  const normal = style.dominant === "\r" ? text.replaceAll("\r", "\n") : toLf(text);
  if (wanted === "" || (normal === text && wanted === edit.oldString)) return undefined;
  const starts = occurrences(normal, wanted);
  if (starts.length === 0) return undefined;
  const position = normal.length === text.length ? asIs<number> : crlfPositions(text);
  const fresh = splitLines(unified(edit.newString), LF);
  const old = splitLines(wanted, LF);
  const splices = starts.map((at) => {
    const start = position(at);
    const end = position(at + wanted.length);
    const raw = splitLines(text.slice(start, end), style);
    const fallback = localEol(text, end, style);
    return { start, end, text: rebuildLines({ raw, old, fresh, fallback, keepCrlf: false, adapt: asIs }) };
  });
  // A model that writes LF for a CRLF file does the usual thing: nothing to report.
  return { splices, note: wanted === edit.oldString ? undefined : "matched after ignoring line ends" };
}

function ignoringBlanks(text: string, edit: Edit, style: EolStyle): Found | undefined {
  const lines = splitLines(text, style);
  const old = splitLines(unified(edit.oldString), LF);
  const fresh = splitLines(unified(edit.newString), LF);
  const matches = blockMatches(lines, old);
  if (matches.length === 0) return undefined;
  const offsets = lineOffsets(lines.map((line) => line.text.length + line.eol.length));
  const splices = matches.map((match) => {
    const raw = lines.slice(match.line, match.line + old.length);
    const start = offsets[match.line] ?? 0;
    let end = offsets[match.line + old.length] ?? text.length;
    const last = raw.pop();
    if (last) {
      // Without a line end in old_string, the one in the file lies outside the match.
      const open = old.at(-1)?.eol === "";
      if (open) end -= last.eol.length;
      raw.push(open ? { text: last.text, eol: "" } : last);
    }
    const fallback = localEol(text, end, style);
    return {
      start,
      end,
      text: rebuildLines({ raw, old, fresh, fallback, keepCrlf: false, adapt: match.adapt }),
    };
  });
  return { splices, note: noteOf(matches) };
}

function noteOf(matches: readonly LineMatch[]): string {
  return `matched after ${
    matches.find((match) => match.note !== undefined)?.note ?? "ignoring blanks at line ends"
  }`;
}

const LF: EolStyle = { dominant: "\n", mixed: false, any: true };

function unified(text: string): string {
  return toLf(text).replace(/^\ufeff/, "");
}

function asIs<T>(value: T): T {
  return value;
}

/** Start of every occurrence; occurrences do not overlap. */
function occurrences(text: string, wanted: string): number[] {
  const starts: number[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) starts.push(at);
  return starts;
}

/** Translates an index of the text with LF line ends into one of the text itself. */
function crlfPositions(text: string): (index: number) => number {
  const feeds: number[] = [];
  for (let at = text.indexOf("\r\n"); at >= 0; at = text.indexOf("\r\n", at + 2)) {
    feeds.push(at - feeds.length);
  }
  return (index) => {
    let low = 0;
    let high = feeds.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((feeds[middle] ?? 0) < index) low = middle + 1;
      else high = middle;
    }
    return index + low;
  };
}

function lineOffsets(lengths: readonly number[]): number[] {
  const offsets = [0];
  for (const length of lengths) offsets.push((offsets.at(-1) ?? 0) + length);
  return offsets;
}
