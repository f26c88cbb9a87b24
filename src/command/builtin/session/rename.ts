import { ReasonixError } from "../../../core/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import { oneLine } from "../../../util/terminal_text.ts";
import type { CommandBody } from "../../command.ts";

export const command: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("session_commands", host.locale);
    const title = oneLine(argument, 200);
    if (title === "") {
      throw new ReasonixError(texts.noNewTitle, { exit: "usage", remedy: texts.noNewTitleRemedy });
    }
    const { recorder } = (await host.session()).controller;
    await recorder.record({ type: "session.rename", title });
    await recorder.sync();
    host.say(texts.renamed(title));
  },
};
