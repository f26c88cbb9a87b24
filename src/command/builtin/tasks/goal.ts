import type { Assembly, GoalRequest } from "../../../assembly/mod.ts";
import { ReasonixError } from "../../../core/mod.ts";
import { loadTexts, type Texts } from "../../../i18n/mod.ts";
import { openGoal } from "../../../session/mod.ts";
import type { CommandBody, CommandHost } from "../../command.ts";

type GoalTexts = Texts["setting_commands"]["goal"];

export const command: CommandBody = {
  async run(host, argument) {
    const { goal: texts } = await loadTexts("setting_commands", host.locale);
    const session = await host.session();
    switch (argument.trim().toLowerCase()) {
      case "":
      case "show":
        return host.say(goalText(session, texts));
      case "clear":
      case "off":
        return await clear(host, session, texts);
      case "resume": {
        const { text, ...input } = await (await session.goals()).resume();
        return host.send(text, input);
      }
    }
    const { text } = await (await session.goals()).begin(requestOf(argument, texts));
    host.send(text);
  },
  async complete(host) {
    const { goal } = await loadTexts("setting_commands", host.locale);
    return Object.entries(goal.words).map(([value, detail]) => ({ value, detail }));
  },
};

async function clear(host: CommandHost, session: Assembly, texts: GoalTexts): Promise<void> {
  if (!await (await session.goals()).clear()) host.say(texts.none);
}

/** Checks in quotation marks, or without a blank, and the objective behind them. */
const FLAG = /^--(research|simple|check)(?:[ =]+("(?:[^"\\]|\\.)*"|'[^']*'|(?!["'])\S+))?(?=\s|$)\s*/;

function requestOf(argument: string, texts: GoalTexts): GoalRequest {
  const checks: string[] = [];
  let strategy: GoalRequest["strategy"];
  let rest = argument.trim();
  for (let [flag] = rest.split(/[\s=]/, 1); flag?.startsWith("--"); [flag] = rest.split(/[\s=]/, 1)) {
    const isCheck = flag === "--check";
    const found = isCheck ? FLAG.exec(rest) : /^--(research|simple)(?=\s|$)\s*/.exec(rest);
    if (!found || (isCheck && found[2] === undefined)) {
      throw new ReasonixError(texts.badFlag(flag), { exit: "usage", remedy: texts.flags });
    }
    if (found[2] !== undefined) checks.push(unquoted(found[2]));
    else strategy = found[1] as "research" | "simple";
    rest = rest.slice(found[0].length);
  }
  return { objective: rest, checks, ...(strategy ? { strategy } : {}) };
}

function unquoted(text: string): string {
  if (text.startsWith("'")) return text.slice(1, -1);
  return text.startsWith('"') ? text.slice(1, -1).replace(/\\(["\\])/g, "$1") : text;
}

function goalText({ session: { state } }: Assembly, texts: GoalTexts): string {
  const goal = openGoal(state) ?? state.goal;
  if (!goal || goal.state === "cleared") return texts.none;
  const { objective, checks = [], note, turns, research, report } = goal;
  return [
    `**${texts.states[goal.state]}** · ${texts.turns(turns)}`,
    "",
    objective,
    ...(checks.length > 0 ? ["", ...checks.map((check) => `- \`${check}\``)] : []),
    ...(note === undefined ? [] : ["", note]),
    ...(research === undefined ? [] : ["", `\`${report ?? research}\``]),
  ].join("\n");
}
