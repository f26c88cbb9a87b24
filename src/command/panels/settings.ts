import { listSettings, parseConfigValue, type Setting } from "../../config/mod.ts";
import { formatPlace, ReasonixError } from "../../core/mod.ts";
import { loadTexts, LOCALES, type Texts } from "../../i18n/mod.ts";
import type { Choice, CommandHost } from "../command.ts";

/** Lets the user look through the settings and change them, one after the other, until they leave. */
export async function changeSettings(
  host: CommandHost,
  save: (key: string, value: unknown) => Promise<void>,
): Promise<void> {
  const texts = (await loadTexts("overlay", host.locale)).settings;
  let last = "";
  while (true) {
    const settings = inOrder(listSettings((await host.session()).loaded));
    const chosen = await host.choose(texts.title, settings.map((setting) => entryOf(setting, texts)), {
      filter: true,
      current: Math.max(0, settings.findIndex(({ key }) => key === last)),
    });
    if (!chosen) return;
    last = chosen.key;
    const value = await newValue(host, chosen, texts);
    if (value === undefined) continue;
    await save(chosen.key, value);
  }
}

/** What people look for most, in front of the order of the reference. */
const FIRST = ["language", "ui.theme", "ui.reduced_motion", "ui.linear", "default_model", "permissions.mode"];

/** Without those that nothing reads. */
function inOrder(settings: readonly Setting[]): Setting[] {
  const shown = settings.filter(({ idle }) => !idle);
  const first = FIRST.flatMap((name) => shown.filter(({ key }) => key === name));
  return [...first, ...shown.filter(({ key }) => !FIRST.includes(key))];
}

function entryOf(setting: Setting, texts: Texts["overlay"]["settings"]): Choice<Setting> {
  const { key, value, from } = setting;
  return {
    label: key,
    detail: `${JSON.stringify(value)} · ${from.source === "default" ? texts.unset : placeOf(from)}`,
    value: setting,
  };
}

function placeOf({ source, file, line, column }: Setting["from"]): string {
  if (file === undefined) return source;
  return formatPlace({
    file,
    ...(line === undefined ? {} : { line }),
    ...(column === undefined ? {} : { column }),
  });
}

/** One of the values that are possible, or what the user writes; undefined when they left. */
async function newValue(
  host: CommandHost,
  { key, value, values = key === "language" ? ["", ...LOCALES] : undefined }: Setting,
  texts: Texts["overlay"]["settings"],
): Promise<unknown> {
  const title = texts.change(key, JSON.stringify(value));
  if (values) {
    const entries = values.map((each) => ({
      label: each === "" ? texts.automatic : String(each),
      value: each,
    }));
    return await host.choose<unknown>(title, entries, { current: Math.max(0, values.indexOf(value)) });
  }
  let [text, problem] = [typeof value === "string" ? value : JSON.stringify(value), ""];
  while (true) {
    const given = await host.prompt(problem === "" ? title : `${title}\n${problem}`, text);
    if (given === undefined) return undefined;
    try {
      return parseConfigValue(key, given);
    } catch (error) {
      if (!(error instanceof ReasonixError)) throw error;
      text = given;
      problem = error.message;
    }
  }
}
