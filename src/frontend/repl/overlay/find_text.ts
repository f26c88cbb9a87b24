// deno-lint-ignore no-control-regex
const SEQUENCES = /(\x1b\[[0-9;:]*m|\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\))/;
const [ON, OFF] = ["\x1b[7m", "\x1b[27m"];

/** A part of a line, from the first character to the one behind the last, in UTF-16 units. */
type Range = readonly [from: number, to: number];

/** What a line says, without its colours. */
export function plainText(line: string): string {
  return line.split(SEQUENCES).filter((_, index) => index % 2 === 0).join("");
}

/** Where a text is found in a line without colours; upper and lower case are the same. */
export function occurrences(plain: string, query: string): Range[] {
  if (query === "") return [];
  const [line, wanted] = [folded(plain), folded(query)];
  const found: Range[] = [];
  for (let at = line.indexOf(wanted); at >= 0; at = line.indexOf(wanted, at + wanted.length)) {
    found.push([at, at + wanted.length]);
  }
  return found;
}

/** Small letters, one for one: the places of a text stay what they are. */
function folded(text: string): string {
  const small = text.toLowerCase();
  if (small.length === text.length) return small;
  return [...text].map((char) => char.toLowerCase().length === char.length ? char.toLowerCase() : char).join(
    "",
  );
}

/** A coloured line in which the parts are reversed; its own colours stay. */
export function emphasised(line: string, ranges: readonly Range[]): string {
  if (ranges.length === 0) return line;
  let text = "";
  let at = 0;
  let inside = false;
  for (const part of line.split(SEQUENCES)) {
    if (part.startsWith("\x1b")) {
      // Colours that end take the emphasis along.
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
