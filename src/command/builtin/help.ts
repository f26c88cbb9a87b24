import type { SlashCommand } from "../command.ts";

export const command: SlashCommand = {
  name: "help",
  brief: "List the commands",
  async run(host) {
    const lines = (await host.commands()).map(({ name, argumentHint = "", brief }) =>
      `- \`/${[name, argumentHint].filter(Boolean).join(" ")}\` ${brief}`
    );
    host.say(lines.join("\n"));
  },
};
