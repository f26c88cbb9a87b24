import type { ChangedFile, CommandHost } from "../../../command/mod.ts";
import { diffLines, type DiffMarks, lineFigures, loadDiffMarks, type Palette } from "../../../view/mod.ts";
import { rowsOfLine } from "../transcript/rows.ts";
import type { PanelStyle } from "./choice_panel.ts";
import { nameUnseen, wordRows } from "./exact_text.ts";

/** What is shown one after the other. */
interface Panels extends Pick<CommandHost, "choose"> {
  rows(title: string, render: (columns: number) => readonly string[]): Promise<void>;
}

/** Lines of one diff that are shown; laying out more would hold up the chat. */
const MAX_LINES = 20_000;

/** Lets the user look through the changes of files, one after the other, until they leave. */
export async function lookAtChanges(
  dialogs: Panels,
  title: string,
  files: readonly ChangedFile[],
  { palette, texts }: PanelStyle,
): Promise<void> {
  const marks = await loadDiffMarks(palette);
  let at = 0;
  while (true) {
    const chosen = files.length === 1
      ? 0
      : await dialogs.choose(title, files.map((file, value) => ({ ...entryOf(file), value })), {
        current: at,
        reading: true,
      });
    const file = chosen === undefined ? undefined : files[chosen];
    if (!file) return;
    at = chosen ?? 0;
    const { diff } = file;
    const { label, detail } = entryOf(file);
    const cut = { lines: MAX_LINES, more: texts.moreLines };
    await dialogs.rows(
      `${label}\n${detail}`,
      (columns) =>
        diff === undefined
          ? wordRows(texts.noText, columns, palette.warning)
          : diffRows(diff, columns, { palette, marks, cut }),
    );
    if (files.length === 1) return;
  }
}

function entryOf({ path, what, added, removed, diff }: ChangedFile): { label: string; detail: string } {
  return { label: path, detail: diff === undefined ? what : `${what} ${lineFigures({ added, removed })}` };
}

export interface DiffRowsOptions {
  readonly palette: Palette;
  /** Marks within the lines; without them whole lines are coloured. */
  readonly marks?: DiffMarks | undefined;
  /** Where the diff is cut, and what says how much is left out; absent: nowhere. */
  readonly cut?: { readonly lines: number; readonly more: (lines: number) => string };
}

/** A unified diff as rows, with line numbers and nothing hidden: long lines go on in the next row. */
export function diffRows(diff: string, columns: number, { palette, marks, cut }: DiffRowsOptions): string[] {
  return diffLines(nameUnseen(diff), {
    palette,
    marks,
    maxLines: cut?.lines ?? Infinity,
    more: cut?.more ?? (() => ""),
    fit: (line) => line,
  }).flatMap((line) => rowsOfLine(line, columns));
}
