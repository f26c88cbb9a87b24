import { displayWidth, fitDisplay } from "../../../util/display_width.ts";
import { terminalSafe } from "../../../util/terminal_text.ts";
import type { Palette } from "../../../view/mod.ts";
import type { KeyHelp } from "./keymap.ts";
import type { Completion } from "./completion/completion.ts";

const MAX_ROWS = 8;
/** Labels are given up to this part of the width; what is left is for the details. */
const LABEL_SHARE = 0.5;

/** The lines of a completion menu, at most `rows`: the items around the chosen one. */
export function menuLines(completion: Completion, palette: Palette, columns: number, rows: number): string[] {
  const { items, selected } = completion;
  const room = Math.min(MAX_ROWS, rows);
  if (items.length === 0 || room < 1) return [];
  const isLong = items.length > room;
  const count = isLong && room > 1 ? room - 1 : Math.min(room, items.length);
  const first = Math.max(0, Math.min(selected - Math.floor(count / 2), items.length - count));
  const shown = items.slice(first, first + count);
  const labels = shown.map(({ label }) => fitDisplay(terminalSafe(label), Math.max(1, columns - 4)));
  const most = shown.some(({ detail }) => detail !== undefined) ? Math.floor(columns * LABEL_SHARE) : columns;
  const width = Math.min(most, Math.max(...labels.map(displayWidth)));
  const lines = shown.map(({ detail }, index) => {
    const isChosen = first + index === selected;
    const label = fitDisplay(labels[index] ?? "", width);
    const blanks = " ".repeat(Math.max(0, width - displayWidth(label)));
    const left = columns - width - 5;
    const rest = detail !== undefined && left > 8
      ? `${blanks}  ${palette.dim(fitDisplay(detail, left))}`
      : "";
    return isChosen ? `${palette.accent(`› ${label}`)}${rest}` : `  ${label}${rest}`;
  });
  if (!isLong || room === 1) return lines;
  const more = `  ${Math.max(1, selected + 1)}/${items.length}${completion.cut ? "+" : ""}`;
  return [...lines, palette.dim(more)];
}

/** The keys and what they do; `more` stands in place of those for which there is no room. */
export function helpLines(
  { help, more }: { readonly help: readonly KeyHelp[]; readonly more: string },
  palette: Palette,
  columns: number,
  rows: number,
): string[] {
  if (rows < 1) return [];
  const shown = help.length > rows ? help.slice(0, rows - 1) : help;
  const keys = shown.map((each) => each.keys.slice(0, 2).join(" · "));
  const width = Math.min(Math.max(0, ...keys.map(displayWidth)), Math.floor(columns / 2));
  const lines = shown.map(({ what }, index) => {
    const key = fitDisplay(keys[index] ?? "", width);
    const blanks = " ".repeat(Math.max(0, width - displayWidth(key)) + 2);
    return `  ${palette.accent(key)}${blanks}${
      palette.dim(fitDisplay(what, Math.max(1, columns - width - 4)))
    }`;
  });
  return shown === help ? lines : [...lines, palette.dim(fitDisplay(`  ${more}`, columns))];
}
