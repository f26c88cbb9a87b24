import stringWidth from "string-width";

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Columns a line takes on a terminal: wide characters count two, marks and joined parts none. */
export function displayWidth(line: string): number {
  return stringWidth(line);
}

/** The line with blanks added up to `width` columns, on its left when `side` is "left". */
export function padDisplay(line: string, width: number, side: "left" | "right" = "right"): string {
  const blanks = " ".repeat(Math.max(0, width - displayWidth(line)));
  return side === "left" ? blanks + line : line + blanks;
}

/** The line cut to `width` columns, never inside of what is seen as one character. */
export function fitDisplay(line: string, width: number): string {
  if (displayWidth(line) <= width) return line;
  let kept = "";
  let used = 0;
  for (const { segment } of graphemes.segment(line)) {
    const columns = displayWidth(segment);
    if (used + columns > width - 1) break;
    kept += segment;
    used += columns;
  }
  return `${kept.trimEnd()}…`;
}
