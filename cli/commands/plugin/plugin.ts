/** Plugins that come with the program: each is started by its name. */
import process from "node:process";
import { argument, type CommandGroup, entry } from "../../command.ts";
import { bundleCommands, removeBundle } from "./bundles.ts";
import { entryCommands, removeEntry } from "./entries.ts";
import { isExecutable, mainModule } from "../../release/channel.ts";
import { forReader } from "../../terminal/narrow.ts";
import { openConfig } from "../../terminal/open.ts";
import { type CliContext, runInPlace } from "../../terminal/process.ts";
import { message, usageError } from "../../../src/core/mod.ts";
import { loadPluginStart } from "../../../src/features/mod.ts";
import { isRecord, parseJson } from "../../../src/util/json.ts";
import { suggestNames } from "../../../src/util/suggest.ts";
import { type PluginInfo, PLUGINS } from "../../../plugins/plugins.ts";

const starts = PLUGINS.map((info) => [
  info.name,
  entry(info.brief, {
    description: descriptionOf(info),
    rest: argument(
      "A command of the plugin and its arguments; none: serve a client",
      "command",
      "pluginCommands",
    ),
    async run(_flags, ...words) {
      const isHelp = words.slice(0, words.includes("--") ? words.indexOf("--") : undefined)
        .some((word) => word === "--help" || word === "-h");
      if (isHelp) return this.process.stdout.write(forReader(`${descriptionOf(info)}\n`));
      requireCommand(info, words[0]);
      await start(this, info, words.toSpliced(words.indexOf("--") >>> 0, 1));
    },
  }),
]);

export const pluginCommands: CommandGroup = {
  commands: {
    ...entryCommands,
    ...bundleCommands,
    remove: entry("Remove a plugin that was set up, or an installed bundle", {
      args: [argument("Name of the plugin or bundle", "name", "removable")],
      async run(_flags, name) {
        if (!(await removeEntry(this, name))) await removeBundle(this, name, PLUGINS);
      },
    }),
    ...Object.fromEntries(starts),
  },
};

function descriptionOf({ brief, commands = [] }: PluginInfo): string {
  const rows = commands.map(({ name, brief, usage = "" }) => [`  ${name} ${usage}`.trimEnd(), brief]);
  const width = Math.max(...rows.map(([words = ""]) => words.length));
  const list = rows.map(([words = "", brief]) => `${words.padEnd(width)}  ${brief}`);
  const served = `${brief}. Without a command it is an MCP server on standard input and output.`;
  return list.length === 0 ? served : `${served}\n\nCommands of the plugin\n${list.join("\n")}`;
}

function requireCommand({ name, commands = [] }: PluginInfo, word: string | undefined): void {
  const names = commands.map((each) => each.name);
  if (word === undefined || names.includes(word)) return;
  const [near] = suggestNames(word, names, 1);
  throw usageError(
    message`The plugin ${name} has no command ${JSON.stringify(word)}`,
    near !== undefined
      ? message`did you mean ${near}?`
      : names.length > 0
      ? message`there are ${names.join(", ")}`
      : message`start it without a command`,
  );
}

/**
 * Runs a plugin in a process with its permissions. An executable cannot narrow itself: it runs the plugin
 * within this process.
 */
async function start(context: CliContext, info: PluginInfo, words: readonly string[]): Promise<void> {
  const isWithin = isExecutable();
  if (!isWithin || context.process.env.REASONIX_PLUGIN_CONTEXT === undefined) {
    const { pluginStart } = await loadPluginStart();
    const settings = givenSettings(context);
    const command = await pluginStart(await openConfig(context), info, { settings, words });
    if (!isWithin) {
      context.process.exitCode = await runInPlace(command);
      return;
    }
    Object.assign(process.env, command.env);
  }
  await import(new URL("./reasonix.plugins.js", mainModule()).href);
  context.process.exitCode = process.exitCode ?? 0;
}

/** Settings that another MCP client gives to the plugin. */
function givenSettings({ process: { env } }: CliContext): Readonly<Record<string, unknown>> | undefined {
  const text = env.REASONIX_PLUGIN_SETTINGS;
  if (text === undefined || text === "") return undefined;
  const value = parseJson(text);
  if (isRecord(value)) return value;
  throw usageError(
    message`Cannot read REASONIX_PLUGIN_SETTINGS: it is no JSON object`,
    message`write for example ${'{"key": "value"}'}`,
  );
}
