import { blockMatches } from "../../edit/blocks.ts";
import { nearestLines } from "../../edit/nearest.ts";
import { type Eol, type EolStyle, eolStyle, type Line, splitLines } from "../../text/eol.ts";
import type { Hunk, PatchLine } from "./patch.ts";

/** The patched text and where hunks were found elsewhere than stated, or why a hunk does not fit. */
export type HunksOutcome = { readonly text: string; readonly notes: readonly string[] } | {
  readonly problem: string;
};

/** A place for a hunk. Without `adapt` the old lines stand there byte for byte. */
interface Place {
  readonly line: number;
  readonly adapt?: (text: string) => string;
  readonly note?: string;
}

/**
 * Applies the hunks of one file in order. Each is tried at its stated line first, then wherever its old lines stand exactly
 * once, then the same ignoring line ends, trailing blanks and one indentation shift. Nothing is guessed: more than one
 * place is an error.
 */
export function applyHunks(text: string, hunks: readonly Hunk[]): HunksOutcome {
  const style = styleFor(text, hunks);
  const lines = splitLines(text, style);
  const out: string[] = [];
  const notes: string[] = [];
  let cursor = 0;
  let drift = 0;
  for (const [index, hunk] of hunks.entries()) {
    const label = hunks.length > 1 ? `hunk ${index + 1} of ${hunks.length}` : "the hunk";
    const stated = statedLine(hunk);
    const place = findPlace({
      text,
      style,
      lines,
      hunk,
      cursor,
      expected: stated === undefined ? undefined : stated + drift,
    });
    if (typeof place === "string") return { problem: `${label} ${place}` };
    if (stated !== undefined) drift = place.line - stated;
    if (place.note) notes.push(`${label} ${place.note}`);
    const count = oldLines(hunk).length;
    for (const line of lines.slice(cursor, place.line)) out.push(line.text, line.eol);
    const raw = lines.slice(place.line, place.line + count);
    const reachesEnd = place.line + count === lines.length;
    out.push(
      ...(place.adapt
        ? fitted(hunk, raw, { adapt: place.adapt, reachesEnd, eol: eolNear(lines, place.line, style) })
        : verbatim(hunk, lines, place.line, style)),
    );
    cursor = place.line + count;
  }
  for (const line of lines.slice(cursor)) out.push(line.text, line.eol);
  return { text: out.join(""), notes };
}

/** A diff program knows no lone CR as a line end: when its hunks carry one, it is a character. */
function styleFor(text: string, hunks: readonly Hunk[]): EolStyle {
  const style = eolStyle(text);
  if (style.dominant !== "\r") return style;
  const carried = hunks.some((hunk) => hunk.lines.some((line) => line.text.includes("\r")));
  return carried ? { dominant: "\n", mixed: false, any: false } : style;
}

/** 0-based index of the first old line as the header states it. */
function statedLine(hunk: Hunk): number | undefined {
  if (hunk.line === undefined) return undefined;
  return oldLines(hunk).length === 0 ? hunk.line : Math.max(0, hunk.line - 1);
}

function oldLines(hunk: Hunk): PatchLine[] {
  return hunk.lines.filter((line) => line.kind !== "+");
}

interface Search {
  readonly text: string;
  readonly style: EolStyle;
  readonly lines: readonly Line[];
  readonly hunk: Hunk;
  /** First line that earlier hunks left. */
  readonly cursor: number;
  readonly expected: number | undefined;
}

/** A string says why there is no place. */
function findPlace(search: Search): Place | string {
  const { hunk, lines, expected, cursor } = search;
  const old = oldLines(hunk);
  const start = anchored(search);
  if (typeof start === "string") return start;
  if (old.length === 0) {
    const line = hunk.anchors.length > 0 ? start + 1 : expected ?? lines.length;
    if (line < cursor || line > lines.length) {
      return `inserts at line ${line + 1}, but the file has ${lines.length} lines`;
    }
    return { line };
  }
  const fits = (at: number) => old.every((line, index) => isSame(lines[at + index], line));
  if (expected !== undefined && expected >= cursor && fits(expected)) return { line: expected };
  const exact: Place[] = [];
  for (let at = start; at + old.length <= lines.length; at++) if (fits(at)) exact.push({ line: at });
  if (exact.length > 0 && !search.style.mixed) return choose(search, exact) ?? notFound(search, old);
  const block = old.map((line): Line => ({ text: line.text.replace(/\r$/, ""), eol: "\n" }));
  const loose = blockMatches(lines.slice(start), block).map((match): Place => ({
    line: match.line + start,
    adapt: match.adapt,
    ...(match.note ? { note: `matched after ${match.note}` } : {}),
  }));
  // Nobody sees which line ends in CRLF: in a mixed file an exact match may be one of several equal looking places.
  const blind = exact.length > 0 && loose.length <= exact.length;
  return choose(search, blind ? exact : loose) ?? notFound(search, old);
}

/** The only candidate, the one at the stated line, the first below an anchor, or the one at the end of the file. */
function choose(search: Search, places: readonly Place[]): Place | string | undefined {
  const { hunk, lines, expected } = search;
  const first = places[0];
  if (!first) return undefined;
  const count = oldLines(hunk).length;
  if (hunk.atEnd) {
    const last = places.find((place) => place.line + count === lines.length);
    if (last) return last;
  }
  const stated = places.find((place) => place.line === expected);
  if (stated) return stated;
  if (places.length === 1 || hunk.anchors.length > 0) {
    const note = `was found at line ${first.line + 1} instead of ${(expected ?? 0) + 1}`;
    return expected === undefined || first.note ? first : { ...first, note };
  }
  const at = places.slice(0, 20).map((place) => place.line + 1).join(", ");
  return `fits in ${places.length} places, at lines ${at}; add context lines to make it unique`;
}

/** Index of the line from which to search: that of the last anchor. */
function anchored(search: Search): number | string {
  let at = search.cursor;
  for (const anchor of search.hunk.anchors) {
    const wanted = anchor.trim();
    const from = (test: (text: string) => boolean) =>
      search.lines.findIndex((line, index) => index >= at && test(line.text.trim()));
    const exact = from((text) => text === wanted);
    const found = exact >= 0 ? exact : from((text) => text.includes(wanted));
    if (found < 0) return `has the anchor "@@ ${anchor}", which is not in the rest of the file`;
    at = found;
  }
  return at;
}

function isSame(line: Line | undefined, wanted: PatchLine): boolean {
  if (!line) return false;
  return wanted.newline
    ? line.eol !== "" && line.text + line.eol === `${wanted.text}\n`
    : line.eol === "" && line.text === wanted.text;
}

/** Old lines are there byte for byte, so new lines are taken byte for byte too. */
function verbatim(hunk: Hunk, lines: readonly Line[], at: number, style: EolStyle): string[] {
  // A pure insertion shows no line end of the file; its LF means whatever the file uses.
  const blind = oldLines(hunk).length === 0 && style.any && !style.mixed && style.dominant === "\r\n";
  const bare = blind && !hunk.lines.some((line) => line.text.endsWith("\r"));
  const eol = bare ? style.dominant : "\n";
  const out = hunk.lines.filter((line) => line.kind !== "-").map((line) =>
    line.text + (line.newline ? eol : "")
  );
  // Appended to a file whose last line has no newline: it gets one, and the new last line has none.
  if (oldLines(hunk).length === 0 && at > 0 && lines[at - 1]?.eol === "") {
    return [style.dominant, ...out.slice(0, -1), (out.at(-1) ?? "").replace(/\r?\n$/, "")];
  }
  return out;
}

interface Fit {
  readonly adapt: (text: string) => string;
  /** The old lines include the last one of the file. */
  readonly reachesEnd: boolean;
  readonly eol: Eol;
}

/** Context lines stay as the file has them, new lines take on its line ends and indentation. */
function fitted(hunk: Hunk, raw: readonly Line[], fit: Fit): string[] {
  const out: Line[] = [];
  let at = 0;
  for (const line of hunk.lines) {
    if (line.kind === "+") {
      out.push({
        text: fit.adapt(line.text.replace(/\r$/, "")),
        eol: raw[at - 1]?.eol || raw[at]?.eol || fit.eol,
      });
      continue;
    }
    const kept = raw[at++];
    if (line.kind === " " && kept) out.push(kept);
  }
  const open = fit.reachesEnd && (raw.at(-1)?.eol === "" || hunk.lines.at(-1)?.newline === false);
  return out.map((line, index) => {
    const last = index === out.length - 1;
    return line.text + (last && open ? "" : line.eol || fit.eol);
  });
}

function eolNear(lines: readonly Line[], at: number, style: EolStyle): Eol {
  return lines[at]?.eol || lines[at - 1]?.eol || style.dominant;
}

function notFound(search: Search, old: readonly PatchLine[]): string {
  const join = (lines: readonly PatchLine[]) => lines.map((line) => `${line.text}\n`).join("");
  const oldString = join(old);
  const newString = join(search.hunk.lines.filter((line) => line.kind !== "-"));
  const names = { old: "its old text", fresh: "its new text" };
  return `does not fit: ${
    nearestLines(search.text, { oldString, newString }, { style: search.style, names })
  }`;
}
