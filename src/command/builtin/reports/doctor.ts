import { loadTexts } from "../../../i18n/mod.ts";
import type { CommandBody } from "../../command.ts";
import { diagnose, reportText } from "../../doctor/mod.ts";

export const command: CommandBody = {
  async run(host, argument) {
    const { paths, loaded } = await host.session();
    const locale = host.locale;
    const texts = await loadTexts("doctor", locale);
    const online = argument === "online" || argument === "--online";
    const report = await diagnose(paths, { online, loaded, locale, texts, warnings: [] });
    host.say(await reportText(report, texts), "plain");
  },
  complete: () => [{ value: "online" }],
};
