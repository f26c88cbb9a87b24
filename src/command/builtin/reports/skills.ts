import { loadTexts } from "../../../i18n/mod.ts";
import { oneLine } from "../../../util/terminal_text.ts";
import type { CommandBody } from "../../command.ts";

export const command: CommandBody = {
  async run(host) {
    const texts = await loadTexts("report_commands", host.locale);
    const { skills } = (await host.session()).inputs.skillSet;
    const lines = skills.map(({ name, description, slash, scope }) =>
      `- ${slash ? `\`/${name}\`` : name} (${texts.scopes[scope]}): ${oneLine(description, 160)}`
    );
    host.say(lines.length === 0 ? texts.noSkills : lines.join("\n"));
  },
};
