import { listSettings, type LoadedConfig, setConfigValue, userConfigFile } from "../../../config/mod.ts";
import { ReasonixError } from "../../../core/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import type { CommandBody } from "../../command.ts";

const KEY = "ui.theme";

export const command: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("setting_commands", host.locale);
    const { loaded, paths } = await host.session();
    const { themes, current } = themesOf(loaded);
    if (argument === "" && host.headless) {
      return host.say(themes.map((name) => `${name === current ? "*" : "-"} ${name}`).join("\n"));
    }
    const theme = argument || await host.choose(
      texts.whichTheme,
      themes.map((name) => ({
        label: name,
        value: name,
        ...(name === current ? { detail: texts.current } : {}),
      })),
      // The panel itself shows what each looks like.
      {
        current: Math.max(0, themes.indexOf(current)),
        onMove: (name) => void host.settingSaved?.(KEY, name),
      },
    );
    if (theme === undefined) return await host.settingSaved?.(KEY, current);
    if (!themes.includes(theme)) {
      throw new ReasonixError(texts.noTheme(theme), {
        exit: "usage",
        remedy: texts.themesAre(themes.join(", ")),
      });
    }
    await setConfigValue(userConfigFile(paths), KEY, theme);
    await host.settingSaved?.(KEY, theme);
    host.say(texts.themeIs(theme));
  },
  async complete(host) {
    const texts = await loadTexts("setting_commands", host.locale);
    const { themes, current } = themesOf((await host.session()).loaded);
    return themes.map((value) => ({ value, ...(value === current ? { detail: texts.current } : {}) }));
  },
};

/** The themes there are, and the one that is set. */
function themesOf(loaded: LoadedConfig) {
  const setting = listSettings(loaded).find(({ key }) => key === KEY);
  return { themes: setting?.values?.map(String) ?? [], current: String(setting?.value) };
}
