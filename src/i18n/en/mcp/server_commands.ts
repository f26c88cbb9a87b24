/** What commands about MCP servers say. */
export const texts = {
  surplus: (name: string, text: string) => `Cannot run /${name}: it has no argument for "${text}"`,
  missing: (name: string, argument: string) => `Cannot run /${name}: it needs "${argument}"`,
  usage: (usage: string) => `write ${usage}, or name=value; quotes hold blanks together`,
  asksArgument: (server: string, prompt: string, argument: string, description: string) =>
    `${server}: ${prompt} needs "${argument}"${description === "" ? "" : `: ${description}`}`,
  promptLeft: (name: string) => `/${name} was not sent`,
  emptyPrompt: (name: string) => `Cannot send /${name}: the server gave no text for it`,
  tryOther: "try other arguments",
};
