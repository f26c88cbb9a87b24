import { displayWidth, fitDisplay, padDisplay } from "../../src/util/display_width.ts";
import { oneLine } from "../../src/util/terminal_text.ts";

/**
 * Lines under a heading, columns two blanks apart; columns named in `right` end flush. Cells are made safe
 * for a terminal.
 */
export function table(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  options: { readonly right?: readonly string[]; readonly width?: number } = {},
): string {
  const lines = [heading, ...rows.map((row) => row.map((cell) => oneLine(cell, 400)))];
  const widths = heading.map((_, at) => Math.max(...lines.map((line) => displayWidth(line[at] ?? ""))));
  const last = heading.length - 1;
  return lines.map((line) => {
    const cells = line.map((cell, at) => {
      const right = options.right?.includes(heading[at] ?? "");
      return at === last && !right ? cell : padDisplay(cell, widths[at] ?? 0, right ? "left" : "right");
    });
    const text = cells.join("  ");
    return `${options.width === undefined ? text : fitDisplay(text, options.width)}\n`;
  }).join("");
}

/**
 * Columns of the terminal that standard output is, else undefined: what goes to a file or a program is not
 * cut.
 */
export function outputWidth(): number | undefined {
  try {
    return Deno.stdout.isTerminal() ? Deno.consoleSize().columns : undefined;
  } catch {
    return undefined;
  }
}

/** Date and time of day, UTC as everywhere in a session. */
export function minute(time: string): string {
  return time.slice(0, 16).replace("T", " ");
}
