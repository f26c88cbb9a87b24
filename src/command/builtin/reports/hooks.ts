import { loadHookList } from "../../../assembly/mod.ts";
import { formatLocation } from "../../../core/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import { oneLine } from "../../../util/terminal_text.ts";
import type { CommandBody } from "../../command.ts";

export const command: CommandBody = {
  async run(host) {
    const { hooks: texts } = await loadTexts("report_commands", host.locale);
    const { paths, loaded } = await host.session();
    const rows = await (await loadHookList()).hookRows(loaded, paths);
    const lines = rows.map(({ event, matcher, command, place, state, failure, why }) => {
      const facts = [
        ...(state === "on" ? [] : [texts[state]]),
        ...(failure === "closed" ? [texts.closed] : []),
        ...(place ? [formatLocation(place)] : []),
        ...(state === "untrusted" || why === undefined ? [] : [why]),
      ];
      const about = matcher === "" || matcher === "*" ? "" : ` \`${matcher}\``;
      return `- ${event}${about}: \`${oneLine(command, 120)}\`${
        facts.length > 0 ? ` (${facts.join(", ")})` : ""
      }`;
    });
    host.say(lines.length === 0 ? texts.none : lines.join("\n"));
  },
};
