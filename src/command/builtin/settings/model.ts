import { resolveModel } from "../../../config/mod.ts";
import { loadTexts, type Texts } from "../../../i18n/mod.ts";
import type { CommandBody, CommandHost } from "../../command.ts";
import { goOn } from "../../going_on.ts";
import {
  chooseModel,
  knownModels,
  modelValues,
  type OfferedModel,
  saveOffered,
  vendorModel,
} from "../../panels/models.ts";

export const command: CommandBody = {
  async run(host, argument, signal) {
    const texts = await loadTexts("setting_commands", host.locale);
    const { loaded } = await host.session();
    const current = await currentModel(host);
    const known = knownModels(loaded);
    if (argument === "" && host.headless) {
      return host.say(known.map(({ name }) => `${name === current ? "*" : "-"} ${name}`).join("\n"));
    }
    const chosen = argument === ""
      ? await chooseModel(host, current, signal)
      : known.find(({ name, provider }) => provider && name === argument) ??
        vendorModel(loaded, argument) ?? configured(argument, loaded);
    if (chosen === undefined) return;
    const { name, provider } = chosen;
    if (name === current) return host.say(texts.sameModel(name));
    const saves = provider !== undefined && await asksToSave(host, chosen, texts);
    if (saves === undefined) return;
    const file = provider && saves ? await saveOffered(host, provider) : undefined;
    await goOn(host, { model: name, ...(provider ? { offered: provider } : {}) });
    host.say(texts.modelIs(name));
    if (file !== undefined) host.say(texts.modelSaved(name, file));
  },
  async complete(host) {
    const { loaded } = await host.session();
    const texts = await loadTexts("setting_commands", host.locale);
    return await modelValues(loaded, await currentModel(host), texts);
  },
};

function configured(
  argument: string,
  { config }: Awaited<ReturnType<CommandHost["session"]>>["loaded"],
): OfferedModel {
  const { entry, model } = resolveModel(config, argument);
  return { name: `${entry.name}/${model}` };
}

/** Undefined: the user left. */
async function asksToSave(
  host: CommandHost,
  { name }: OfferedModel,
  texts: Texts["setting_commands"],
): Promise<boolean | undefined> {
  if (host.headless) return false;
  return await host.choose(texts.useModel(name), [
    { label: texts.useHere, value: false },
    { label: texts.useAndSave, value: true },
  ]);
}

async function currentModel(host: CommandHost): Promise<string> {
  const { provider: { model } } = await host.session();
  return `${model.provider}/${model.id}`;
}
