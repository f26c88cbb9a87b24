import type { EventOf } from "../../../core/mod.ts";
import { displayWidth, fitDisplay } from "../../../util/display_width.ts";
import { terminalSafe } from "../../../util/terminal_text.ts";
import { attachments, userText } from "../../../util/user_text.ts";
import { type Palette, wrapText } from "../../../view/mod.ts";
import { rowsOfLine } from "./rows.ts";
import type { TranscriptTexts } from "./texts.ts";

/** Rows of a message of the user that are shown again. */
const MOST = 20;

export interface UserView {
  readonly columns: number;
  readonly palette: Palette;
  readonly texts: TranscriptTexts;
}

/** What the user said, with a mark before it, and what he gave with it. */
export function userRows(event: EventOf<"message.user">, { columns, palette, texts }: UserView): string[] {
  const steer = event.origin === "steer";
  const room = Math.max(1, columns - 2);
  const text = terminalSafe(userText(event.content)).replaceAll("\t", "  ").trimEnd();
  const rows = wrapText(text, room, displayWidth).flatMap((line) => rowsOfLine(line, room));
  const shown = rows.length > MOST + 1 ? rows.slice(0, MOST) : rows;
  const left = rows.length - shown.length;
  const images = event.images?.length ?? 0;
  const given = [
    ...attachments(event.content).map(terminalSafe),
    ...(images > 0 ? [texts.image(images)] : []),
  ];
  const details = [
    ...(left > 0 ? [texts.moreLines(left)] : []),
    ...given.map((name) => `+ ${name}`),
    ...(steer ? [texts.steered] : []),
  ];
  return [
    ...shown.map((row, index) =>
      `${index > 0 ? "  " : palette.accent(steer ? "↪ " : "> ")}${palette.user(row)}`
    ),
    ...details.map((line) => `  ${palette.dim(fitDisplay(line, room))}`),
  ];
}
