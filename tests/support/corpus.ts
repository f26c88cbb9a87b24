/**
 * The lines of a text file by their headings (`## heading`); what precedes the first heading is a comment. A
 * line in double quotes is a JSON string, for lines of shell that span several lines or begin with a mark.
 */
export function readCorpus(text: string): Readonly<Record<string, readonly string[]>> {
  const found: Record<string, string[]> = {};
  let lines: string[] = [];
  for (const row of text.split("\n")) {
    if (row.startsWith("## ")) lines = found[row.slice(3)] ??= [];
    else if (row !== "") lines.push(row.startsWith('"') ? JSON.parse(row) : row);
  }
  return found;
}
