import { type FileLines } from "./file_lines.ts";
import { occurrences } from "./source.ts";
import { type Fold, FoldedLine, foldLine, trimEnd } from "./fold.ts";

/** A stretch of a file from a column of one line to a column of another; columns in UTF-16 units. */
export interface FoldedSpan {
  readonly first: number;
  readonly start: number;
  readonly last: number;
  readonly end: number;
}

/**
 * Tells where a text stands once both are folded: it may begin and end within a line, but not within what one
 * character was folded to. `wanted` are its lines; an empty last one means that it ends with a line end.
 */
export function foldedSpans(file: FileLines, wanted: readonly string[], fold: Fold): FoldedSpan[] {
  const keys = file.index("text", fold).keys;
  const texts = wanted.map((line) => foldLine(line, fold));
  if (texts.every((text) => trimEnd(text) === "")) return [];
  const column = (line: number, index: number) =>
    index === 0 ? 0 : new FoldedLine(file.lines[line]?.text ?? "", fold).offsetAt(index);
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
  const spans: FoldedSpan[] = [];
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
