import { displayWidth as width } from "../../src/util/display_width.ts";
import { wrapText } from "../../src/view/mod.ts";
import type { CliContext } from "./process.ts";
import { outputWidth } from "./display.ts";

const HELP_WIDTH = 80;

/** From now on what is printed is fitted to the terminal, and to 80 columns at most. */
export function fitHelp({ process }: CliContext): void {
  const { stdout } = process;
  const columns = Math.min(outputWidth() ?? HELP_WIDTH, HELP_WIDTH);
  Object.assign(process, {
    stdout: { ...stdout, write: (help: string) => stdout.write(forReader(help, columns)) },
  });
}

/** Part of the width that the names on the left of a list may take. */
const MOST_NAMES = 0.45;

/**
 * A text as a person reads it on the terminal that standard output is; anything else gets it as it is. Lines
 * that are too wide are broken: a description continues under its beginning, or under its
 * name where names leave too little width; lists with bars (`a|b`) may break after each bar.
 */
export function forReader(text: string, columns: number = outputWidth() ?? Infinity): string {
  return text.split("\n").flatMap((line) =>
    width(line.trimEnd()) <= columns ? [line.trimEnd()] : narrowed(line.trimEnd(), columns)
  ).join("\n");
}

function narrowed(line: string, columns: number): string[] {
  const [, name = "", description = ""] = /^(\s*(?:-\w\s+)?\S+(?: \S+)*?\s{2,})(\S.*)$/.exec(line) ?? [];
  const margin = /^\s*(?:[-·] )?/.exec(line)?.[0].length ?? 0;
  if (name === "") {
    const indent = margin + (/^\s*reasonix /.test(line) ? 2 : 0);
    return block(line.slice(0, margin), line.slice(margin), indent);
  }
  if (width(name) <= columns * MOST_NAMES) return block(name, description, width(name));
  const indent = Math.max(8, margin + 2);
  return [name.trimEnd(), ...block(" ".repeat(indent), description, indent)];

  function block(start: string, body: string, indent: number): string[] {
    const space = Math.max(10, columns - indent);
    const lines = wrapText(broken(body.replace(/\s+/g, " "), space), space, width);
    return lines.map((text, at) => (at === 0 ? start : " ".repeat(indent)) + text);
  }
}

/** Adds a space in lists that are wider than the line, so that each part fits. */
function broken(text: string, space: number): string {
  return text.split(" ").map((word) => {
    if (word.length <= space || !word.includes("|")) return word;
    const parts: string[] = [];
    for (const piece of word.match(/[^|]+\|?/g) ?? []) {
      const last = parts.at(-1);
      if (last === undefined || last.length + piece.length > space) parts.push(piece);
      else parts[parts.length - 1] = last + piece;
    }
    return parts.join(" ");
  }).join(" ");
}
