import { contextReportOf, contextText } from "../../../assembly/mod.ts";
import type { CommandBody } from "../../command.ts";

export const command: CommandBody = {
  async run(host) {
    const { loaded, inputs, session } = await host.session();
    host.say(contextText(await contextReportOf({ loaded, inputs, state: session.state })), "plain");
  },
};
