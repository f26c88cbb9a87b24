import { setConfigValue, userConfigFile } from "../../../config/mod.ts";
import { ReasonixError } from "../../../core/mod.ts";
import { loadTexts, type Locale, LOCALES } from "../../../i18n/mod.ts";
import type { CommandBody } from "../../command.ts";

/** Languages in their own words. */
const NAMES: Readonly<Record<Locale, string>> = { "en": "English", "zh-CN": "简体中文" };

export const command: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("setting_commands", host.locale);
    if (argument === "" && host.headless) {
      return host.say(LOCALES.map((each) => `- ${each}: ${NAMES[each]}`).join("\n"));
    }
    const wanted = argument || await host.choose(
      texts.whichLanguage,
      LOCALES.map((value) => ({ label: NAMES[value], detail: value, value })),
      { current: LOCALES.indexOf(host.locale) },
    );
    if (wanted === undefined) return;
    const locale = LOCALES.find((each) => [each, NAMES[each]].some((name) => isSame(name, wanted)));
    if (locale === undefined) {
      throw new ReasonixError(texts.noLanguage(wanted), {
        exit: "usage",
        remedy: texts.languagesAre(LOCALES.join(", ")),
      });
    }
    const { paths } = await host.session();
    const { env } = paths;
    await setConfigValue(userConfigFile(paths), "language", locale);
    await host.settingSaved?.("language", locale);
    const said = await loadTexts("setting_commands", locale);
    const stronger = ["REASONIX_LANG", "AGENT_LANG"].find((name) => (env(name) ?? "") !== "");
    host.say(stronger === undefined ? said.languageIs(NAMES[locale]) : said.languageLater(stronger));
  },
  complete: () => LOCALES.map((value) => ({ value, detail: NAMES[value] })),
};

/** Takes `zh` for `zh-CN`, in any case of letters. */
function isSame(name: string, wanted: string): boolean {
  const [a, b] = [name.toLowerCase(), wanted.toLowerCase().replace("_", "-")];
  return a === b || a.split("-")[0] === b;
}
