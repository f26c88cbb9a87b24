import { displayWidth, padDisplay } from "../util/display_width.ts";
import { terminalSafe } from "../util/terminal_text.ts";

/** A name with its value; one without a value is left out. */
export type Row = readonly [name: string, value: string | undefined];

/** Names and values in two columns, for the plain form of a report. */
export function rowsText(rows: readonly Row[]): string {
  const shown = rows.filter(([, value]) => value !== undefined && value !== "");
  const width = Math.max(...shown.map(([name]) => displayWidth(name)), 0);
  return shown.map(([name, value = ""]) => `${padDisplay(name, width)}  ${terminalSafe(value)}\n`).join("");
}
