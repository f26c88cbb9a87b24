import { terminalSafe } from "../util/terminal_text.ts";
import type { Palette } from "./palette.ts";

/** A piece of two texts: in both of them, or in the old or the new one alone. */
interface WordChange {
  readonly value: string;
  readonly added?: boolean;
  readonly removed?: boolean;
}

/** Compares two lines word by word. */
export type WordDiff = (old: string, fresh: string) => readonly WordChange[];

/** Loads what compares words; edits can be shown without it. */
export async function loadWordDiff(): Promise<WordDiff> {
  const { diffWordsWithSpace } = await import("diff");
  return (old, fresh) => diffWordsWithSpace(old, fresh);
}

export interface DiffView {
  readonly palette: Palette;
  /** Lines shown; what is left out is counted in a last one. */
  readonly maxLines: number;
  /** Says how many lines were left out. */
  readonly more: (lines: number) => string;
  /** Fits one line to the width of the terminal. */
  readonly fit: (line: string) => string;
  /** Marks the words that differ between a removed line and the one in its place. */
  readonly words?: WordDiff | undefined;
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** A unified diff as numbered lines: removed ones with their old number, the others with their new one. */
export function diffLines(diff: string, { palette, maxLines, more, fit, words }: DiffView): string[] {
  const rows = rowsOf(diff);
  const width = Math.max(...rows.map((row) => String(row.number ?? "").length), 1);
  const shown = rows.length > maxLines + 1 ? rows.slice(0, maxLines) : rows;
  const emphasis = words ? changedWords(shown, words) : undefined;
  const lines = shown.map((row) => {
    const head = `${String(row.number ?? "").padStart(width)} ${row.mark} `;
    const line = fit(head + row.text);
    if (row.mark !== "+" && row.mark !== "-") return palette.dim(line);
    const [colour, word] = row.mark === "+"
      ? [palette.added, palette.addedWord]
      : [palette.removed, palette.removedWord];
    const ranges = emphasis?.get(row);
    return colour(ranges ? marked(line, head.length, ranges, word) : line);
  });
  const left = rows.length - shown.length;
  return left > 0 ? [...lines, palette.dim(fit(`${" ".repeat(width)} ${more(left)}`))] : lines;
}

interface DiffRow {
  readonly number: number | undefined;
  readonly mark: "+" | "-" | " " | "…";
  /** Safe for a terminal. */
  readonly text: string;
}

function rowsOf(diff: string): DiffRow[] {
  const rows: DiffRow[] = [];
  const add = (mark: DiffRow["mark"], text: string, number?: number) =>
    rows.push({ number, mark, text: terminalSafe(text.replaceAll("\t", "  ")) });
  let [old, fresh] = [0, 0];
  for (const line of diff.split("\n")) {
    const hunk = HUNK.exec(line);
    if (hunk) {
      [old, fresh] = [Number(hunk[1]), Number(hunk[2])];
      if (rows.length > 0) add("…", "");
    } else if (old + fresh === 0) continue;
    else if (line.startsWith("-")) add("-", line.slice(1), old++);
    else if (line.startsWith("+")) add("+", line.slice(1), fresh++);
    else if (line.startsWith(" ")) {
      old++;
      add(" ", line.slice(1), fresh++);
    } else if (line.startsWith("[diff cut")) add("…", line);
  }
  return rows;
}

/** A part of a text, from the first character to the one behind the last. */
type Range = readonly [from: number, to: number];

/** Comparing the words of longer lines would take too long. */
const MAX_LINE = 2000;

/** The words that changed, where a run of removed lines is followed by as many added ones. */
function changedWords(rows: readonly DiffRow[], words: WordDiff): Map<DiffRow, Range[]> {
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

/** The line with the ranges coloured, counted from `offset`; what was cut off has none. */
function marked(
  line: string,
  offset: number,
  ranges: readonly Range[],
  colour: (text: string) => string,
): string {
  let text = "";
  let at = 0;
  for (const [from, to] of ranges) {
    const [begin, end] = [Math.min(line.length, offset + from), Math.min(line.length, offset + to)];
    text += line.slice(at, begin) + colour(line.slice(begin, end));
    at = end;
  }
  return text + line.slice(at);
}
