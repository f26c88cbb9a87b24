const WIDTH = 80;

/** Help text within 80 columns: a list of values or commands that makes a line too long goes on below. */
export function fitHelp(text: string): string {
  return text.split("\n").map((line) => line.length > WIDTH ? fitLine(line) : line.trimEnd()).join("\n");
}

function fitLine(line: string): string {
  const commands = /^(\s+(?:\S+ )+)(\S+\|\S+)( \.\.\.)$/.exec(line);
  if (commands) return fitCommands(commands[1] ?? "", commands[2] ?? "");
  const match = /^(.*?\S)(\s{2,})(\[[^\]]*\])$/.exec(line);
  if (!match) return line.trimEnd();
  const [, head = "", , values = ""] = match;
  const start = head.search(/\S(?:\S| (?! ))*$/);
  if (values.length > WIDTH) return [head, ...wrapped(values, start)].join("\n");
  return `${head}\n${" ".repeat(Math.min(start, WIDTH - values.length))}${values}`;
}

/** A list of values that is wider than a line, on several that begin at a column. */
function wrapped(values: string, column: number): string[] {
  const lines: string[] = [];
  for (const piece of values.match(/[^|]+\|?/g) ?? []) {
    const last = lines.length - 1;
    const line = lines[last];
    if (line === undefined || line.length + piece.length > WIDTH) lines.push(" ".repeat(column) + piece);
    else lines[last] = line + piece;
  }
  return lines;
}

function fitCommands(head: string, names: string): string {
  const lines = [head];
  for (const [at, name] of names.split("|").entries()) {
    const piece = at === 0 ? name : `|${name}`;
    const last = lines.length - 1;
    const full = (lines[last]?.length ?? 0) + piece.length > WIDTH - " ...".length;
    if (full) lines.push(" ".repeat(head.length) + piece);
    else lines[last] += piece;
  }
  return `${lines.join("\n")} ...`;
}
