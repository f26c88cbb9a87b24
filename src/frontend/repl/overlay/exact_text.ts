import { displayWidth } from "../../../util/display_width.ts";
import { exactCells, isExact } from "../../../util/exact_text.ts";
import { wrapText } from "../../../view/mod.ts";

/**
 * A text as rows of at most `columns` cells with every character visible: hidden ones are named, such as
 * `\u{202e}`, and styled by `mark`; `\x0d` is half of a Windows line end, and `\x20{3000}` a long run of
 * blanks.
 */
export function exactRows(text: string, columns: number, mark: (text: string) => string): string[] {
  return text.split("\n").flatMap((line) => exactLine(line, columns, mark));
}

export function exactLine(line: string, columns: number, mark: (text: string) => string): string[] {
  const space = Math.max(2, columns);
  if (isExact(line)) return chunks(line, space);
  const rows: string[] = [];
  let row = "";
  let used = 0;
  for (const { text, named } of exactCells(line)) {
    const width = named ? text.length : displayWidth(text);
    if (used + width > space) {
      rows.push(row);
      [row, used] = ["", 0];
    }
    row += named ? mark(text) : text;
    used += width;
  }
  return [...rows, row];
}

function chunks(line: string, size: number): string[] {
  const rows: string[] = [];
  for (let at = 0; at === 0 || at < line.length; at += size) rows.push(line.slice(at, at + size));
  return rows;
}

/** A text as rows, broken between words where they fit; invisible characters named as in `exactRows`. */
export function wordRows(text: string, columns: number, mark: (text: string) => string): string[] {
  const space = Math.max(2, columns);
  return text.split("\n").flatMap((line) => {
    const rows = isExact(line) && line.length <= space ? [line] : wrapText(line, space, displayWidth);
    return rows.flatMap((row) => exactLine(row, space, mark));
  });
}
