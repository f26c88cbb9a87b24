import { type FileLines } from "./file_lines.ts";
import { occurrences } from "./source.ts";
import { type Fold, foldLine, foldOffsets } from "./fold.ts";

/** A stretch of a file from a column of one line to a column of another; columns in UTF-16 units. */
export interface FoldedSpan {
  readonly first: number;
  readonly start: number;
  readonly last: number;
  readonly end: number;
}

/**
 * Tells where a text stands once both are folded: it may begin and end within a line. `wanted` are its lines;
 * an empty last one means that it ends with a line end.
 */
export function foldedSpans(file: FileLines, wanted: readonly string[], fold: Fold): FoldedSpan[] {
  const keys = file.index("text", fold).keys;
  const texts = wanted.map((line) => foldLine(line, fold));
  if (texts.every((text) => text.trim() === "")) return [];
  const column = (line: number, index: number) =>
    foldOffsets(file.lines[line]?.text ?? "", fold)[index] ?? file.lines[line]?.text.length ?? 0;
  const [head = "", ...rest] = texts;
  if (rest.length === 0) {
    return keys.flatMap((key, line) =>
      occurrences(key, head).map((at) => ({
        first: line,
        start: column(line, at),
        last: line,
        end: column(line, at + head.length),
      }))
    );
  }
  const tail = rest.pop() ?? "";
  const first = head.trimEnd();
  const spans: FoldedSpan[] = [];
  for (let line = 0; line + rest.length + 1 <= keys.length; line++) {
    const key = keys[line]?.trimEnd() ?? "";
    if (!key.endsWith(first) || file.lines[line]?.eol === "") continue;
    if (!rest.every((text, index) => keys[line + 1 + index]?.trimEnd() === text.trimEnd())) continue;
    const last = line + rest.length + 1;
    if (!(keys[last] ?? "").startsWith(tail)) continue;
    spans.push({
      first: line,
      start: column(line, key.length - first.length),
      last,
      end: tail === "" ? 0 : column(last, tail.length),
    });
  }
  return spans;
}
