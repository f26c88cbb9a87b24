import type { SlashCommand } from "../command.ts";

export const command: SlashCommand = {
  name: "quit",
  aliases: ["exit"],
  brief: "Leave; the session is kept",
  run: (host) => host.quit(),
};
