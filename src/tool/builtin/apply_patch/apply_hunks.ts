import { type Hunk, leadingContext, oldLines, type PatchLine, trailingContext } from "./parse.ts";
import { closestMatch, omissionIn, omissionProblem } from "../../edit/closest_match.ts";
import {
  BLANK_RUNS,
  FileLines,
  type Normalization,
  unescapeOnce,
  UNICODE_TWINS,
} from "../../edit/normalize.ts";
import { adaptTo, blockMatches, type LineMatch, type Replaced } from "../../edit/line_blocks.ts";
import { rebuiltLines } from "../../edit/text_edit.ts";
import { type Eol, type EolStyle, eolStyle, type Line, splitLines } from "../../text/eol.ts";

type HunksOutcome = { readonly text: string; readonly notes: readonly string[] } | {
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

/** A diff program does not take a lone CR for a line end: in its hunks it is a character. */
function styleFor(text: string, hunks: readonly Hunk[]): EolStyle {
  const style = eolStyle(text);
  if (style.dominant !== "\r") return style;
  const carried = hunks.some((hunk) => hunk.lines.some((line) => line.text.includes("\r")));
  return carried ? { dominant: "\n", mixed: false, any: false } : style;
}

function textsOf(hunk: Hunk, kind: PatchLine["kind"]): string[] {
  return hunk.lines.filter((line) => line.kind === kind).map((line) => line.text);
}

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

/** New lines are taken byte for byte, as the old lines were found byte for byte. */
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

interface Misfit {
  readonly hunk: number;
  /** Continues "hunk 2 of 3 "; absent when its lines are not in the file. */
  readonly problem?: string;
}

const MAX_PLACES = 500_000;

/**
 * Places all hunks of a file together: they are placed if and only if there is exactly one way to place them
 * all in order, each by the strictest comparison that finds it at all. An anchor is somewhere above its
 * hunk, also above the hunk before. Where hunks fit in too many places to look at all ways, there is none.
 */
function placeHunks(file: PatchedFile, hunks: readonly Hunk[]): readonly Placement[] | Misfit {
  const search = new HunkSearch(file);
  const candidates: (readonly Placement[])[] = [];
  let [drift, all] = [0, 0];
  for (const [index, hunk] of hunks.entries()) {
    const found = search.candidates(hunk, drift);
    if (typeof found === "string") return { hunk: index, problem: found };
    const [only] = found;
    if (!only) return { hunk: index };
    const stated = statedLine(hunk);
    if (stated !== undefined && found.length === 1) drift = only.line - stated;
    all += found.length;
    if (all > MAX_PLACES) return { hunk: index, problem: several("fits in", found) };
    candidates.push(found);
  }
  return unique(candidates, apart) ?? unique(candidates, sharingContext) ?? outOfOrder(candidates);
}

type Order = (before: Placement, after: Placement) => boolean;

function apart(before: Placement, after: Placement): boolean {
  return after.line >= before.line + oldLines(before.hunk).length;
}

function sharingContext(before: Placement, after: Placement): boolean {
  const end = before.line + oldLines(before.hunk).length - trailingContext(before.hunk);
  return after.line >= before.line && after.line + leadingContext(after.hunk) >= end;
}

/** Returns the only way to place all hunks in order; a misfit for several, undefined for none. */
function unique(
  candidates: readonly (readonly Placement[])[],
  inOrder: Order,
): readonly Placement[] | Misfit | undefined {
  // For each hunk the places that do not exclude those after it: the lowest of these decides.
  const options: (readonly Placement[])[] = [];
  let after: Placement | undefined;
  for (const places of candidates.toReversed()) {
    const open = isAppended(places) ? places : places.filter((one) => !after || inOrder(one, after));
    if (open.length === 0) return undefined;
    options.unshift(open);
    if (!isAppended(places)) after = open.at(-1);
  }
  const chosen: Placement[] = [];
  let before: Placement | undefined;
  for (const [hunk, places] of options.entries()) {
    const open = isAppended(places) ? places : places.filter((one) => !before || inOrder(before, one));
    if (open.length > 1) return { hunk, problem: several("fits in", open) };
    chosen.push(...open);
    if (!isAppended(places)) before = open[0];
  }
  return chosen;
}

/** Lines appended at the end of the file belong there whatever comes after them in the patch. */
function isAppended([place, ...others]: readonly Placement[]): boolean {
  return place !== undefined && others.length === 0 && oldLines(place.hunk).length === 0 &&
    place.hunk.line === undefined && place.hunk.anchors.length === 0;
}

function outOfOrder(candidates: readonly (readonly Placement[])[]): Misfit {
  let first = 0;
  for (const [index, places] of candidates.entries()) {
    const last = places.at(-1);
    if (index > 0 && last && last.line < first) {
      return {
        hunk: index,
        problem: `is at line ${last.line + 1}, above the hunk before it (line ${first + 1}); ` +
          "give the hunks in the order of the file",
      };
    }
    for (const { line } of places) first = Math.max(first, line);
  }
  return {
    hunk: candidates.length - 1,
    problem: "overlaps the hunk before it; join the two, or give the hunks in the order of the file",
  };
}

interface Placement {
  /** The hunk as it fits, without blank lines that the file does not have. */
  readonly hunk: Hunk;
  readonly line: number;
  /** The lines that the hunk leaves there; absent where the old lines stand byte for byte. */
  readonly fitted?: readonly WrittenLine[];
  readonly note?: string;
}

/** 0-based index of the first old line as the header states it. */
function statedLine(hunk: Hunk): number | undefined {
  if (hunk.line === undefined) return undefined;
  return oldLines(hunk).length === 0 ? hunk.line : Math.max(0, hunk.line - 1);
}

/** Finds each hunk's places by the strictest comparison that finds any. */
class HunkSearch {
  readonly #patched: PatchedFile;
  readonly #file: FileLines;
  /** Line indexes by the trimmed text of the line: a patch can have thousands of anchors. */
  #trimmed: Map<string, number[]> | undefined;

  constructor(patched: PatchedFile) {
    this.#patched = patched;
    this.#file = new FileLines(patched.lines, patched.isAscii);
  }

  candidates(hunk: Hunk, drift: number): readonly Placement[] | string {
    const stated = statedLine(hunk);
    const expected = stated === undefined ? undefined : stated + drift;
    const anchors = this.#anchors(hunk);
    if (typeof anchors === "string") return anchors;
    if (oldLines(hunk).length === 0) return this.#insertion(hunk, expected, anchors);
    if (expected !== undefined && this.#fits(hunk, expected)) return [{ hunk, line: expected }];
    const found = this.#strictest(hunk);
    const below = anchors
      ? found.filter((place) => anchors.below <= place.line + leadingContext(place.hunk))
      : found;
    if (found.length > 0 && below.length === 0) {
      return `is above its anchor "@@ ${hunk.anchors.at(-1)}", at line ${(found[0]?.line ?? 0) + 1}`;
    }
    return preferred(hunk, below, { expected, end: this.#file.lines.length });
  }

  #strictest(hunk: Hunk): Placement[] {
    const exact = this.#exact(hunk);
    if (exact.length > 0 && !this.#patched.style.mixed) return exact;
    const trimmed = withoutOuterBlankLines(hunk);
    const bare = unescaped(hunk);
    const attempts: [Hunk | undefined, (Normalization | undefined)?, string?][] = [
      [hunk],
      [trimmed, undefined, "leaving out blank lines around it"],
      [hunk, UNICODE_TWINS],
      [trimmed, UNICODE_TWINS],
      [hunk, BLANK_RUNS],
      [trimmed, BLANK_RUNS],
      [bare, undefined, "taking away one level of escaping"],
    ];
    for (const [variant, normalization, note] of attempts) {
      const loose = variant ? this.#loose(variant, normalization, note) : [];
      // No one sees which line ends in CRLF: in a mixed file an exact match may be one of several equal
      // looking places.
      if (exact.length > 0 && loose.length <= exact.length) return exact;
      if (loose.length > 0) return loose;
    }
    return exact;
  }

  #exact(hunk: Hunk): Placement[] {
    const old = oldLines(hunk);
    const texts = old.map((line) => line.text.replace(/\r$/, ""));
    return this.#file.index("text").starts(texts).filter((line) => this.#fits(hunk, line)).map((line) => ({
      hunk,
      line,
    }));
  }

  #fits(hunk: Hunk, at: number): boolean {
    return oldLines(hunk).every((line, index) => isSame(this.#file.lines[at + index], line));
  }

  #loose(hunk: Hunk, normalization: Normalization | undefined, reason: string | undefined): Placement[] {
    const block = oldLines(hunk).map((line) => line.text.replace(/\r$/, ""));
    return blockMatches(this.#file, block, normalization).flatMap((match) => {
      const fitted = fitHunk(this.#patched, hunk, match);
      const why = [reason, match.note].filter((note) => note !== undefined).join(" and ");
      if (!fitted) return [];
      return [{ hunk, line: match.line, fitted, ...(why === "" ? {} : { note: `matched after ${why}` }) }];
    });
  }

  /** Locations for new lines alone: the stated line, below their anchor, or the end of the file. */
  #insertion(hunk: Hunk, expected: number | undefined, anchors: Anchors | undefined): Placement[] | string {
    const count = this.#file.lines.length;
    if (anchors) {
      const places = anchors.last.map((line) => ({ hunk, line: line + 1 }));
      return places.length === 1 ? places : several("has an anchor that is in", places);
    }
    const line = expected ?? count;
    return line < 0 || line > count
      ? `inserts at line ${line + 1}, but the file has ${count} lines`
      : [{ hunk, line }];
  }

  #anchors(hunk: Hunk): Anchors | string | undefined {
    let from = 0;
    let last: number[] = [];
    for (const anchor of hunk.anchors) {
      last = this.#anchorLines(anchor, from);
      const first = last[0];
      if (first === undefined) {
        return from === 0
          ? `has the anchor "@@ ${anchor}", which is not in the file`
          : `has the anchor "@@ ${anchor}", which is not below the one before it`;
      }
      from = first + 1;
    }
    return hunk.anchors.length === 0 ? undefined : { below: from, last };
  }

  /** Lines that match an anchor: equal, else containing it, else with normalized characters. */
  #anchorLines(anchor: string, from: number): number[] {
    const wanted = anchor.trim();
    const { lines } = this.#file;
    const exact = this.#byTrimmed(wanted).filter((index) => index >= from);
    if (exact.length > 0) return exact;
    const where = (test: (index: number) => boolean) => {
      const found: number[] = [];
      for (let index = from; index < lines.length; index++) if (test(index)) found.push(index);
      return found;
    };
    const holding = where((index) => lines[index]?.text.includes(wanted) ?? false);
    if (holding.length > 0) return holding;
    const keys = this.#file.index("bare", BLANK_RUNS).keys;
    const alike = new FileLines([{ text: wanted, eol: "" }]).index("bare", BLANK_RUNS).keys[0] ?? wanted;
    return where((index) => keys[index]?.includes(alike) ?? false);
  }

  #byTrimmed(text: string): readonly number[] {
    if (!this.#trimmed) {
      this.#trimmed = new Map();
      for (const [index, line] of this.#file.lines.entries()) {
        const key = line.text.trim();
        const known = this.#trimmed.get(key);
        if (known) known.push(index);
        else this.#trimmed.set(key, [index]);
      }
    }
    return this.#trimmed.get(text) ?? [];
  }
}

interface Anchors {
  readonly below: number;
  readonly last: readonly number[];
}

function isSame(line: Line | undefined, wanted: PatchLine): boolean {
  if (!line) return false;
  return wanted.newline
    ? line.eol !== "" && line.text + line.eol === `${wanted.text}\n`
    : line.eol === "" && line.text === wanted.text;
}

function preferred(
  hunk: Hunk,
  places: readonly Placement[],
  { expected, end }: { expected: number | undefined; end: number },
): readonly Placement[] {
  const last = hunk.atEnd
    ? places.find((place) => place.line + oldLines(place.hunk).length === end)
    : undefined;
  const one = last ?? places.find((place) => place.line === expected);
  if (one) return [one];
  const [first] = places;
  if (places.length !== 1 || !first || expected === undefined || first.note) return places;
  return [{ ...first, note: `was found at line ${first.line + 1} instead of ${expected + 1}` }];
}

function withoutOuterBlankLines(hunk: Hunk): Hunk | undefined {
  const isBlank = (line: PatchLine | undefined) => line?.kind === " " && line.text.trim() === "";
  let [start, end] = [0, hunk.lines.length];
  while (start < end && isBlank(hunk.lines[start])) start++;
  while (end > start && isBlank(hunk.lines[end - 1])) end--;
  return end - start === hunk.lines.length ? undefined : { ...hunk, lines: hunk.lines.slice(start, end) };
}

function unescaped(hunk: Hunk): Hunk | undefined {
  const lines = hunk.lines.map((line) => ({ ...line, text: unescapeOnce(line.text) }));
  const whole = lines.every((line) => !/[\n\r]/.test(line.text));
  return whole && lines.some((line, index) => line.text !== hunk.lines[index]?.text)
    ? { ...hunk, lines }
    : undefined;
}

function several(what: string, places: readonly Placement[]): string {
  const at = places.slice(0, 20).map((place) => place.line + 1).join(", ");
  return `${what} ${places.length} places, at lines ${at}; add context lines to make it unique`;
}

interface PatchedFile {
  readonly style: EolStyle;
  readonly lines: readonly Line[];
  /** No character of it has a typographic twin. */
  readonly isAscii: boolean;
}

interface WrittenLine {
  readonly text: string;
  readonly eol: string;
}

/**
 * The lines of a hunk whose old lines match a place in all but blanks or twins: context lines stay as the
 * file has them, new lines take on its line ends and indentation. Undefined where a new line cannot be
 * unindented as far as the others.
 */
function fitHunk(file: PatchedFile, hunk: Hunk, match: LineMatch): WrittenLine[] | undefined {
  const { lines, style } = file;
  const count = oldLines(hunk).length;
  const raw = lines.slice(match.line, match.line + count);
  const fallback: Eol = lines[match.line]?.eol || lines[match.line - 1]?.eol || style.dominant;
  const out: WrittenLine[] = [];
  let next = 0;
  for (const run of changeRuns(hunk, raw)) {
    const adapt = adaptTo(match, run.added, run.removed);
    if (!adapt) return undefined;
    const removed = raw.slice(next, next + run.removed.length);
    next += removed.length;
    out.push(...rebuiltLines({
      raw: removed,
      old: run.removed.map(({ old }) => ({ text: old, eol: "\n" })),
      fresh: run.added.map((text) => ({ text, eol: "\n" })),
      fallback: raw[next - 1]?.eol || raw[next]?.eol || fallback,
      adapt,
    }));
    if (run.context) out.push(run.context);
    if (run.context) next++;
  }
  const reachesEnd = match.line + count === lines.length;
  const open = reachesEnd && (raw.at(-1)?.eol === "" || hunk.lines.at(-1)?.newline === false);
  return out.map((line, index) => ({
    text: line.text,
    eol: index === out.length - 1 && open ? "" : line.eol || fallback,
  }));
}

interface ChangeRun {
  readonly removed: readonly Replaced[];
  readonly added: readonly string[];
  readonly context: Line | undefined;
}

function* changeRuns(hunk: Hunk, raw: readonly Line[]): Generator<ChangeRun> {
  let removed: Replaced[] = [];
  let added: string[] = [];
  let next = 0;
  for (const { kind, text: given } of hunk.lines) {
    const text = given.replace(/\r$/, "");
    if (kind === "+") {
      added.push(text);
      continue;
    }
    const line = raw[next++];
    if (kind === "-") removed.push({ old: text, raw: line?.text ?? "" });
    else {
      yield { removed, added, context: line };
      [removed, added] = [[], []];
    }
  }
  if (removed.length + added.length > 0) yield { removed, added, context: undefined };
}
