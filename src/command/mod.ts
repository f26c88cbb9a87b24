/** Slash commands: what a line that begins with `/name` does, in every front end. */
import { lazy } from "../util/lazy.ts";

export type {
  ArgumentValue,
  ChangedFile,
  Choice,
  ChooseOptions,
  CommandBody,
  CommandHost,
  ConfirmOptions,
  OpenRequest,
  PromptOptions,
  SlashCommand,
  WebAction,
} from "./command.ts";
export { allCommands, type CommandScope, plainText, readCommand } from "./registry.ts";
export type { CommandReport, LineOptions, LineOutcome } from "./headless.ts";

export const loadMarkdownCommands = lazy(() => import("./markdown/markdown_commands.ts"));

export const loadCopy = lazy(() => import("./copy.ts"));

export const loadModels = lazy(() => import("./models.ts"));

export const loadHeadless = lazy(() => import("./headless.ts"));
