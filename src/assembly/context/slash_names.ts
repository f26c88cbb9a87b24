/** Names of the commands of the program itself, which a line can begin with. */
export const SLASH_COMMANDS = ["compact", "context", "help", "skills"] as const;
