import { listSettings, parseConfigValue, type Setting } from "../../config/mod.ts";
import { formatLocation, ReasonixError } from "../../core/mod.ts";
import { loadTexts, LOCALES, type Texts } from "../../i18n/mod.ts";
import type { Choice, CommandHost } from "../command.ts";

/** Lets the user change settings until they leave: those that people change, or `all`. */
export async function changeSettings(
  host: CommandHost,
  save: (key: string, value: unknown) => Promise<void>,
  all: boolean,
): Promise<void> {
  const texts = (await loadTexts("overlay", host.locale)).settings;
  let last = "";
  while (true) {
    const settings = listSettings((await host.session()).loaded).filter(({ idle }) => !idle);
    const shown = all ? settings : USUAL.flatMap((name) => settings.filter(({ key }) => key === name));
    const entries: Choice<Setting | "all">[] = shown.map((setting) => ({
      label: setting.key,
      detail: all ? placedValue(setting, texts) : explained(setting, texts),
      value: setting,
    }));
    const more = { label: texts.all, detail: texts.allCount(settings.length), value: "all" } as const;
    const chosen = await host.choose(texts.title, all ? entries : [...entries, more], {
      filter: true,
      current: Math.max(0, shown.findIndex(({ key }) => key === last)),
    });
    if (chosen === "all") return await changeSettings(host, save, true);
    if (!chosen) return;
    last = chosen.key;
    const value = await newValue(host, chosen, texts);
    if (value === undefined) continue;
    await save(chosen.key, value);
  }
}

/** What people change, the most wanted first. */
const USUAL = [
  "default_model",
  "permissions.mode",
  "sandbox.bash",
  "sandbox.network",
  "agent.auto_plan",
  "agent.max_cost",
  "tools.bash_timeout_seconds",
  "compaction.auto",
  "ui.theme",
  "language",
] as const;

function explained({ key, value }: Setting, { usual }: Texts["overlay"]["settings"]): string {
  const name = USUAL.find((each) => each === key);
  return `${JSON.stringify(value)} · ${name === undefined ? "" : usual[name]}`;
}

function placedValue({ value, from }: Setting, texts: Texts["overlay"]["settings"]): string {
  return `${JSON.stringify(value)} · ${from.source === "default" ? texts.unset : placeOf(from)}`;
}

function placeOf({ source, file, line, column }: Setting["from"]): string {
  if (file === undefined) return source;
  return formatLocation({
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
