import { ReasonixError } from "../core/mod.ts";
import { suggestNames } from "../util/suggest.ts";
import { COMMANDS } from "./builtins.ts";
import type { SlashCommand } from "./command.ts";

/** All commands, in the order of the list. */
export async function allCommands(): Promise<readonly SlashCommand[]> {
  return await Promise.all(Object.values(COMMANDS).map(async (load) => (await load()).command));
}

/** A line that begins with the name of a command. */
export interface CommandLine {
  readonly command: SlashCommand;
  readonly argument: string;
}

/**
 * Reads a line that may begin with `/name`; undefined for every other text, such as a path. Throws
 * ReasonixError (usage) for a name that no command has.
 */
export async function readCommand(line: string): Promise<CommandLine | undefined> {
  const match = /^\/([A-Za-z][\w:-]*)(?:\s+([\s\S]*))?$/.exec(line.trim());
  if (!match) return undefined;
  const [, name = "", argument = ""] = match;
  const commands = await allCommands();
  const command = commands.find((each) => each.name === name || each.aliases?.includes(name));
  if (command) return { command, argument: argument.trim() };
  const near = suggestNames(name, commands.map((each) => each.name));
  throw new ReasonixError(`Cannot run /${name}: there is no such command`, {
    exit: "usage",
    remedy: near.length > 0 ? `did you mean /${near.join(" or /")}?` : "/help lists the commands",
  });
}
