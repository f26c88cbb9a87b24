import { contextReportOf, contextText } from "../../../assembly/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import type { CommandBody } from "../../command.ts";

export const command: CommandBody = {
  async run(host) {
    const { loaded, inputs, session, servers } = await host.session();
    const { contextReport } = await loadTexts("report_commands", host.locale);
    const report = await contextReportOf({ loaded, inputs, state: session.state, servers });
    host.say(contextText(report, contextReport), "plain");
  },
};
