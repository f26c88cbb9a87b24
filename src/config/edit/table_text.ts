/**
 * Returns the text with another entry behind the last one of a list of tables: before the comments that
 * belong to what comes next. Undefined when the text has no such list.
 */
export function insertTable(text: string, name: string, entry: string): string | undefined {
  const lines = text.split("\n");
  const { header, inside } = headersOf(name);
  const last = lines.findLastIndex((line) => header.test(line));
  if (last < 0) return undefined;
  const next = lines.findIndex((line, index) => index > last && /^\s*\[/.test(line) && !inside.test(line));
  const end = endOfEntry(lines, last, next < 0 ? lines.length : next);
  // The last line of a file without a newline is ended first, so that the two do not run together.
  const ending = text.includes("\r\n") ? "\r" : "";
  const added = ["", ...entry.trimEnd().split("\n")].map((line) => line + ending);
  const before = lines.slice(0, end).map((line) =>
    ending !== "" && !line.endsWith(ending) ? line + ending : line
  );
  const after = lines.slice(end);
  return [...before, ...added, ...(after.length > 0 ? after : [""])].join("\n");
}

/**
 * Returns the text without one entry of a list of tables; comments before it stay. Undefined when the text
 * has no such list.
 */
export function removeTable(text: string, name: string, index: number): string | undefined {
  const lines = text.split("\n");
  const { header, inside } = headersOf(name);
  const starts = lines.flatMap((line, at) => header.test(line) ? [at] : []);
  const start = starts[index];
  if (start === undefined) return undefined;
  const next = lines.findIndex((line, at) =>
    at > start && /^\s*\[/.test(line) && (header.test(line) || !inside.test(line))
  );
  const end = endOfEntry(lines, start, next < 0 ? lines.length : next);
  const blank = (at: number) => /^\s*$/.test(lines[at] ?? "");
  // The blank line that stood before the entry would otherwise stand beside the one behind it.
  const first = start > 0 && blank(start - 1) && blank(end) ? start - 1 : start;
  return [...lines.slice(0, first), ...lines.slice(first === 0 && blank(end) ? end + 1 : end)].join("\n");
}

function headersOf(name: string): { readonly header: RegExp; readonly inside: RegExp } {
  return {
    header: new RegExp(`^\\s*\\[\\[\\s*${name}\\s*\\]\\]`),
    inside: new RegExp(`^\\s*\\[\\[?\\s*${name}\\s*[.\\]]`),
  };
}

/** The line behind an entry: comments and blank lines at its end belong to what comes next. */
function endOfEntry(lines: readonly string[], start: number, next: number): number {
  let end = next;
  while (end > start + 1 && /^\s*(?:#|$)/.test(lines[end - 1] ?? "")) end--;
  return end;
}

const MAX_LINE = 110;

/** Writes lists that are new and too long for a line with one item on each line. */
export function wrapNewLists(before: string, after: string): string {
  const known = new Set(before.split("\n"));
  return after.split("\n").map((line) => {
    const [, head = "", body = "", ending = ""] = /^(\w+ = )\[ (.*) \](\r?)$/.exec(line) ?? [];
    if (body === "" || line.length <= MAX_LINE || known.has(line)) return line;
    const items = body.match(/"(?:[^"\\]|\\.)*"|'[^']*'/g) ?? [];
    if (items.join(", ") !== body) return line;
    return [`${head}[`, ...items.map((item) => `  ${item},`), "]"].join(`${ending}\n`) + ending;
  }).join("\n");
}
