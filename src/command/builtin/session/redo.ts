import { redoTarget, rewind } from "../../../control/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import type { CommandBody } from "../../command.ts";
import { fileReportText } from "../../file_report.ts";

export const command: CommandBody = {
  async run(host) {
    const texts = await loadTexts("session_commands", host.locale);
    const { rewindable } = await host.session();
    const target = redoTarget(rewindable.recorder.state);
    const report = await rewind(rewindable, target);
    const files = target.scope === "conversation" ? "" : `\n\n${fileReportText(report, texts)}`;
    host.say(`${texts.redone}${files}`);
  },
};
