import { withJail } from "../../../assembly/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import { terminalSafe } from "../../../util/terminal_text.ts";
import type { CommandBody } from "../../command.ts";

export const command: CommandBody = {
  async run(host) {
    const texts = await loadTexts("reasons", host.locale);
    const { paths, loaded, workspace } = await host.session();
    const lines = await withJail({ paths, loaded, workspace }, (jail) => [
      texts.confinement(jail.confinement(paths.cwd), jail.describe(paths.cwd)),
      "",
      ...jail.data.rejected.map(({ backend, reason }) => `- ${backend}: ${reason}`),
    ]);
    host.say(terminalSafe(lines.join("\n").trimEnd()));
  },
};
