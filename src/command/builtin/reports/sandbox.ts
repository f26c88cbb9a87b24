import { withJail } from "../../../assembly/mod.ts";
import { terminalSafe } from "../../../util/terminal_text.ts";
import type { CommandBody } from "../../command.ts";

export const command: CommandBody = {
  async run(host) {
    const { paths, loaded, workspace } = await host.session();
    const lines = await withJail({ paths, loaded, workspace }, (jail) => [
      jail.describe(paths.cwd),
      "",
      ...jail.data.rejected.map(({ backend, reason }) => `- ${backend}: ${reason}`),
    ]);
    host.say(terminalSafe(lines.join("\n").trimEnd()));
  },
};
