import { getConfigValue } from "../../../config/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import { isRecord } from "../../../util/json.ts";
import { oneLine } from "../../../util/terminal_text.ts";
import type { CommandBody } from "../../command.ts";

export const command: CommandBody = {
  async run(host) {
    const texts = await loadTexts("report_commands", host.locale);
    const { loaded } = await host.session();
    const configured = getConfigValue(loaded, "plugins");
    const servers = Array.isArray(configured) ? configured.filter(isRecord) : [];
    const waiting = loaded.needsTrust.filter(({ kind }) => kind === "plugin");
    const names = [...servers, ...waiting].map(({ name }) => String(name));
    const lines = names.map((name) => `- ${oneLine(name, 80)}`);
    host.say(names.length === 0 ? texts.noMcp : [texts.mcpNotStarted, "", ...lines].join("\n"));
  },
};
