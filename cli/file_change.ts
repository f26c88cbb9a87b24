/** Changes of configuration files that a command makes: written, and shown as lines. */
import { displayOf } from "./terminal/display.ts";
import type { CliContext } from "./terminal/process.ts";
import { loadServerEdits } from "../src/config/mod.ts";
import { errorMessage, message, ReasonixError } from "../src/core/mod.ts";
import { terminalSafe } from "../src/util/terminal_text.ts";
import { palette } from "../src/view/mod.ts";

type FileChange = Awaited<ReturnType<Awaited<ReturnType<typeof loadServerEdits>>["addEntry"]>>;

export async function writeChange(
  { path, after }: FileChange,
  options: { readonly shared: boolean },
): Promise<void> {
  const { writeConfig } = await loadServerEdits();
  await writing(path, () => writeConfig(path, after, options));
}

export async function writing(path: string, write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (cause) {
    if (cause instanceof ReasonixError) throw cause;
    throw new ReasonixError(message`Cannot write ${path}: ${errorMessage(cause)}`, {
      exit: "config",
      remedy: message`make the file and its directory writable, then try again`,
      cause,
    });
  }
}

/** The lines of the file that are new and those that are gone, which follow each other. */
export function changedLines(context: CliContext, { before, after }: FileChange): string {
  const { added, removed } = palette(displayOf(context).outColor);
  const old = before.split(/\r?\n/);
  const now = after.split(/\r?\n/);
  const most = Math.min(old.length, now.length);
  let end = 0;
  while (end < most && old.at(-1 - end) === now.at(-1 - end)) end++;
  let start = 0;
  while (start < most - end && old[start] === now[start]) start++;
  const shown = (lines: readonly string[], mark: "+" | "-") =>
    lines.slice(start, lines.length - end).filter((line) => line !== "").map((line) => {
      const text = `  ${mark} ${terminalSafe(line)}`;
      return `${mark === "+" ? added(text) : removed(text)}\n`;
    });
  return [...shown(old, "-"), ...shown(now, "+")].join("");
}
