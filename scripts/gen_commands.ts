/**
 * Writes docs/commands.md: the help of every command, as the program prints it. `deno run -A
 * scripts/gen_commands.ts`; a test fails while the page is not current.
 */
import { generateHelpTextForAllCommands } from "@stricli/core";
import { app } from "../cli/app.ts";

const PAGE = new URL("../docs/commands.md", import.meta.url);

const HEAD = `# Commands

The help of every command, as \`reasonix COMMAND --help\` prints it. \`reasonix -p\` is \`reasonix run\`. This page
is written by \`deno task gen\`.
`;

/** The whole page. */
export function commandsPage(): string {
  const hidden = /^reasonix complete\b/;
  const sections = generateHelpTextForAllCommands(app as never).filter(([name]) => !hidden.test(name)).map(
    ([name, help]) => `## ${name}\n\n\`\`\`text\n${help.trimEnd()}\n\`\`\`\n`,
  );
  return [HEAD, ...sections].join("\n");
}

if (import.meta.main) await Deno.writeTextFile(PAGE, commandsPage());
