import { closestMatch, omissionIn, omissionProblem } from "./closest_match.ts";
import {
  BLANK_RUNS,
  crlfPositions,
  type FileLines,
  indentOf,
  type Normalization,
  NormalizedLine,
  normalizeLine,
  occurrences,
  partsOfLine,
  Source,
  trimEnd,
  unescapeOnce,
  UNICODE_TWINS,
} from "./normalize.ts";
import { type Adapt, adaptTo, blockMatches, type LineMatch, shiftBetween } from "./line_blocks.ts";
import { applyTextEdits, localEol, rebuildLines, type TextEdit } from "./text_edit.ts";
import { type EolStyle, eolStyle, type Line, lineNumber, splitLines, toLf } from "../text/eol.ts";

/** `note` describes how the match was found. */
type EditOutcome =
  | { readonly text: string; readonly count: number; readonly note: string | undefined }
  | { readonly problem: string };

type Strategy = (source: Source, edit: Edit) => Found | Refusal | undefined;

const STRICT: readonly Strategy[] = [exactly, ignoringLineEnds, ignoringBlanks];

/**
 * Replaces `oldString` in a text, going down a cascade of strategies until one matches: exactly, ignoring
 * line ends and a byte order mark, ignoring blanks at line ends, with one indentation shift for all lines;
 * then, and only for a single place, without blanks around it, with typographic twins, with other runs of
 * blanks, and with one level of escaping taken away. A strategy that matches more than once is ambiguous and
 * ends the search.
 *
 * Contract: characters outside the matched place are kept as they are, and so are lines inside it that the
 * edit repeats.
 */
export function applyEdit(text: string, edit: Edit): EditOutcome {
  if (edit.oldString === "") {
    return text === ""
      ? { text: edit.newString, count: 1, note: undefined }
      : { problem: "old_string is empty; give the text to replace, or use write_file for the whole file" };
  }
  const placeholder = omissionIn(edit.newString.split(/\r?\n/), edit.oldString.split(/\r?\n/));
  if (placeholder !== undefined) return { problem: omissionProblem(placeholder, "new_string") };
  const source = new Source(text);
  for (const { variant, strategy, note, strict } of attempts(edit)) {
    const found = strategy(source, variant);
    if (!found) continue;
    if ("problem" in found) return found;
    const mayRepeat = edit.replaceAll && strict === true;
    if (found.edits.length > 1 && !mayRepeat) {
      return { problem: ambiguous(text, found.edits, strict === true) };
    }
    const edits = mayRepeat ? apart(found.edits) : found.edits;
    const notes = [note, found.note].filter((part) => part !== undefined);
    return {
      text: applyTextEdits(text, edits),
      count: edits.length,
      note: notes.length === 0
        ? undefined
        : `matched after ${notes.join(" and ")}${written(source, edits, found)}`,
    };
  }
  return {
    problem: closestMatch(text, edit, {
      style: source.style,
      names: { old: "old_string", fresh: "new_string" },
    }),
  };
}

interface Attempt {
  readonly variant: Edit;
  readonly strategy: Strategy;
  readonly note?: string;
  /** The match is certain, so that `replaceAll` applies. */
  readonly strict?: true;
}

function* attempts(edit: Edit): Generator<Attempt> {
  for (const strategy of STRICT) yield { variant: edit, strategy, strict: true };
  const inner = withoutOuterBlanks(edit);
  if (inner) {
    for (const strategy of STRICT) {
      yield { variant: inner, strategy, note: "ignoring blanks around the text" };
    }
  }
  for (const normalization of [UNICODE_TWINS, BLANK_RUNS]) {
    yield { variant: edit, strategy: normalizing(normalization) };
    if (inner) yield { variant: inner, strategy: normalizing(normalization) };
  }
  const variant = {
    ...edit,
    oldString: unescapeOnce(edit.oldString),
    newString: unescapeOnce(edit.newString),
  };
  if (variant.oldString === edit.oldString) return;
  for (const strategy of STRICT) {
    yield { variant, strategy: reshaping(strategy), note: "taking away one level of escaping" };
  }
}

function reshaping(strategy: Strategy): Strategy {
  return (source, edit) => {
    const found = strategy(source, edit);
    return found && "edits" in found ? { ...found, reshaped: true } : found;
  };
}

/**
 * The edit without blank lines, or blanks, before and behind its text; those of the new text go with them, at
 * most as many. The last line keeps its line end unless the new text has none: no line of the file is joined
 * to another one.
 */
function withoutOuterBlanks(edit: Edit): Edit | undefined {
  const lines = (text: string) => text.split(/(?<=\n)/);
  const [old, fresh] = [lines(edit.oldString), lines(edit.newString)];
  const before = blankLines(old);
  const after = blankLines(old.slice(before).reverse());
  fresh.splice(0, blankLines(fresh, before));
  fresh.length -= blankLines(fresh.toReversed(), after);
  let oldString = old.slice(before, old.length - after).join("");
  let newString = fresh.join("");
  if (newString !== "" && !newString.endsWith("\n")) oldString = oldString.replace(/\r?\n$/, "");
  if (!oldString.includes("\n")) {
    const { lead, body, tail } = partsOfLine(oldString);
    oldString = body;
    if (newString.startsWith(lead)) newString = newString.slice(lead.length);
    if (newString.endsWith(tail)) newString = newString.slice(0, newString.length - tail.length);
  }
  return oldString === "" || oldString === edit.oldString ? undefined : { ...edit, oldString, newString };
}

function blankLines(lines: readonly string[], most = lines.length): number {
  const text = lines.findIndex((line) => !line.endsWith("\n") || line.trim() !== "");
  return Math.min(text < 0 ? lines.length : text, most);
}

function ambiguous(text: string, edits: readonly TextEdit[], mayRepeat: boolean): string {
  const lines = edits.slice(0, 20).map((edit) => lineNumber(text, edit.start));
  const more = edits.length > 20 ? `, … (${edits.length} in all)` : "";
  return `old_string occurs ${edits.length} times, at lines ${lines.join(", ")}${more}; ` +
    `add neighbouring lines to make it unique${mayRepeat ? ", or set replace_all" : ""}`;
}

function apart(edits: readonly TextEdit[]): TextEdit[] {
  const kept: TextEdit[] = [];
  for (const edit of edits) if (edit.start >= (kept.at(-1)?.end ?? 0)) kept.push(edit);
  return kept;
}

const SHOWN_LINES = 12;

function written(source: Source, edits: readonly TextEdit[], found: Found): string {
  const [edit] = edits;
  if (!found.reshaped || !edit || edit.text === "") return "";
  const start = source.text.lastIndexOf("\n", edit.start - 1) + 1;
  const first = lineNumber(source.text, edit.start);
  const lines = (source.text.slice(start, edit.start) + edit.text).split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  const shown = lines.slice(0, SHOWN_LINES).map((line, index) =>
    `${String(first + index).padStart(6)}→${line}`
  );
  if (lines.length > SHOWN_LINES) shown.push(`       … ${lines.length - SHOWN_LINES} more`);
  return `; written as:\n${shown.join("\n")}`;
}

function exactly({ text, style }: Source, edit: Edit): Found | Refusal | undefined {
  // No one sees which line ends in CRLF: in a mixed file an exact match may be one of several equal looking
  // places.
  if (style.mixed && edit.oldString.includes("\n")) return undefined;
  const places = occurrences(text, edit.oldString).map((start) => ({
    start,
    end: start + edit.oldString.length,
  }));
  const old = splitLines(edit.oldString, style);
  // Within a line there is no line end to adapt.
  const plain = !edit.newString.includes("\n") && style.dominant !== "\r";
  return eachSpan(text, edit, places, ({ end }, newString) => {
    if (plain) return newString;
    const fresh = splitLines(newString, eolStyle(newString));
    return rebuildLines({ raw: old, old, fresh, fallback: localEol(text, end, style), adapt: asIs });
  });
}

function ignoringLineEnds({ text, style }: Source, edit: Edit): Found | Refusal | undefined {
  const wanted = unified(edit.oldString);
  const normal = style.dominant === "\r" ? text.replaceAll("\r", "\n") : toLf(text);
  if (wanted === "" || (normal === text && wanted === edit.oldString)) return undefined;
  const position = normal.length === text.length ? (index: number) => index : crlfPositions(text);
  const places = occurrences(normal, wanted).map((at) => ({
    start: position(at),
    end: position(at + wanted.length),
  }));
  const old = splitLines(wanted, LF);
  const found = eachSpan(text, edit, places, ({ start, end }, newString) => {
    const raw = splitLines(text.slice(start, end), style);
    const fresh = splitLines(unified(newString), LF);
    return rebuildLines({ raw, old, fresh, fallback: localEol(text, end, style), adapt: asIs });
  });
  // A model that writes LF for a CRLF file does the usual thing: nothing to report.
  return withNote(found, wanted === edit.oldString ? undefined : "ignoring line ends");
}

function withNote(found: Found | Refusal | undefined, note: string | undefined): Found | Refusal | undefined {
  if (!found || "problem" in found || note === undefined) return found;
  return { ...found, note: found.note === undefined ? note : `${found.note} and ${note}` };
}

function ignoringBlanks(source: Source, edit: Edit): Found | undefined {
  const parts = partsOf(edit);
  return atBlocks(source, parts, blockMatches(source.file, parts.old.map((line) => line.text)));
}

interface EditParts {
  readonly old: readonly Line[];
  readonly fresh: readonly Line[];
}

function partsOf(edit: Edit): EditParts {
  return { old: splitLines(unified(edit.oldString), LF), fresh: splitLines(unified(edit.newString), LF) };
}

function atBlocks(source: Source, parts: EditParts, matches: readonly LineMatch[]): Found | undefined {
  const { lines } = source.file;
  const texts = parts.fresh.map((line) => line.text);
  const edits = matches.flatMap((match) => {
    const replaced = parts.old.map(({ text }, index) => ({
      old: text,
      raw: lines[match.line + index]?.text ?? "",
    }));
    const adapt = adaptTo(match, texts, replaced);
    if (!adapt) return [];
    const last = match.line + parts.old.length - 1;
    // Without a line end in old_string, the one in the file is outside the match.
    const open = parts.old.at(-1)?.eol === "";
    const span = {
      first: match.line,
      start: 0,
      last: open ? last : last + 1,
      end: open ? lines[last]?.text.length ?? 0 : 0,
    };
    return [editOf(source, parts, span, adapt)];
  });
  if (edits.length === 0) return undefined;
  const described = matches.find((match) => match.note !== undefined);
  return {
    edits,
    note: described?.note ?? "ignoring blanks at line ends",
    reshaped: described?.shift !== undefined,
  };
}

function normalizing(normalization: Normalization): Strategy {
  return (source, edit) => {
    const parts = partsOf(edit);
    const wanted = unified(edit.oldString).split("\n");
    const spans = normalizedSpans(source.file, wanted, normalization);
    if (spans.length === 0) {
      return atBlocks(
        source,
        parts,
        blockMatches(source.file, parts.old.map((line) => line.text), normalization),
      );
    }
    const places = spans.map((span) => ({
      span,
      start: source.offset(span.first) + span.start,
      end: source.offset(span.last) + span.end,
    }));
    const found = eachSpan(source.text, edit, places, ({ span }, newString) => {
      const changed = { ...parts, fresh: splitLines(unified(newString), LF) };
      return editOf(source, changed, span, adaptToSpan(source, changed, span, normalization)).text;
    });
    return withNote(found, normalization.note);
  };
}

function adaptToSpan(
  { file }: Source,
  { old, fresh }: EditParts,
  span: NormalizedSpan,
  normalization: Normalization,
): Adapt {
  // Text before a column is not indentation of the quoted line.
  const [first, skipped] = span.start === 0 ? [span.first, 0] : [span.first + 1, 1];
  const texts = (lines: readonly Line[]) => lines.slice(skipped).map((line) => line.text);
  const raw = file.lines.slice(first, span.last + 1).map((line) => line.text);
  const shift = shiftBetween(texts(old), raw);
  const replaced = texts(old).map((text, index) => ({ old: text, raw: raw[index] ?? "" }));
  return adaptTo({ line: span.first, normalization, shift }, texts(fresh), replaced) ?? asIs;
}

function editOf(source: Source, { old, fresh }: EditParts, span: NormalizedSpan, adapt: Adapt): TextEdit {
  const { text, style } = source;
  const start = source.offset(span.first) + span.start;
  const end = source.offset(span.last) + span.end;
  const raw = splitLines(text.slice(start, end), style);
  return { start, end, text: rebuildLines({ raw, old, fresh, fallback: localEol(text, end, style), adapt }) };
}

const LF: EolStyle = { dominant: "\n", mixed: false, any: true };

function unified(text: string): string {
  return toLf(text).replace(/^\ufeff/, "");
}

function asIs(text: string): string {
  return text;
}

/** A stretch of a file from a column of one line to a column of another; columns in UTF-16 units. */
interface NormalizedSpan {
  readonly first: number;
  readonly start: number;
  readonly last: number;
  readonly end: number;
}

/**
 * Returns where a text occurs once both are normalized. It may begin and end within a line, but not within
 * the normalized form of one character. `wanted` are its lines; an empty last one is a final line end.
 */
function normalizedSpans(
  file: FileLines,
  wanted: readonly string[],
  normalization: Normalization,
): NormalizedSpan[] {
  const keys = file.index("text", normalization).keys;
  const texts = wanted.map((line) => normalizeLine(line, normalization));
  if (texts.every((text) => trimEnd(text) === "")) return [];
  const column = (line: number, index: number) =>
    index === 0 ? 0 : new NormalizedLine(file.lines[line]?.text ?? "", normalization).offsetAt(index);
  const [head = "", ...rest] = texts;
  if (rest.length === 0) {
    return keys.flatMap((key, line) =>
      occurrences(key, head).flatMap((at) => {
        const [start, end] = [column(line, at), column(line, at + head.length)];
        return start === undefined || end === undefined ? [] : [{ first: line, start, last: line, end }];
      })
    );
  }
  const tail = rest.pop() ?? "";
  const first = trimEnd(head);
  const inner = rest.map(trimEnd);
  const spans: NormalizedSpan[] = [];
  for (let line = 0; line + rest.length + 1 <= keys.length; line++) {
    const key = trimEnd(keys[line] ?? "");
    if (!key.endsWith(first) || file.lines[line]?.eol === "") continue;
    if (!inner.every((text, index) => trimEnd(keys[line + 1 + index] ?? "") === text)) continue;
    const last = line + rest.length + 1;
    if (!(keys[last] ?? "").startsWith(tail)) continue;
    const [start, end] = [column(line, key.length - first.length), column(last, tail.length)];
    if (start !== undefined && end !== undefined) spans.push({ first: line, start, last, end });
  }
  return spans;
}

export interface Edit {
  readonly oldString: string;
  readonly newString: string;
  readonly replaceAll: boolean;
}

interface Found {
  readonly edits: readonly TextEdit[];
  /** Continues "matched after"; absent for an exact match. */
  readonly note?: string | undefined;
  /** The written text differs from that of the model, so the result shows it. */
  readonly reshaped?: boolean;
}

interface Refusal {
  readonly problem: string;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** The edits of places that may begin within a line; undefined without a place. */
function eachSpan<P extends Span>(
  text: string,
  edit: Edit,
  places: readonly P[],
  replace: (place: P, newString: string) => string,
): Found | Refusal | undefined {
  if (places.length === 0) return undefined;
  const edits: TextEdit[] = [];
  let reshaped = false;
  for (const place of places) {
    const fragment = behindIndent(text, place.start, edit);
    if ("problem" in fragment) return fragment;
    reshaped ||= fragment.newString !== edit.newString;
    edits.push({ start: fragment.start, end: place.end, text: replace(place, fragment.newString) });
  }
  return reshaped ? { edits, reshaped, note: "taking the indentation once" } : { edits };
}

/**
 * Returns what to put at a match that begins behind the indentation of its line, and from where: an
 * indentation that new_string brings itself is not put there twice, and where the line goes away (new_string
 * is empty, or begins with a later line of old_string) so does the indentation. Refused where the lines that
 * follow may be meant with or without it.
 */
function behindIndent(
  text: string,
  start: number,
  { oldString, newString }: Edit,
): { readonly start: number; readonly newString: string } | Refusal {
  const lineStart = start === 0
    ? 0
    : Math.max(text.lastIndexOf("\n", start - 1), text.lastIndexOf("\r", start - 1)) + 1;
  const before = text.slice(lineStart, start);
  if (before === "" || indentOf(before) !== before || oldString.trim() === "") return { start, newString };
  if (newString === "" && oldString.endsWith("\n")) return { start: lineStart, newString };
  const [head = "", ...later] = oldString.split(/\r?\n/);
  const [first = ""] = newString.split(/\r?\n/, 1);
  if (first.trim() !== "" && first !== head && later.includes(first)) return { start: lineStart, newString };
  const [, ...rest] = newString.split(/\r?\n/).filter((line) => line.trim() !== "");
  const oneLine = !oldString.trimEnd().includes("\n");
  if (oneLine && rest.some((line) => !line.startsWith(before))) {
    const line = lineNumber(text, start);
    return {
      problem:
        `old_string begins behind the indentation of line ${line}, and new_string has lines with less ` +
        "indentation; give both with the indentation that the lines have in the file",
    };
  }
  const alike = (blanks: string) => normalizeLine(blanks, UNICODE_TWINS);
  const repeated = newString.trim() !== "" &&
    alike(indentOf(newString)) === alike(before + indentOf(oldString));
  return { start, newString: repeated ? newString.slice(before.length) : newString };
}
