import { loadTexts } from "../../../i18n/mod.ts";
import { VERSION } from "../../../util/version.ts";
import { cacheShare, grouped, moneyFigure } from "../../../view/mod.ts";
import type { CommandBody, CommandHost } from "../../command.ts";
import { type Row, rowsText } from "../../rows.ts";

export const command: CommandBody = {
  async run(host) {
    host.say(rowsText(await rows(host)), "plain");
  },
};

async function rows(host: CommandHost): Promise<readonly Row[]> {
  const texts = await loadTexts("report_commands", host.locale);
  const { session, paths, loaded, provider: { model }, inputs, effort, modes, confined } = await host
    .session();
  const { state } = session;
  const { lastUsage, title, turns, usage } = state;
  const context = lastUsage && grouped(lastUsage.inputTokens + lastUsage.outputTokens);
  return [
    ["Reasonix", VERSION],
    [texts.session, title === undefined ? session.id : `${session.id} "${title}"`],
    [texts.directory, paths.cwd],
    [texts.modes, [modes.approval, modes.permission, modes.collaboration].join(" · ")],
    [texts.sandbox, confined ? texts.sandboxOn : texts.sandboxOff],
    [texts.model, `${model.provider}/${model.id}`],
    [texts.effort, effort],
    [texts.turns, grouped(turns.length)],
    [
      texts.context,
      context !== undefined && (model.contextWindow ?? 0) > 0
        ? texts.ofWindow(context, grouped(model.contextWindow ?? 0))
        : context,
    ],
    [texts.cacheHit, usage.inputTokens === 0 ? undefined : cacheShare(usage)],
    [texts.cost, moneyFigure(state)],
    [texts.instructions, inputs.instructions.files.map(({ path }) => path).join(", ")],
    [texts.configuration, loaded.files.filter(({ found }) => found).map(({ path }) => path).join(", ")],
    [texts.mcpServers, await serverStates(host)],
    [texts.problem, session.problem],
  ];
}

/** How many MCP servers are in which state, and which of them do not work. */
async function serverStates(host: CommandHost): Promise<string | undefined> {
  const { servers } = await host.session();
  if (!servers) return undefined;
  const { states } = await loadTexts("mcp_commands", host.locale);
  const groups = Map.groupBy(servers.status, ({ state }) => state);
  return [...groups].map(([state, own]) => {
    const names = state === "failed" || state === "needs-auth"
      ? ` (${own.map(({ name }) => name).join(", ")})`
      : "";
    return `${own.length} ${states[state]}${names}`;
  }).join(", ");
}
