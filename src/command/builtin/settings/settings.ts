import {
  getConfigValue,
  listSettings,
  parseConfigValue,
  setConfigValue,
  userConfigFile,
} from "../../../config/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import type { CommandBody } from "../../command.ts";
import { goOn } from "../../going_on.ts";
import { changeSettings } from "../../panels/settings.ts";
import { rowsText } from "../../rows.ts";

export const command: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("setting_commands", host.locale);
    const { loaded, paths } = await host.session();
    const file = userConfigFile(paths);
    const save = async (key: string, value: unknown) => {
      await setConfigValue(file, key, value);
      await host.settingSaved?.(key, value);
      if (!host.headless) await goOn(host);
      host.say(texts.settingSaved(key, JSON.stringify(value), file));
    };
    if (!host.headless && (argument === "" || argument === "all")) {
      return await changeSettings(host, save, argument === "all");
    }
    if (argument === "" || argument === "all") {
      const changed = listSettings(loaded).filter(({ from }) =>
        argument === "all" || from.source !== "default"
      );
      const rows = rowsText(changed.map(({ key, value }) => [key, JSON.stringify(value)]));
      return host.say(`${rows}\n${texts.settingsHint}\n`, "plain");
    }
    const [, key = "", text = ""] = /^(\S+)\s*([\s\S]*)$/.exec(argument) ?? [];
    if (text === "") {
      return host.say(rowsText([[key, JSON.stringify(getConfigValue(loaded, key) ?? null)]]), "plain");
    }
    await save(key, parseConfigValue(key, text));
  },
  async complete(host) {
    const settings = listSettings((await host.session()).loaded);
    return [
      { value: "all" },
      ...settings.map(({ key, value }) => ({ value: key, detail: JSON.stringify(value) })),
    ];
  },
  async completeNext(host, { before: [key, ...more] }) {
    const setting = listSettings((await host.session()).loaded).find((each) => each.key === key);
    return more.length > 0 ? [] : (setting?.values ?? []).map((value) => ({ value: String(value) }));
  },
};
