import type { EventOf } from "../core/mod.ts";
import type { Texts } from "../i18n/mod.ts";
import { moneyFigure } from "../view/mod.ts";
import { oneLine } from "../util/terminal_text.ts";

type AgentTexts = Pick<Texts["run"], "agents" | "steps" | "seconds">;

const MAX_TASK = 200;
const MAX_REASON = 400;

/** What people read of an agent that begins to work on a part of the task, or has ended. */
export function agentNews(
  event: EventOf<"subagent.start" | "subagent.end">,
  { agents, steps, seconds }: AgentTexts,
): { readonly level: "info" | "warning"; readonly text: string } {
  const agent = oneLine(event.agent, 80);
  if (event.type === "subagent.start") {
    const said = event.background ? agents.background : agents.began;
    return { level: "info", text: said(agent, oneLine(event.description ?? event.prompt, MAX_TASK)) };
  }
  const { outcome, summary, cost, durationMs } = event;
  const money = cost && moneyFigure({ costs: { [cost.currency]: cost.amount }, unpriced: 0 });
  const figures = [
    steps(event.steps),
    ...(event.calls === undefined ? [] : [agents.calls(event.calls)]),
    ...(money === undefined ? [] : [money]),
    seconds((durationMs / 1000).toFixed(1)),
  ].join(" · ");
  if (outcome === "error") {
    return { level: "warning", text: agents.error(agent, figures, oneLine(summary, MAX_REASON)) };
  }
  return { level: "info", text: agents[outcome](agent, figures) };
}

/** What an agent is doing, in one line. */
export function agentLine({ agent, text, calls }: EventOf<"subagent.progress">, texts: AgentTexts): string {
  return oneLine(`${agent} › ${text} · ${texts.agents.calls(calls)}`, MAX_TASK);
}
