import { loadTexts } from "../../../i18n/mod.ts";
import { checklist } from "../../../tool/mod.ts";
import type { CommandBody } from "../../command.ts";

export const command: CommandBody = {
  async run(host) {
    const { todos } = (await host.session()).session.state;
    if (todos.length > 0) return host.say(checklist(todos), "plain");
    host.say((await loadTexts("report_commands", host.locale)).noTodos);
  },
};
