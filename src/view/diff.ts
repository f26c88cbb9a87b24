import { terminalSafe } from "../util/terminal_text.ts";
import type { Palette } from "./palette.ts";

export interface DiffView {
  readonly palette: Palette;
  /** Lines shown; what is left out is counted in a last one. */
  readonly maxLines: number;
  /** Says how many lines were left out. */
  readonly more: (lines: number) => string;
  /** Fits one line to the width of the terminal. */
  readonly fit: (line: string) => string;
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** A unified diff as numbered lines: removed ones with their old number, the others with their new one. */
export function diffLines(diff: string, { palette, maxLines, more, fit }: DiffView): string[] {
  const rows = rowsOf(diff);
  const width = Math.max(...rows.map((row) => String(row.number ?? "").length), 1);
  const shown = rows.length > maxLines + 1 ? rows.slice(0, maxLines) : rows;
  const lines = shown.map(({ number, mark, text }) => {
    const line = fit(
      `${String(number ?? "").padStart(width)} ${mark} ${terminalSafe(text.replaceAll("\t", "  "))}`,
    );
    return mark === "+" ? palette.added(line) : mark === "-" ? palette.removed(line) : palette.dim(line);
  });
  const left = rows.length - shown.length;
  return left > 0 ? [...lines, palette.dim(fit(`${" ".repeat(width)} ${more(left)}`))] : lines;
}

interface DiffRow {
  readonly number: number | undefined;
  readonly mark: "+" | "-" | " " | "…";
  readonly text: string;
}

function rowsOf(diff: string): DiffRow[] {
  const rows: DiffRow[] = [];
  let [old, fresh] = [0, 0];
  for (const line of diff.split("\n")) {
    const hunk = HUNK.exec(line);
    if (hunk) {
      [old, fresh] = [Number(hunk[1]), Number(hunk[2])];
      if (rows.length > 0) rows.push({ number: undefined, mark: "…", text: "" });
    } else if (old + fresh === 0) continue;
    else if (line.startsWith("-")) rows.push({ number: old++, mark: "-", text: line.slice(1) });
    else if (line.startsWith("+")) rows.push({ number: fresh++, mark: "+", text: line.slice(1) });
    else if (line.startsWith(" ")) {
      old++;
      rows.push({ number: fresh++, mark: " ", text: line.slice(1) });
    } else if (line.startsWith("[diff cut")) rows.push({ number: undefined, mark: "…", text: line });
  }
  return rows;
}
