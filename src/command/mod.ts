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
  SlashCommand,
} from "./command.ts";
export { allCommands, type CommandScope, plainText, readCommand } from "./registry.ts";
export type { CommandReport, LineOptions, LineOutcome } from "./headless.ts";

/** Commands of Markdown files. */
export const loadMarkdownCommands = lazy(() => import("./markdown/markdown_commands.ts"));

/** The models that can be chosen. */
export const loadModels = lazy(() => import("./models.ts"));

/** Lines of a non-interactive run. */
export const loadHeadless = lazy(() => import("./headless.ts"));
