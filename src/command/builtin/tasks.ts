import type { Assembly, GoalRequest } from "../../run/mod.ts";
import { confirmed } from "../asking.ts";
import type { CommandBody, CommandHost } from "../command.ts";
import { usageError } from "../../core/mod.ts";
import { loadTexts, type Texts } from "../../i18n/mod.ts";
import { exists } from "../../path/probe.ts";
import { openGoal } from "../../session/mod.ts";
import again from "./init_again.md" with { type: "text" };
import initPrompt from "./init.md" with { type: "text" };

type GoalTexts = Texts["setting_commands"]["goal"];

export const goalCommand: CommandBody = {
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
      throw usageError(texts.badFlag(flag), texts.flags);
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

type PlanTexts = Texts["setting_commands"]["plan"];

export const planCommand: CommandBody = {
  async run(host, argument, signal = new AbortController().signal) {
    const texts = (await loadTexts("setting_commands", host.locale)).plan;
    const session = await host.session();
    switch (argument.toLowerCase().replace(/\s+/g, " ")) {
      case "approve":
        return await approve(host, session, { texts });
      case "approve edits":
        return await approve(host, session, { texts, how: "edits" });
      case "approve ask":
        return await approve(host, session, { texts, how: "ask" });
      case "show":
        return show(host, session, texts);
      case "off":
        return await leave(host, session, texts);
      case "":
        return await ask(host, session, { texts, signal });
    }
    await session.modes.setCollaboration("plan");
    await session.plans();
    host.send(argument);
  },
  async complete(host) {
    const { plan: { words } } = await loadTexts("setting_commands", host.locale);
    return Object.entries(words).map(([value, detail]) => ({ value, detail }));
  },
  async completeNext(host, { before }) {
    if (before[0] !== "approve") return [];
    const { plan: { how } } = await loadTexts("setting_commands", host.locale);
    return Object.entries(how).map(([value, detail]) => ({ value, detail }));
  },
};

/** Puts a plan that waits before the user again; without one plan mode begins. */
async function ask(
  host: CommandHost,
  session: Assembly,
  { texts, signal }: { readonly texts: PlanTexts; readonly signal: AbortSignal },
): Promise<void> {
  const plans = await session.plans();
  if (!plans.pending || !plans.attended) {
    await session.modes.setCollaboration("plan");
    return host.say(texts.on);
  }
  await session.open();
  const input = await plans.ask(signal);
  if (input) host.send(input.text, input);
}

async function approve(
  host: CommandHost,
  session: Assembly,
  { texts, how }: { readonly texts: PlanTexts; readonly how?: "edits" | "ask" },
): Promise<void> {
  const plans = await session.plans();
  const { state } = session.session;
  const prose = session.modes.collaboration === "plan" ? state.turns.at(-1)?.answer?.trim() : undefined;
  if (plans.latest?.state !== "proposed" && !prose) {
    throw usageError(texts.noneToApprove, texts.proposeFirst);
  }
  await session.open();
  if (plans.latest?.state !== "proposed" && prose) await plans.present(prose);
  const input = await plans.inputOf({
    approve: true,
    window: how !== "ask",
    ...(how === "edits" ? { acceptEdits: true } : {}),
  });
  host.send(input.text, input);
}

async function leave(host: CommandHost, session: Assembly, texts: PlanTexts): Promise<void> {
  const { modes } = session;
  if (modes.collaboration !== "plan") return host.say(texts.wasOff);
  const plans = await session.plans();
  if (plans.pending) {
    await session.open();
    await plans.reject();
  }
  await modes.setCollaboration("normal");
  host.say(texts.off);
}

function show(host: CommandHost, { session: { state: { plan } } }: Assembly, texts: PlanTexts): void {
  if (!plan) throw usageError(texts.none, texts.proposeFirst);
  const { state, file = "", plan: text } = plan;
  host.say(`${texts.shown(texts.states[state], file)}\n\n${text}`);
}

export const initCommand: CommandBody = {
  async run(host, wishes) {
    const texts = await loadTexts("setting_commands", host.locale);
    const { cwd } = (await host.session()).paths;
    const isThere = exists(`${cwd}/AGENTS.md`);
    if (isThere && !await confirmed(host, texts.reallyInit)) return;
    const parts = [initPrompt, ...(isThere ? [again] : []), ...(wishes === "" ? [] : [wishes])];
    host.send(parts.map((part) => part.trim()).join("\n\n"));
  },
};

export const verifyCommand: CommandBody = {
  async run(host, _argument, signal = new AbortController().signal) {
    const { verify: texts } = await loadTexts("setting_commands", host.locale);
    const session = await host.session();
    const verification = await session.verification?.();
    await session.open();
    const results = await session.stoppable(signal, async () => await verification?.byHand(signal) ?? []);
    const blocks = results.map(({ line, outcome, text, durationMs }) => {
      const head = `${line}: ${texts.outcomes[outcome]} (${(durationMs / 1000).toFixed(1)} s)`;
      return outcome === "passed" || text === "" ? head : `${head}\n${text.replace(/^/gm, "  ")}`;
    });
    host.say(blocks.join("\n"), "plain");
  },
};
