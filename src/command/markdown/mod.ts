/** Commands that Markdown files of the project and of the user bring. */
export { commandsOf, slashCommand, trustItemOf } from "./markdown_command.ts";
