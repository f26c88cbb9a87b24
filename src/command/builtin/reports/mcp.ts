import { ReasonixError } from "../../../core/mod.ts";
import { loadTexts, type Texts } from "../../../i18n/mod.ts";
import type { ServerStatus } from "../../../mcp/mod.ts";
import { oneLine } from "../../../util/terminal_text.ts";
import type { ArgumentValue, CommandBody, CommandHost } from "../../command.ts";
import { signInAt } from "../../mcp/sign_in.ts";
import { detailText, listText, stateText } from "../../mcp/server_text.ts";

type ServerTexts = Texts["mcp_commands"];

const ACTIONS = ["login", "restart", "load", "unload"] as const;
/** Other words for the same. */
const SYNONYMS: ReadonlyMap<string, Action> = new Map([["on", "load"], ["off", "unload"]]);
type Action = (typeof ACTIONS)[number];

/** What is chosen of one server in the panel. */
type Deed = Action | "tools" | "details";

export const command: CommandBody = {
  async run(host, argument, signal) {
    const texts = await loadTexts("mcp_commands", host.locale);
    const { servers, loaded } = await host.session();
    const waiting = loaded.needsTrust.filter(({ kind }) => kind === "plugin").map(({ name }) => name);
    const [first = "", second = ""] = argument.split(/\s+/);
    const action = SYNONYMS.get(first) ?? ACTIONS.find((each) => each === first);
    if (action && second !== "") return await act(host, { action, name: second, texts, signal });
    if (action) throw new ReasonixError(texts.whichServer(action), { exit: "usage", remedy: texts.mcpUsage });
    if (first !== "") {
      if (!servers) throw new ReasonixError(texts.noServers, { exit: "usage", remedy: texts.addServer });
      return host.say(detailText(servers.named(first), texts), "plain");
    }
    if (!servers && waiting.length === 0) return host.say([texts.noServers, texts.addServer].join("\n\n"));
    // Only a front end that can show files one by one has panels.
    if (servers && host.lookAt) return await panel(host, texts, signal);
    host.say(listText(servers?.status ?? [], waiting, texts), "plain");
  },
  async complete(host) {
    const { actions } = await loadTexts("mcp_commands", host.locale);
    return [...await serverNames(host), ...ACTIONS.map((value) => ({ value, detail: actions[value] }))];
  },
  completeNext: (host, { before: [action, ...more] }) =>
    (SYNONYMS.has(action ?? "") || ACTIONS.some((each) => each === action)) && more.length === 0
      ? serverNames(host)
      : [],
};

async function serverNames(host: CommandHost): Promise<ArgumentValue[]> {
  const { servers } = await host.session();
  const { states } = await loadTexts("mcp_commands", host.locale);
  return (servers?.status ?? []).map(({ name, state }) => ({ value: name, detail: states[state] }));
}

interface Wish {
  readonly action: Action;
  /** The server. */
  readonly name: string;
  readonly texts: ServerTexts;
  readonly signal: AbortSignal | undefined;
}

async function act(host: CommandHost, { action, name, texts, signal }: Wish): Promise<void> {
  const { servers } = await host.session();
  if (!servers) throw new ReasonixError(texts.noServers, { exit: "usage", remedy: texts.addServer });
  const server = servers.named(name);
  if (action === "login" && !await signInAt(host, server.spec, texts.signIn, signal)) return;
  if (action === "load" || action === "unload") await server.setEnabled(action === "load");
  else if (server.enabled) await server.restart();
  else throw new ReasonixError(texts.isOff(name), { exit: "usage", remedy: `/mcp load ${name}` });
  host.say(action === "unload" ? texts.switchedOff(name) : `${name}: ${stateText(server.status, texts)}`);
}

/** Lets the user look at the servers and do something with them, until they leave. */
async function panel(host: CommandHost, texts: ServerTexts, signal?: AbortSignal): Promise<void> {
  let last = "";
  while (true) {
    const { servers } = await host.session();
    const all = servers?.status ?? [];
    const chosen = await host.choose(
      texts.servers,
      all.map((status) => ({
        label: status.name,
        detail: stateText(status, texts),
        value: status.name,
      })),
      { filter: all.length > 8, current: Math.max(0, all.findIndex(({ name }) => name === last)) },
    );
    const status = all.find(({ name }) => name === chosen);
    if (!servers || !status) return;
    last = status.name;
    await deal(host, status, texts, signal);
    if (signal?.aborted) return;
  }
}

async function deal(
  host: CommandHost,
  status: ServerStatus,
  texts: ServerTexts,
  signal?: AbortSignal,
): Promise<void> {
  const { name, state } = status;
  const { servers } = await host.session();
  if (state === "provider") return await host.show(name, stateText(status, texts));
  const deeds = texts.deeds;
  const deed = await host.choose<Deed>(`${name}\n${stateText(status, texts)}`, [
    { label: deeds.details, value: "details" },
    ...(status.tools > 0 ? [{ label: deeds.tools(status.tools), value: "tools" as const }] : []),
    ...(state === "needs-auth" ? [{ label: deeds.login, value: "login" as const }] : []),
    ...(state === "disabled"
      ? [{ label: deeds.on, value: "load" as const }]
      : [{ label: deeds.restart, value: "restart" as const }, {
        label: deeds.off,
        value: "unload" as const,
      }]),
  ]);
  const server = servers?.named(name);
  if (deed === undefined || !server) return;
  if (deed === "details") return await host.show(name, detailText(server, texts));
  if (deed !== "tools") return await act(host, { action: deed, name, texts, signal });
  const lines = server.listing.tools.filter(({ name }) => server.spec.offers(name)).map((
    { name, description },
  ) => `${oneLine(name, 60)}: ${oneLine(description, 200)}`);
  await host.show(deeds.tools(lines.length), lines.join("\n"));
}
