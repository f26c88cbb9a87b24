import { terminalSafe } from "../util/terminal_text.ts";

/** The last lines of a command's output, without that about its exit code, and how many lie before them. */
export function outputTail(
  content: string,
  maxLines: number,
): { readonly lines: string[]; readonly before: number } {
  const lines = content.replace(/\n?\[exit code \d+\]\s*$/, "").trimEnd().split("\n");
  const all = lines.length === 1 && lines[0] === "" ? [] : lines;
  const kept = all.slice(-maxLines).map((line) => terminalSafe(line.replaceAll("\t", "  ")));
  return { lines: kept, before: all.length - kept.length };
}
