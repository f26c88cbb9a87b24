import { terminalSafe } from "../util/terminal_text.ts";
import type { CodeToken, codeTokens, Highlight } from "./highlight.ts";
import type { Palette } from "./palette.ts";

/** A piece of two texts: in both of them, or in the old or the new one alone. */
interface WordChange {
  readonly value: string;
  readonly added?: boolean;
  readonly removed?: boolean;
}

/** Marks within the lines of a diff. A diff can be shown without them. */
export interface DiffMarks {
  /** Compares two lines word by word. */
  readonly words: (old: string, fresh: string) => readonly WordChange[];
  /** Splits code into the tokens of its syntax; absent without colours. */
  readonly syntax: typeof codeTokens | undefined;
  /** Colours the lines of code; absent without colours. */
  readonly highlight: Highlight | undefined;
}

export async function loadDiffMarks(palette: Palette): Promise<DiffMarks> {
  const hasColours = palette.keyword("x") !== "x";
  const [{ diffWordsWithSpace: words }, highlight] = await Promise.all([
    import("diff"),
    hasColours ? import("./highlight.ts").catch(() => undefined) : undefined,
  ]);
  return { words, syntax: highlight?.codeTokens, highlight: highlight?.highlighter(palette) };
}

export interface DiffView {
  readonly palette: Palette;
  /** Lines shown; what is left out is counted in a last one. */
  readonly maxLines: number;
  /** Says how many lines were left out. */
  readonly more: (lines: number) => string;
  /** Fits one line to the width of the terminal. */
  readonly fit: (line: string) => string;
  readonly marks?: DiffMarks | undefined;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** A unified diff as numbered lines: removed ones with their old number, the others with their new one. */
export function diffLines(diff: string, { palette, maxLines, more, fit, marks }: DiffView): string[] {
  const rows = rowsOf(diff);
  const width = Math.max(...rows.map((row) => String(row.number ?? "").length), 1);
  const shown = rows.length > maxLines + 1 ? rows.slice(0, maxLines) : rows;
  const words = marks ? changedWords(shown, marks.words) : undefined;
  const code = marks?.syntax
    ? new Map(hunksOf(shown).flatMap((hunk) => tokensOf(hunk, marks.syntax)))
    : undefined;
  const lines = shown.map((row) => {
    const head = `${String(row.number ?? "").padStart(width)} ${row.mark} `;
    const text = fit(head + row.text).slice(head.length);
    const tokens = code?.get(row);
    const { gutter, line, word } = coloursOf(row, palette, tokens !== undefined);
    const piece = (from: number, to: number) =>
      tokens ? coloured(tokens, { text, from, to, palette }) : text.slice(from, to);
    const pieces = cutAt(words?.get(row) ?? [], text.length).map(({ from, to, inside }) =>
      (inside ? word : line)(piece(from, to))
    );
    return tokens ? gutter(head) + pieces.join("") : gutter(head + pieces.join(""));
  });
  const left = rows.length - shown.length;
  return left > 0 ? [...lines, palette.dim(fit(`${" ".repeat(width)} ${more(left)}`))] : lines;
}

/** Colours of a row: code in the colours of its syntax has a background instead. */
function coloursOf({ mark }: DiffRow, palette: Palette, hasSyntax: boolean) {
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

interface DiffRow {
  readonly number: number | undefined;
  readonly mark: "+" | "-" | " " | "…";
  /** Safe for a terminal. */
  readonly text: string;
  /** Extension of the file, or its whole name where it has none. */
  readonly language: string;
}

function rowsOf(diff: string): DiffRow[] {
  const rows: DiffRow[] = [];
  let language = "";
  const add = (mark: DiffRow["mark"], text: string, number?: number) =>
    rows.push({ number, mark, text: terminalSafe(text.replaceAll("\t", "  ")), language });
  let [old, fresh, left] = [0, 0, 0];
  for (const line of diff.split("\n")) {
    const hunk = HUNK.exec(line);
    if (hunk) {
      [old, fresh] = [Number(hunk[1]), Number(hunk[3])];
      left = Number(hunk[2] ?? 1) + Number(hunk[4] ?? 1);
      if (rows.length > 0) add("…", "");
    } else if (left <= 0 && /^(?:---|\+\+\+) /.test(line)) {
      language = languageOf(HEADER.exec(line)?.[1] ?? "") || language;
    } else if (old + fresh === 0) continue;
    else if (line.startsWith("-")) add("-", line.slice(1), old++), left--;
    else if (line.startsWith("+")) add("+", line.slice(1), fresh++), left--;
    else if (line.startsWith(" ")) {
      old++;
      left -= 2;
      add(" ", line.slice(1), fresh++);
    } else if (line.startsWith("[diff cut")) {
      left = 0;
      add("…", line);
    }
  }
  return rows;
}

/** The path in a header line. */
const HEADER = /^(?:---|\+\+\+) (?!\/dev\/null)([^\t]*?)"?(?:\t|$)/;

/** Returns the name by which highlight.js may know the language of a file: the end of the path. */
export function languageOf(path: string): string {
  return /[^./\\]*$/.exec(path)?.[0].toLowerCase() ?? "";
}

/** The rows between two gaps. */
function hunksOf(rows: readonly DiffRow[]): DiffRow[][] {
  const hunks: DiffRow[][] = [[]];
  for (const row of rows) {
    if (row.mark === "…") hunks.push([]);
    else hunks.at(-1)?.push(row);
  }
  return hunks;
}

/** Characters of a hunk above which its syntax would take too long. */
const MAX_HUNK = 100_000;

/** The tokens of each row: those of the old text for removed rows, else those of the new one. */
function tokensOf(hunk: readonly DiffRow[], syntax: DiffMarks["syntax"]): [DiffRow, readonly CodeToken[]][] {
  const size = hunk.reduce((sum, { text }) => sum + text.length, 0);
  if (size > MAX_HUNK || hunk.some(({ text }) => text.length > MAX_LINE)) return [];
  return (["-", "+"] as const).flatMap((side) => {
    const rows = hunk.filter(({ mark }) => mark === side || mark === " ");
    const lines = syntax?.(rows.map(({ text }) => text).join("\n"), hunk[0]?.language ?? "");
    return lines?.length === rows.length
      ? rows.map((row, at): [DiffRow, readonly CodeToken[]] => [row, lines[at] ?? []])
      : [];
  });
}

/** A part of a text, from the first character to the one behind the last. */
type Range = readonly [from: number, to: number];

/** Comparing the words of longer lines would take too long. */
const MAX_LINE = 2000;

/** The words that changed, where a run of removed lines is followed by as many added ones. */
function changedWords(rows: readonly DiffRow[], words: DiffMarks["words"]): Map<DiffRow, Range[]> {
  const found = new Map<DiffRow, Range[]>();
  for (let at = 0; at < rows.length;) {
    const removed = runOf(rows, at, "-");
    const added = runOf(rows, at + removed.length, "+");
    at += Math.max(1, removed.length + added.length);
    if (removed.length !== added.length) continue;
    removed.forEach((old, index) => {
      const fresh = added[index];
      if (!fresh || old.text.length + fresh.text.length > MAX_LINE) return;
      const ranges = rangesOf(words(old.text, fresh.text));
      if (!ranges) return;
      found.set(old, ranges.old);
      found.set(fresh, ranges.fresh);
    });
  }
  return found;
}

function runOf(rows: readonly DiffRow[], from: number, mark: DiffRow["mark"]): readonly DiffRow[] {
  let to = from;
  while (rows[to]?.mark === mark) to++;
  return rows.slice(from, to);
}

/** Undefined where the lines have so little in common that marks would say nothing. */
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

/** The parts of a text that ranges cover, and those between them. */
function cutAt(ranges: readonly Range[], length: number): { from: number; to: number; inside: boolean }[] {
  let at = 0;
  const parts = ranges.flatMap(([from, to]) => {
    const before = { from: at, to: from, inside: false };
    at = to;
    return [before, { from, to, inside: true }];
  });
  return [...parts, { from: at, to: length, inside: false }];
}

/** A part of a line in the colours of its tokens. What `fit` cut off is not there. */
function coloured(
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
