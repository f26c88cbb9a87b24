import { displayWidth, fitDisplay, padDisplay } from "../util/display_width.ts";
import { oneLine, terminalSafe } from "../util/terminal_text.ts";

interface ColumnOptions {
  /** Indexes of the columns that end flush. */
  readonly right?: readonly number[];
  readonly width?: number | undefined;
}

function columns(
  rows: readonly (readonly string[])[],
  { right = [], width }: ColumnOptions = {},
): string {
  const last = Math.max(...rows.map((row) => row.length)) - 1;
  const widths = Array.from(
    { length: last + 1 },
    (_, at) => Math.max(...rows.map((row) => displayWidth(row[at] ?? ""))),
  );
  return rows.map((row) => {
    const cells = row.map((cell, at) => {
      const isRight = right.includes(at);
      return at === last && !isRight ? cell : padDisplay(cell, widths[at] ?? 0, isRight ? "left" : "right");
    });
    const line = cells.join("  ");
    return `${width === undefined ? line : fitDisplay(line, width)}\n`;
  }).join("");
}

/** Lines under a heading; columns named in `right` end flush. Cells are made safe for a terminal. */
export function table(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  options: { readonly right?: readonly string[]; readonly width?: number | undefined } = {},
): string {
  const right = (options.right ?? []).map((name) => heading.indexOf(name));
  const cells = rows.map((row) => row.map((cell) => oneLine(cell, 400)));
  return columns([heading, ...cells], { right, width: options.width });
}

/** A name with its value; one without a value is left out. */
export type Row = readonly [name: string, value: string | undefined];

export function rowsText(rows: readonly Row[]): string {
  const shown = rows.flatMap(([name, value = ""]) => value === "" ? [] : [[name, terminalSafe(value)]]);
  return shown.length === 0 ? "" : columns(shown);
}

/** Date and time of day, UTC as everywhere in a session. */
export function minute(time: string): string {
  return time.slice(0, 16).replace("T", " ");
}
