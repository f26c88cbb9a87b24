import { styledParts, withoutStyles } from "../screen/line.ts";
import type { InputEvent } from "../terminal/terminal.ts";
import { oneLine } from "../../../util/terminal_text.ts";

/** A line of text after a key or a paste that writes in it; undefined for all others. */
export function typed(text: string, event: InputEvent): string | undefined {
  if (event.kind === "paste") return text + oneLine(event.text);
  if (event.key === "backspace") return [...text].slice(0, -1).join("");
  return event.text === undefined ? undefined : text + event.text;
}

/** A part of a line, from the first character to the one behind the last, in UTF-16 units. */
type Range = readonly [from: number, to: number];

/** Finds a text in a line without styles, ignoring case. */
export function occurrences(plain: string, query: string): Range[] {
  if (query === "") return [];
  const [line, wanted] = [lowerCase(plain), lowerCase(query)];
  const found: Range[] = [];
  for (let at = line.indexOf(wanted); at >= 0; at = line.indexOf(wanted, at + wanted.length)) {
    found.push([at, at + wanted.length]);
  }
  return found;
}

/** Lower case without changing the length, so that offsets stay valid. */
function lowerCase(text: string): string {
  const small = text.toLowerCase();
  if (small.length === text.length) return small;
  return [...text].map((char) => char.toLowerCase().length === char.length ? char.toLowerCase() : char).join(
    "",
  );
}

const [ON, OFF] = ["\x1b[7m", "\x1b[27m"];

/** Reverses ranges of a styled line; its styles stay. */
export function emphasised(line: string, ranges: readonly Range[]): string {
  if (ranges.length === 0) return line;
  let text = "";
  let at = 0;
  let inside = false;
  for (const part of styledParts(line)) {
    if (part.startsWith("\x1b")) {
      // Colors that end take the emphasis along.
      text += inside ? part + ON : part;
      continue;
    }
    const end = at + part.length;
    const edges = ranges.flat().filter((edge) => edge > at && edge < end);
    for (
      const [from, to] of [at, ...edges].map((edge, index, all) => [edge, all[index + 1] ?? end] as const)
    ) {
      const within = from < to && ranges.some(([first, last]) => from >= first && to <= last);
      if (within !== inside && from < to) text += within ? ON : OFF;
      if (from < to) inside = within;
      text += part.slice(from - at, to - at);
    }
    at = end;
  }
  return inside ? text + OFF : text;
}

/** The parts of rows that match a text, also where it goes over the end of a row. */
export function matches(rows: readonly string[], query: string): Map<number, readonly Range[]> {
  const found = new Map<number, readonly Range[]>();
  const words = query.trim().split(/\s+/).map((word) =>
    [...word].map((char) => char.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&")).join("(?: *\\n *)?")
  );
  const pattern = words.join("(?: *\\n *| +)");
  if (pattern === "") return found;
  const plain = rows.map(withoutStyles);
  const all = [...plain.join("\n").matchAll(new RegExp(pattern, "giu"))];
  let start = 0;
  for (const [at, row] of plain.entries()) {
    const ranges = all.map(({ index, 0: { length } }): Range => [
      Math.max(0, index - start),
      Math.min(row.length, index + length - start),
    ]).filter(([from, to]) => from < to);
    if (ranges.length > 0) found.set(at, ranges);
    start += row.length + 1;
  }
  return found;
}
