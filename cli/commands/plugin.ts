/** Plugins that come with the program: each is started by its name. */
import process from "node:process";
import { argument, type CommandGroup, entry } from "../command.ts";
import type { CliContext } from "../terminal/process.ts";
import { mainModule } from "../release/channel.ts";
import { message, ReasonixError } from "../../src/core/mod.ts";
import { type PluginInfo, PLUGINS } from "../../plugins/plugins.ts";

const starts = PLUGINS.map((info) => [
  info.name,
  entry(info.brief, {
    description: descriptionOf(info),
    rest: argument("A command of the plugin and its arguments; none: serve a client", "command"),
    run() {
      return start(this);
    },
  }),
]);

export const pluginCommands: CommandGroup = { commands: { ...Object.fromEntries(starts) } };

function descriptionOf({ brief, commands = [] }: PluginInfo): string {
  const rows = commands.map(({ name, brief, usage = "" }) => [`  ${name} ${usage}`.trimEnd(), brief]);
  const width = Math.max(...rows.map(([words = ""]) => words.length));
  const list = rows.map(([words = "", brief]) => `${words.padEnd(width)}  ${brief}`);
  const served = `${brief}. Without a command it is an MCP server on standard input and output.`;
  return list.length === 0 ? served : `${served}\n\nCommands of the plugin\n${list.join("\n")}`;
}

/** The file of plugins reads the same arguments. */
async function start(context: CliContext): Promise<void> {
  const program = mainModule();
  const file = new URL(program.endsWith(".ts") ? "../plugins/main.ts" : "./reasonix.plugins.js", program);
  await import(file.href).catch((error) => {
    if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new ReasonixError(message`Cannot load the plugin: ${file.pathname} is not there`, {
      remedy: message`copy it next to ${program.replace(/^.*\//, "")}, or install the program again`,
    });
  });
  context.process.exitCode = process.exitCode ?? 0;
}
