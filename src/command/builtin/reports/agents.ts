import { loadAgentList } from "../../../assembly/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import { oneLine } from "../../../util/terminal_text.ts";
import type { CommandBody } from "../../command.ts";

export const command: CommandBody = {
  async run(host) {
    const texts = await loadTexts("report_commands", host.locale);
    const { paths, loaded } = await host.session();
    const { agents, warnings } = await (await loadAgentList()).agentList(paths, loaded);
    const lines = agents.map(({ name, description, readOnly, usable, reference }) => {
      const facts = [
        ...(readOnly ? [texts.agents.readOnly] : []),
        ...(reference === undefined ? [] : [reference]),
        ...(usable ? [] : [texts.agents.untrusted]),
      ];
      return `- \`${name}\`${facts.length > 0 ? ` (${facts.join(", ")})` : ""}: ${oneLine(description, 160)}`;
    });
    const wrong = warnings.map(({ path, line, text }) => `- ${path}:${line}: ${text}`);
    host.say([...lines, ...(wrong.length > 0 ? ["", ...wrong] : [])].join("\n"));
  },
};
