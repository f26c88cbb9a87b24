import { ReasonixError } from "../../../core/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import type { CommandBody } from "../../command.ts";
import { goOn } from "../../going_on.ts";

/** Names that most models know; others can be typed. */
const LEVELS = ["minimal", "low", "medium", "high"];

export const command: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("setting_commands", host.locale);
    const { effort } = await host.session();
    if (argument === "" && host.headless) return host.say(texts.effortIs(effort ?? texts.vendorsOwn));
    const level = argument || await host.choose(
      texts.whichEffort,
      LEVELS.map((value) => ({
        label: value,
        value,
        ...(value === effort ? { detail: texts.current } : {}),
      })),
      { current: Math.max(0, LEVELS.indexOf(effort ?? "")) },
    );
    if (level === undefined) return;
    if (!/^[\w-]{1,32}$/.test(level)) {
      throw new ReasonixError(texts.noLevel(level), {
        exit: "usage",
        remedy: texts.levels(LEVELS.join(", ")),
      });
    }
    await goOn(host, { effort: level });
    const isKnown = LEVELS.includes(level);
    host.say(isKnown ? texts.effortIs(level) : texts.vendorsLevel(level, LEVELS.join(", ")));
  },
  complete: () => LEVELS.map((value) => ({ value })),
};
