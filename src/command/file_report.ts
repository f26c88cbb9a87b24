import type { FileReport } from "../control/mod.ts";
import type { Texts } from "../i18n/mod.ts";
import { oneLine, terminalSafe } from "../util/terminal_text.ts";

const SHOWN_PATHS = 10;

/** What a rewind did to files, one line each, as Markdown. */
export function fileReportText(
  { restored, failed, uncovered }: FileReport,
  texts: Texts["session_commands"],
): string {
  const lines = restored.map(({ action, path, alsoByUser }) =>
    `- ${texts.restored[action]} \`${oneLine(path, 400)}\`${alsoByUser ? texts.alsoByUser : ""}`
  );
  if (restored.length + failed.length === 0) lines.push(texts.noFile);
  for (const { path, reason } of failed) {
    lines.push(`- ${texts.notRestored(oneLine(path, 400), terminalSafe(reason))}`);
  }
  if (uncovered[0] === ".") lines.push("", texts.tooManyFiles);
  else if (uncovered.length > 0) lines.push("", texts.uncovered(pathList(uncovered, texts)));
  return lines.join("\n");
}

/** Paths in one line; of many only the first. */
export function pathList(paths: readonly string[], texts: Texts["session_commands"]): string {
  const names = paths.slice(0, SHOWN_PATHS).map((path) => oneLine(path, 200)).join(", ");
  return paths.length > SHOWN_PATHS ? texts.andMore(names, paths.length - SHOWN_PATHS) : names;
}
