import { displayWidth, fitDisplay } from "../../../util/display_width.ts";
import { terminalSafe } from "../../../util/terminal_text.ts";
import { diffLines, type Palette, wrapText } from "../../../view/mod.ts";
import type { Folded } from "../transcript/folded.ts";
import { rowsOfLine } from "../transcript/rows.ts";
import type { TranscriptTexts } from "../transcript/texts.ts";
import type { Dialogs } from "./dialogs.ts";

export interface ExpandOptions {
  readonly dialogs: Dialogs;
  readonly palette: Palette;
  readonly texts: TranscriptTexts;
  /** What was folded, newest last. */
  readonly folded: readonly Folded[];
}

/** Lets the user look at all of what the transcript shows a part of, one thing after the other. */
export async function expandFolded({ dialogs, palette, texts, folded }: ExpandOptions): Promise<void> {
  const { expand } = texts;
  const entries = folded.toReversed().map((entry) => ({
    label: `${entry.title}`,
    detail: `${expand[entry.kind]} · ${expand.lines(entry.text.split("\n").length)}`,
    value: entry,
  }));
  if (entries.length === 0) return await dialogs.show(expand.title, expand.empty);
  let current: Folded | undefined;
  while (true) {
    current = await dialogs.choose(
      expand.title,
      entries,
      current ? { current: folded.length - 1 - folded.indexOf(current) } : {},
    );
    if (!current) return;
    const { title, kind, text } = current;
    await dialogs.rows(title, (columns) => rowsOf(text, kind, { columns, palette, texts }));
  }
}

interface RowsView {
  readonly columns: number;
  readonly palette: Palette;
  readonly texts: TranscriptTexts;
}

function rowsOf(text: string, kind: Folded["kind"], { columns, palette, texts }: RowsView): string[] {
  if (kind === "diff") {
    const fit = (line: string) => fitDisplay(line, Number.MAX_SAFE_INTEGER);
    return diffLines(text, { palette, maxLines: Infinity, more: texts.moreLines, fit })
      .flatMap((line) => rowsOfLine(line, columns));
  }
  const safe = terminalSafe(text.replaceAll("\t", "  ")).split("\n");
  const lines = kind === "thought" ? safe.flatMap((line) => wrapText(line, columns, displayWidth)) : safe;
  return lines.flatMap((line) => rowsOfLine(line, columns));
}
