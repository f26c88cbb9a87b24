import { loadTexts, type Texts } from "../../i18n/mod.ts";
import { type IndexedSession, lastAnswer, loadIndex, projectDir } from "../../session/mod.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { moneyFigure } from "../../view/mod.ts";
import type { Choice, CommandHost } from "../command.ts";

/** The entry that goes from the sessions of this directory to all of them, and back. */
const ELSEWHERE = Symbol("elsewhere");

/** Lets the user choose a session to go on with, without the open one; undefined when they left. */
export async function chooseSession(host: CommandHost): Promise<string | undefined> {
  const texts = (await loadTexts("overlay", host.locale)).sessions;
  for (let all = false;; all = !all) {
    const sessions = await sessionChoices(host, all, texts);
    const elsewhere: Choice<string | typeof ELSEWHERE> = {
      label: all ? texts.onlyHere : texts.everywhere,
      value: ELSEWHERE,
      preview: () => "",
    };
    const chosen = await host.choose(
      all ? texts.titleAll(sessions.length) : texts.title(sessions.length),
      [elsewhere, ...sessions],
      { filter: true, current: Math.min(1, sessions.length) },
    );
    if (chosen !== ELSEWHERE) return chosen;
  }
}

async function sessionChoices(
  host: CommandHost,
  all: boolean,
  texts: Texts["overlay"]["sessions"],
): Promise<Choice<string>[]> {
  const { paths: { home, cwd }, session } = await host.session();
  const { SessionIndex } = await loadIndex();
  using index = await SessionIndex.open(home);
  const where = all ? {} : { project: projectDir(home, cwd) };
  const money = new Map(index.stats({ by: "session", ...where }).map((row) => [row.key, moneyFigure(row)]));
  const age = ages(host.locale, Date.now());
  return index.list(where).filter(({ id }) => id !== session.id).map((info) => ({
    label: oneLine(info.title, 200) || texts.untitled,
    detail: [
      age(info.updated),
      texts.turns(info.turns),
      money.get(info.id),
      all ? info.cwd : undefined,
    ].filter((part) => part !== undefined).join(" · "),
    value: info.id,
    preview: () => preview(info, texts),
  }));
}

/** Its first and its last message. */
function preview({ prompt, path }: IndexedSession, texts: Texts["overlay"]["sessions"]): string {
  const last = lastAnswer(path);
  return [
    `${texts.first} ${oneLine(prompt, 200)}`,
    ...(last === undefined ? [] : [`${texts.last} ${oneLine(last, 300)}`]),
  ].join("\n");
}

const STEPS: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];

/** Returns what says how long ago a time was, in the largest unit that fits. */
function ages(locale: string, now: number): (time: string) => string {
  const format = new Intl.RelativeTimeFormat(locale, { style: "narrow", numeric: "auto" });
  return (time) => {
    const seconds = Math.max(0, (now - Date.parse(time)) / 1000);
    const [unit, size] = STEPS.find(([, size]) => seconds >= size) ?? ["second", 1];
    return format.format(-Math.floor(seconds / size), unit);
  };
}
