import { argument, command, optional } from "../command.ts";
import { usageError } from "../../src/core/mod.ts";
import { suggestNames } from "../../src/util/suggest.ts";
import { loadMarkdown, palette } from "../../src/view/mod.ts";
import { displayOf } from "../terminal/display.ts";
import { loadPages } from "../terminal/pages.ts";
import type { CliContext } from "../terminal/process.ts";

/** Prints a page of this version's documentation, or which ones there are. */
async function docs(this: CliContext, _flags: unknown, name?: string): Promise<void> {
  const { stdout } = this.process;
  const pages = await loadPages();
  if (name === undefined) {
    const width = Math.max(...Object.keys(pages).map((key) => key.length));
    const lines = Object.entries(pages).map(([key, text]) => `  ${key.padEnd(width)}  ${titleOf(text)}\n`);
    stdout.write(`Pages, to be read with reasonix docs NAME:\n${lines.join("")}`);
    return;
  }
  const wanted = name.toLowerCase().replace(/\.md$/, "").replace(/^.*\//, "");
  const page = Object.entries(pages).find(([key]) => key === wanted || key.endsWith(`/${wanted}`))?.[1];
  if (page === undefined) {
    const [guess] = suggestNames(wanted, Object.keys(pages), 1);
    throw usageError(
      `Cannot find the page ${JSON.stringify(name)}`,
      guess === undefined ? "reasonix docs lists them" : `did you mean ${guess}? reasonix docs lists them`,
    );
  }
  const { terminal, columns, outColor } = displayOf(this);
  const renderer = terminal
    ? await loadMarkdown({ palette: palette(outColor) }).catch(() => undefined)
    : undefined;
  await renderer?.prepare(page);
  stdout.exact(renderer ? `${renderer.render(unwrapped(page), columns()).join("\n")}\n` : page);
}

/** Lines that begin a block: headings, tables, lists, fences. */
const OWN = /^\s*(?:#|\||[-*] |\d+\. |`{3}|>|$)/;

/** The text with each paragraph on one line, so that it wraps at the width of the terminal. */
function unwrapped(text: string): string {
  const lines: string[] = [];
  let isCode = false;
  for (const line of text.split("\n")) {
    const before = lines.at(-1) ?? "";
    const isProse = !isCode && !OWN.test(line) && before !== "" && !/^\s*(?:#|\||`{3})/.test(before);
    if (isProse) lines[lines.length - 1] = `${before} ${line.trim()}`;
    else lines.push(line);
    if (/^\s*`{3}/.test(line)) isCode = !isCode;
  }
  return lines.join("\n");
}

function titleOf(text: string): string {
  return /^# (.+)$/m.exec(text)?.[1] ?? "";
}

export const docsCommand = command({ args: [optional(argument("Page to print", "page"))], run: docs });
