import type { SlashCommand } from "./command.ts";

/** The commands of the program: one line per file. */
export const COMMANDS: Readonly<Record<string, () => Promise<{ readonly command: SlashCommand }>>> = {
  help: () => import("./builtin/help.ts"),
  quit: () => import("./builtin/quit.ts"),
};
