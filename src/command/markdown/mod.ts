/** Commands that Markdown files of the project and of the user bring. */
export { commandsOf, slashCommand, trustItemOf } from "./commands.ts";
