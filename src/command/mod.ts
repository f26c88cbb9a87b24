/** Slash commands: what a line that begins with `/name` does, in every front end. */
export type {
  Choice,
  ChooseOptions,
  CommandHost,
  ConfirmOptions,
  OpenRequest,
  SlashCommand,
} from "./command.ts";
export { allCommands, readCommand } from "./registry.ts";
