import { modelsOf, resolveModel } from "../../../config/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import type { CommandBody, CommandHost } from "../../command.ts";
import { goOn } from "../../going_on.ts";

export const command: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("setting_commands", host.locale);
    const { names, current } = await modelsHere(host);
    if (argument === "" && host.headless) {
      return host.say(names.map((name) => `${name === current ? "*" : "-"} ${name}`).join("\n"));
    }
    const chosen = argument || await host.choose(
      texts.whichModel,
      names.map((name) => ({
        label: name,
        value: name,
        ...(name === current ? { detail: texts.current } : {}),
      })),
      { filter: true, current: Math.max(0, names.indexOf(current)) },
    );
    if (chosen === undefined) return;
    const { entry, model } = resolveModel((await host.session()).loaded.config, chosen);
    const name = `${entry.name}/${model}`;
    if (name === current) return host.say(texts.sameModel(name));
    await goOn(host, { model: name });
    host.say(texts.modelIs(name));
  },
  async complete(host) {
    const { names, current } = await modelsHere(host);
    const { current: mark } = await loadTexts("setting_commands", host.locale);
    return names.map((value) => ({ value, ...(value === current ? { detail: mark } : {}) }));
  },
};

/** Every configured model as `provider/model`, and the one of the session. */
async function modelsHere(host: CommandHost) {
  const { loaded: { config }, provider: { model } } = await host.session();
  const names = config.providers.flatMap((entry) => modelsOf(entry).map((name) => `${entry.name}/${name}`));
  return { names, current: `${model.provider}/${model.id}` };
}
