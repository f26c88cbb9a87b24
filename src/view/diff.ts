import { terminalSafe } from "../util/terminal_text.ts";
import type { CodeToken, codeTokens, Highlight } from "./highlight.ts";
import type { Palette } from "./palette.ts";

/** A part of two texts: in both, or only in the old or the new one. */
interface WordChange {
  readonly value: string;
  readonly added?: boolean;
  readonly removed?: boolean;
}

/** Functions that mark words and syntax in a diff. */
export interface DiffMarks {
  readonly words: (old: string, fresh: string) => readonly WordChange[];
  /** Splits code into tokens; absent without colors. */
  readonly syntax: typeof codeTokens | undefined;
  /** Highlights lines of code; absent without colors. */
  readonly highlight: Highlight | undefined;
}

export async function loadDiffMarks(palette: Palette): Promise<DiffMarks> {
  const hasColors = palette.keyword("x") !== "x";
  const [{ diffWordsWithSpace: words }, highlight] = await Promise.all([
    import("diff"),
    hasColors ? import("./highlight.ts").catch(() => undefined) : undefined,
  ]);
  return { words, syntax: highlight?.codeTokens, highlight: highlight?.highlighter(palette) };
}

export interface DiffView {
  readonly palette: Palette;
  /** Maximum lines; a last one counts the rest. */
  readonly maxLines: number;
  readonly more: (lines: number) => string;
  /** Fits one line to the width of the terminal. */
  readonly fit: (line: string) => string;
  readonly marks?: DiffMarks | undefined;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

type Range = readonly [from: number, to: number];

/** A line of a diff. */
interface DiffRow {
  /** `…`: lines are left out. */
  readonly mark: "+" | "-" | " " | "…";
  /** Its number in the old file, where it is in it, and in the new one. */
  readonly old: number | undefined;
  readonly fresh: number | undefined;
  readonly text: string;
  /** Extension of the file, or its name where it has none. */
  readonly language: string;
  /** The changed words of a line that replaces another one. */
  words: readonly Range[] | undefined;
  /** The text in tokens of its language. */
  tokens: readonly CodeToken[] | undefined;
}

/** A unified diff as data: at most `most` of its rows, and the number of the others. */
export function diffRows(
  diff: string,
  { most = Infinity, marks }: { readonly most?: number; readonly marks?: DiffMarks | undefined } = {},
): { readonly rows: readonly DiffRow[]; readonly left: number; readonly width: number } {
  const { rows: all, count, last } = rowsOf(diff, most + 1);
  const rows = count > most + 1 ? all.slice(0, most) : all;
  if (marks) markRows(rows, marks, { from: 0, to: rows.length, before: 0 });
  return { rows, left: count - rows.length, width: String(last).length };
}

/** Lines of a text, which get their colors where they are wanted. */
export interface StyledText {
  readonly length: number;
  /** A line without styles. */
  plain(at: number): string;
  styled(from: number, to: number): readonly string[];
}

/** Lines before a part of a text that determine its colors, such as the start of a long comment. */
export const CONTEXT = 40;

/** All lines of a diff as in `diffLines`. */
export function diffText(diff: string, { palette, marks }: Pick<DiffView, "palette" | "marks">): StyledText {
  const { rows, last } = rowsOf(diff, Infinity);
  const width = String(last).length;
  return {
    length: rows.length,
    plain(at) {
      const row = rows[at];
      return row ? headOf(row, width) + row.text : "";
    },
    styled(from, to) {
      if (marks) markRows(rows, marks, { from, to, before: CONTEXT });
      return rows.slice(from, to).map((row) => lineOf(row, { width, palette, fit: String }));
    },
  };
}

function headOf(row: DiffRow, width: number): string {
  return `${String(numberOf(row) ?? "").padStart(width)} ${row.mark} `;
}

function numberOf({ mark, old, fresh }: DiffRow): number | undefined {
  return mark === "-" ? old : fresh;
}

/** A unified diff as numbered lines: removed ones have their old number, others the new one. */
export function diffLines(diff: string, { palette, maxLines, more, fit, marks }: DiffView): string[] {
  const { rows, left, width } = diffRows(diff, { most: maxLines, marks });
  const lines = rows.map((row) => lineOf(row, { width, palette, fit }));
  return left > 0 ? [...lines, palette.dim(fit(`${" ".repeat(width)} ${more(left)}`))] : lines;
}

function lineOf(
  row: DiffRow,
  { width, palette, fit }: Pick<DiffView, "palette" | "fit"> & { readonly width: number },
): string {
  const head = headOf(row, width);
  const text = fit(head + row.text).slice(head.length);
  const { tokens, words = [] } = row;
  const { gutter, line, word } = colorsOf(row, palette, tokens !== undefined);
  const piece = (from: number, to: number) =>
    tokens ? colored(tokens, { text, from, to, palette }) : text.slice(from, to);
  const pieces = cutAt(words, text.length).map(({ from, to, inside }) =>
    (inside ? word : line)(piece(from, to))
  );
  return tokens ? gutter(head) + pieces.join("") : gutter(head + pieces.join(""));
}

/** Colors of a row; code with syntax highlighting has a background instead. */
function colorsOf({ mark }: DiffRow, palette: Palette, hasSyntax: boolean) {
  switch (mark) {
    case "+":
      return { gutter: palette.added, line: hasSyntax ? palette.addedLine : String, word: palette.addedWord };
    case "-":
      return {
        gutter: palette.removed,
        line: hasSyntax ? palette.removedLine : String,
        word: palette.removedWord,
      };
    default:
      return { gutter: palette.dim, line: String, word: String };
  }
}

/** The first rows, the number of all, and the highest line number: the numbers are aligned with it. */
function rowsOf(diff: string, most: number): { rows: DiffRow[]; count: number; last: number } {
  const rows: DiffRow[] = [];
  let [language, count, last] = ["", 0, 0];
  const add = (mark: DiffRow["mark"], raw: string, old?: number, fresh?: number) => {
    count++;
    last = Math.max(last, (mark === "-" ? old : fresh) ?? 0);
    if (count > most) return;
    const text = terminalSafe(raw.replaceAll("\t", "  "));
    rows.push({ mark, old, fresh, text, language, words: undefined, tokens: undefined });
  };
  let [old, fresh, left] = [0, 0, 0];
  for (const line of diff.split("\n")) {
    const hunk = HUNK.exec(line);
    if (hunk) {
      [old, fresh] = [Number(hunk[1]), Number(hunk[3])];
      left = Number(hunk[2] ?? 1) + Number(hunk[4] ?? 1);
      if (count > 0) add("…", "");
    } else if (left <= 0 && /^(?:---|\+\+\+) /.test(line)) {
      language = languageOf(HEADER.exec(line)?.[1] ?? "") || language;
    } else if (old + fresh === 0) continue;
    else if (line.startsWith("-")) add("-", line.slice(1), old++), left--;
    else if (line.startsWith("+")) add("+", line.slice(1), undefined, fresh++), left--;
    else if (line.startsWith(" ")) {
      left -= 2;
      add(" ", line.slice(1), old++, fresh++);
    } else if (line.startsWith("[diff cut")) {
      left = 0;
      add("…", line);
    }
  }
  return { rows, count, last };
}

const HEADER = /^(?:---|\+\+\+) (?!\/dev\/null)([^\t]*?)"?(?:\t|$)/;

/** Returns the extension of a path, which highlight.js knows as a name of its language. */
export function languageOf(path: string): string {
  return /[^./\\]*$/.exec(path)?.[0].toLowerCase() ?? "";
}

function hunksOf(rows: readonly DiffRow[]): DiffRow[][] {
  const hunks: DiffRow[][] = [[]];
  for (const row of rows) {
    if (row.mark === "…") hunks.push([]);
    else hunks.at(-1)?.push(row);
  }
  return hunks;
}

/** Rows from the first to the one behind the last; for the syntax some before them are read, too. */
interface Part {
  readonly from: number;
  readonly to: number;
  readonly before: number;
}

function markRows(rows: readonly DiffRow[], { words, syntax }: DiffMarks, part: Part): void {
  markWords(rows, words, part);
  if (!syntax) return;
  const { from, to, before } = part;
  for (const hunk of hunksOf(rows.slice(Math.max(0, from - before), to))) markTokens(hunk, syntax);
}

/** Maximum characters of a hunk with syntax highlighting. */
const MAX_HUNK = 100_000;

/** Adds the tokens of each row: of the old text to removed rows, else of the new one. */
function markTokens(hunk: readonly DiffRow[], syntax: NonNullable<DiffMarks["syntax"]>): void {
  const size = hunk.reduce((sum, { text }) => sum + text.length, 0);
  if (size > MAX_HUNK || hunk.some(({ text }) => text.length > MAX_LINE)) return;
  for (const side of ["-", "+"]) {
    const rows = hunk.filter(({ mark }) => mark === side || mark === " ");
    const lines = syntax(rows.map(({ text }) => text).join("\n"), hunk[0]?.language ?? "");
    if (lines?.length === rows.length) rows.forEach((row, at) => row.tokens = lines[at] ?? []);
  }
}

/** Maximum length of lines that are compared word by word. */
const MAX_LINE = 2000;

/** Adds the changed words, where removed lines are followed by as many added ones. */
function markWords(rows: readonly DiffRow[], words: DiffMarks["words"], { from, to }: Part): void {
  let at = from;
  while (at > 0 && isChange(rows[at - 1])) at--;
  while (at < to) {
    const removed = runOf(rows, at, "-");
    const added = runOf(rows, at + removed.length, "+");
    const [first, { length }] = [at, removed];
    at += Math.max(1, length + added.length);
    if (length !== added.length) continue;
    const isIn = (row: number) => row >= from && row < to;
    removed.forEach((old, index) => {
      const fresh = added[index];
      if (!fresh || !(isIn(first + index) || isIn(first + length + index))) return;
      if (old.text.length + fresh.text.length > MAX_LINE) return;
      const ranges = rangesOf(words(old.text, fresh.text));
      if (ranges) [old.words, fresh.words] = [ranges.old, ranges.fresh];
    });
  }
}

function isChange(row: DiffRow | undefined): boolean {
  return row?.mark === "-" || row?.mark === "+";
}

function runOf(rows: readonly DiffRow[], from: number, mark: DiffRow["mark"]): readonly DiffRow[] {
  let to = from;
  while (rows[to]?.mark === mark) to++;
  return rows.slice(from, to);
}

/** Undefined where the lines have too little in common. */
function rangesOf(changes: readonly WordChange[]): { old: Range[]; fresh: Range[] } | undefined {
  const [old, fresh]: Range[][] = [[], []];
  let [oldAt, freshAt, same] = [0, 0, 0];
  for (const { value, added, removed } of changes) {
    if (removed) old?.push([oldAt, oldAt + value.length]);
    else if (added) fresh?.push([freshAt, freshAt + value.length]);
    else same += value.trim().length;
    if (!added) oldAt += value.length;
    if (!removed) freshAt += value.length;
  }
  return same * 3 < Math.max(oldAt, freshAt) ? undefined : { old: old ?? [], fresh: fresh ?? [] };
}

/** Splits a text into the parts inside of ranges and between them. */
function cutAt(ranges: readonly Range[], length: number): { from: number; to: number; inside: boolean }[] {
  let at = 0;
  const parts = ranges.flatMap(([from, to]) => {
    const before = { from: at, to: from, inside: false };
    at = to;
    return [before, { from, to, inside: true }];
  });
  return [...parts, { from: at, to: length, inside: false }];
}

/** A part of a line in the colors of its tokens. */
function colored(
  tokens: readonly CodeToken[],
  { text, from, to, palette }: { text: string; from: number; to: number; palette: Palette },
): string {
  let at = 0;
  return tokens.map((token) => {
    const begin = at;
    at += token.text.length;
    const piece = text.slice(Math.max(begin, from), Math.max(from, Math.min(at, to)));
    return token.meaning ? palette[token.meaning](piece) : piece;
  }).join("");
}

/**
 * The hunks of the unified diff of one file: the texts before and after, exactly, and the number of the first
 * changed line in the new file.
 */
export function hunkTexts(
  diff: string,
): { readonly before: string; readonly after: string; readonly line: number }[] {
  return diff.split(/(?<=\n)(?=@@ )/).flatMap((hunk) => {
    const [, , , start] = HUNK.exec(hunk) ?? [];
    if (start === undefined) return [];
    const lines = hunk.split("\n").slice(1);
    // "No newline at end of file" is about the line before it.
    const ends = (at: number) => lines[at + 1]?.startsWith("\\") ? "" : "\n";
    const side = (sign: string) =>
      lines.map((line, at) => (line[0] === sign || line[0] === " ") ? line.slice(1) + ends(at) : "").join("");
    const same = Math.max(0, lines.findIndex((line) => /^[-+]/.test(line)));
    return [{ before: side("-"), after: side("+"), line: Math.max(1, Number(start)) + same }];
  });
}
