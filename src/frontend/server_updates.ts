import type { Assembly } from "../run/mod.ts";
import { type EventOf, writtenText } from "../core/mod.ts";
import type { Texts } from "../i18n/mod.ts";
import { oneLine } from "../util/terminal_text.ts";
import { moneyFigure } from "../view/mod.ts";

const MAX_LINE = 1000;

export interface ServerLine {
  readonly level: "info" | "warning";
  readonly text: string;
}

export type WatchedSession = Pick<Assembly, "servers" | "redact">;

type UpdateTexts = Pick<Texts["run"], "servers">;

/** Says of MCP servers what people need to know: failures once each, and that one is back. */
export class ServerUpdates {
  /** The last line about each server that does not work. */
  readonly #down = new Map<string, string>();

  /** Undefined where nothing is worth a line, as with a start that worked. */
  of(
    { server, state, detail = "", said, tools = 0 }: Pick<
      EventOf<"mcp.server">,
      "server" | "state" | "detail" | "said" | "tools"
    >,
    { servers }: UpdateTexts,
  ): ServerLine | undefined {
    if (state === "failed" || state === "needs-auth") {
      const reason = writtenText(said, detail);
      const why = state === "failed" ? servers.failed(server, reason) : servers.needsLogin(server, reason);
      const text = oneLine(why, MAX_LINE);
      if (this.#down.get(server) === text) return undefined;
      this.#down.set(server, text);
      return { level: "warning", text };
    }
    if (state !== "ready" || !this.#down.delete(server)) return undefined;
    return { level: "info", text: oneLine(servers.back(server, tools), MAX_LINE) };
  }

  /**
   * Tells of the servers of a session as it happens: what is recorded of them may come with the first message
   * only. Each change is reported, undefined where it is worth no line.
   */
  watch(
    { servers, redact }: WatchedSession,
    texts: () => UpdateTexts,
    notify: (line: ServerLine | undefined) => void,
  ): void {
    servers?.watch(({ detail, ...change }) => {
      const shown = detail === undefined ? change : { ...change, detail: redact(detail) };
      notify(this.of(shown, texts()));
    });
  }
}

type AgentTexts = Pick<Texts["run"], "agents" | "steps" | "seconds">;

const MAX_TASK = 200;
const MAX_REASON = 400;

/** The line about a subagent that begins or has ended. */
export function agentUpdate(
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

/** One line about the work of a subagent. */
export function agentLine({ agent, text, calls }: EventOf<"subagent.progress">, texts: AgentTexts): string {
  return oneLine(`${agent} › ${text} · ${texts.agents.calls(calls)}`, MAX_TASK);
}
