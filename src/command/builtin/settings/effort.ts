import type { Assembly } from "../../../assembly/mod.ts";
import { effortLevels, withModelSettings } from "../../../config/mod.ts";
import { ReasonixError } from "../../../core/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import { effortsOf } from "../../../provider/mod.ts";
import type { CommandBody } from "../../command.ts";
import { goOn } from "../../going_on.ts";

export const command: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("setting_commands", host.locale);
    const session = await host.session();
    const { effort } = session;
    if (argument === "" && host.headless) return host.say(texts.effortIs(effort ?? texts.vendorsOwn));
    const levels = levelsOf(session);
    const offered = offeredLevels(session, levels);
    const wanted = argument || await host.choose(
      texts.whichEffort,
      offered.map((value) => ({
        label: value,
        value,
        ...(value === effort ? { detail: texts.current } : {}),
      })),
      { current: Math.max(0, offered.indexOf(effort ?? "")) },
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
    return offeredLevels(session, levelsOf(session)).map((value) => ({
      value,
      ...(value === session.effort ? { detail: texts.current } : {}),
    }));
  },
};

/** The levels that can be typed; the model makes the nearest of its own of one that it does not have. */
function levelsOf({ loaded, provider: { model } }: Assembly): readonly string[] {
  const entry = loaded.config.providers.find(({ name }) => name === model.provider);
  return effortLevels(entry && withModelSettings(entry, model.id).efforts);
}

/** The levels that the model has, where that is known. */
function offeredLevels({ provider: { model } }: Assembly, all: readonly string[]): readonly string[] {
  const own = model.reasoning ? effortsOf(model.reasoning) : [];
  return own.length > 0 ? own : all;
}
