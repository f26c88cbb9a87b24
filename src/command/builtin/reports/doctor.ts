import { loadTexts } from "../../../i18n/mod.ts";
import type { CommandBody } from "../../command.ts";
import { diagnose, reportText } from "../../doctor/mod.ts";

export const command: CommandBody = {
  async run(host, argument) {
    const { paths, loaded } = await host.session();
    const locale = host.locale;
    const texts = await loadTexts("doctor", locale);
    const words = argument.split(/\s+/).map((word) => word.replace(/^--/, ""));
    const online = words.includes("online");
    const report = await diagnose(paths, { online, loaded, locale, texts, warnings: [] });
    host.say(await reportText(report, texts, { verbose: words.includes("verbose") }), "plain");
  },
  complete: () => [{ value: "online" }, { value: "verbose" }],
};
