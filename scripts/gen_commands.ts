/**
 * Writes docs/commands.md, the help of every command as the program prints it, the list in
 * docs/commands-chat.md, and the keys in docs/full-screen.md. `deno run -A scripts/gen_commands.ts`; a test
 * fails while a page is not current.
 */
import { generateHelpTextForAllCommands } from "@stricli/core";
import { appFor } from "../cli/app.ts";
import { installHelp } from "../cli/help.ts";
import { allCommands } from "../src/command/mod.ts";
import { FRONTENDS } from "../src/frontend/frontends.ts";
import { loadTexts } from "../src/i18n/mod.ts";

const PAGE = new URL("../docs/commands.md", import.meta.url);
const CHAT_PAGE = new URL("../docs/commands-chat.md", import.meta.url);
const FULL_SCREEN_PAGE = new URL("../docs/full-screen.md", import.meta.url);

const HEAD = `# Commands

The help of every command, as \`reasonix COMMAND --help-all\` prints it; \`--help\` leaves out the flags that only
scripts for Claude Code use. \`reasonix -p\` is \`reasonix run\`. This page is written by \`deno task gen\`; the
commands that begin with a slash are in [commands-chat.md](commands-chat.md).
`;

/** The whole page. */
export async function commandsPage(): Promise<string> {
  const app = await appFor("all");
  installHelp(app, { all: true });
  const hidden = /^reasonix complete\b/;
  const sections = generateHelpTextForAllCommands(app as never).filter(([name]) => !hidden.test(name)).map(
    ([name, help]) => `## ${name}\n\n\`\`\`text\n${help.trimEnd()}\n\`\`\`\n`,
  );
  return [HEAD, ...sections].join("\n");
}

/** The page of slash commands with its list as it is now. */
export async function chatCommandsPage(page: string): Promise<string> {
  const rows = (await allCommands()).map(({ name, aliases = [], argumentHint = "", brief, chatOnly }) => [
    `\`/${[name, argumentHint.replaceAll("|", "\\|")].filter(Boolean).join(" ")}\``,
    aliases.map((alias) => `\`/${alias}\``).join(", "),
    chatOnly ? "" : "yes",
    brief,
  ]);
  const titles = ["command", "also", "in `run`", "what it does"];
  return withTable(page, titles, rows);
}

/** The page of the full-screen view with its keys as they are now. */
export async function fullScreenPage(page: string): Promise<string> {
  const [full, composer] = await Promise.all([loadTexts("full", "en"), loadTexts("composer", "en")]);
  const { fullKeyHelp } = await (await FRONTENDS.repl()).loadFullKeys();
  const rows = fullKeyHelp(full, composer).map(({ keys, what }) => [
    keys.map((key) => key.length === 1 ? `\`${key}\`` : key).join(", "),
    what,
  ]);
  return withTable(page, ["key", "what it does"], rows);
}

/** The page with a table in its place. */
function withTable(page: string, titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = titles.map((title, at) =>
    Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0))
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
  const table = [line(titles), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
  return page.replace(/(<!-- list -->\n)[\s\S]*?(<!-- end of list -->)/, `$1\n${table}\n\n$2`);
}

if (import.meta.main) {
  await Deno.writeTextFile(PAGE, await commandsPage());
  await Deno.writeTextFile(CHAT_PAGE, await chatCommandsPage(await Deno.readTextFile(CHAT_PAGE)));
  await Deno.writeTextFile(FULL_SCREEN_PAGE, await fullScreenPage(await Deno.readTextFile(FULL_SCREEN_PAGE)));
}
