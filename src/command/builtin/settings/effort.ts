import type { Assembly } from "../../../assembly/mod.ts";
import { effortLevels, withModelSettings } from "../../../config/mod.ts";
import { ReasonixError } from "../../../core/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import type { CommandBody } from "../../command.ts";
import { goOn } from "../../going_on.ts";

export const command: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("setting_commands", host.locale);
    const session = await host.session();
    const { effort } = session;
    if (argument === "" && host.headless) return host.say(texts.effortIs(effort ?? texts.vendorsOwn));
    const levels = levelsOf(session);
    const wanted = argument || await host.choose(
      texts.whichEffort,
      levels.map((value) => ({
        label: value,
        value,
        ...(value === effort ? { detail: texts.current } : {}),
      })),
      { current: Math.max(0, levels.indexOf(effort ?? "")) },
    );
    if (wanted === undefined) return;
    const level = levels.find((each) => each.toLowerCase() === wanted.toLowerCase());
    if (level === undefined) {
      throw new ReasonixError(texts.noLevel(wanted), {
        exit: "usage",
        remedy: texts.levels(levels.join(", ")),
      });
    }
    await goOn(host, { effort: level });
    host.say(texts.effortIs(level));
  },
  async complete(host) {
    const session = await host.session();
    const texts = await loadTexts("setting_commands", host.locale);
    return levelsOf(session).map((value) => ({
      value,
      ...(value === session.effort ? { detail: texts.current } : {}),
    }));
  },
};

function levelsOf({ loaded, provider: { model } }: Assembly): readonly string[] {
  const entry = loaded.config.providers.find(({ name }) => name === model.provider);
  return effortLevels(entry && withModelSettings(entry, model.id).efforts);
}
