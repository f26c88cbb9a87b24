import type { Assembly } from "../../../assembly/mod.ts";
import { ReasonixError } from "../../../core/mod.ts";
import { loadTexts, type Texts } from "../../../i18n/mod.ts";
import type { CommandBody, CommandHost } from "../../command.ts";

type PlanTexts = Texts["setting_commands"]["plan"];

export const command: CommandBody = {
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

/** Puts a plan that waits before the user once more; without one plan mode begins. */
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
    throw new ReasonixError(texts.noneToApprove, { exit: "usage", remedy: texts.proposeFirst });
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
  if (!plan) throw new ReasonixError(texts.none, { exit: "usage", remedy: texts.proposeFirst });
  const { state, file = "", plan: text } = plan;
  host.say(`${texts.shown(texts.states[state], file)}\n\n${text}`);
}
