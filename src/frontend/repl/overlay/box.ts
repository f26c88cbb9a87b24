import { beginning, safeLine, withoutStyles } from "../screen/line.ts";
import type { Frame, Overlay } from "../screen/view.ts";
import { displayWidth, padDisplay } from "../../../util/display_width.ts";

/** A larger screen shows overlays in a box, whose width has this limit. */
const BOXED = { columns: 60, rows: 12, most: 120 };

interface CoverStyle {
  /** The width of the lines below. */
  readonly columns: number;
  readonly dim: (text: string) => string;
}

/** A line in exactly `columns` cells. */
export function padded(line: string, columns: number): string {
  return padDisplay(safeLine(line, columns), columns);
}

/** An overlay in the middle of dimmed lines. */
export function covered(
  lines: readonly string[],
  overlay: Overlay<unknown>,
  { columns, dim }: CoverStyle,
): Frame {
  const rows = lines.length;
  const isBoxed = columns >= BOXED.columns && rows >= BOXED.rows;
  const width = isBoxed ? Math.min(columns - 4, BOXED.most) : columns;
  const frame = isBoxed ? boxed(overlay, width, rows, dim) : overlay.frame(width, rows);
  const top = Math.floor((rows - frame.lines.length) / 2);
  const at = Math.floor((columns - width) / 2);
  const shown = lines.map((below, row) => {
    const line = frame.lines[row - top];
    if (line === undefined) return dim(withoutStyles(below));
    return over(below, padded(line, width), { at, columns, dim });
  });
  const { caret } = frame;
  return caret
    ? { lines: shown, caret: { row: caret.row + top, column: caret.column + at } }
    : { lines: shown };
}

/** An overlay in a box; a rule in its first line becomes the upper border, with its color. */
function boxed(overlay: Overlay<unknown>, width: number, rows: number, dim: CoverStyle["dim"]): Frame {
  const { lines, caret } = overlay.frame(width - 4, rows - 1);
  const [first = ""] = lines;
  const hasRule = /^─+$/.test(withoutStyles(first));
  const color = hasRule ? (text: string) => first.replace(/─+/, text) : dim;
  const side = color("│");
  const content = hasRule ? lines.slice(1) : lines;
  const box = [
    color(`┌${"─".repeat(width - 2)}┐`),
    ...content.map((line) => `${side} ${padded(line, width - 4)} ${side}`),
    color(`└${"─".repeat(width - 2)}┘`),
  ].slice(0, rows);
  if (!caret) return { lines: box };
  return { lines: box, caret: { row: caret.row + (hasRule ? 0 : 1), column: caret.column + 2 } };
}

/** A line over a part of another one, which is dimmed; half of a wide character becomes a blank. */
export function over(
  below: string,
  line: string,
  { at, columns, dim }: CoverStyle & { readonly at: number },
): string {
  const plain = withoutStyles(below);
  const end = at + displayWidth(line);
  const hidden = beginning(plain, end);
  const right = displayWidth(hidden) === end
    ? plain.slice(hidden.length)
    : ` ${plain.slice(beginning(plain, end + 1).length)}`;
  return dim(padDisplay(beginning(plain, at), at)) + line + (end < columns ? dim(right) : "");
}
