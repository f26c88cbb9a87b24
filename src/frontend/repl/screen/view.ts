/** What a part of the screen shows: lines that fit the width, and the cell of the caret where it has one. */
export interface Frame {
  readonly lines: readonly string[];
  readonly caret?: { readonly row: number; readonly column: number };
}

/** A part of the screen. */
export interface View {
  /** The lines for a width, at most `rows` of them. Says nothing of what was shown before. */
  frame(columns: number, rows: number): Frame;
}

/** Puts frames below each other; the caret is that of the last one that has one. */
export function stack(frames: readonly Frame[]): Frame {
  const lines: string[] = [];
  let caret: Frame["caret"];
  for (const frame of frames) {
    if (frame.caret) caret = { row: lines.length + frame.caret.row, column: frame.caret.column };
    lines.push(...frame.lines);
  }
  return caret ? { lines, caret } : { lines };
}
