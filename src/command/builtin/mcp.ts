import type { ArgumentValue, CommandBody, CommandHost } from "../command.ts";
import { rowsText } from "../../reports/mod.ts";
import { describesServer, loadServerEdits, lookUpSecret, userConfigFile } from "../../config/mod.ts";
import { isAbort, usageError, writtenText } from "../../core/mod.ts";
import { loadTexts, type Texts } from "../../i18n/mod.ts";
import {
  loadSignIn,
  type McpServer,
  type McpServers,
  type McpServerSpec,
  type ServerStatus,
} from "../../mcp/mod.ts";
import { openInBrowser } from "../../util/network/browser.ts";
import { suggestNames } from "../../util/suggest.ts";
import { oneLine, terminalSafe } from "../../util/terminal_text.ts";

type ServerTexts = Texts["mcp_commands"];

const ACTIONS = ["login", "restart", "load", "unload", "trust", "untrust"] as const;
const SYNONYMS: ReadonlyMap<string, Action> = new Map([["on", "load"], ["off", "unload"]]);
type Action = (typeof ACTIONS)[number];

/** An action on one server in the panel. */
type PanelAction = Exclude<Action, "untrust"> | "tools" | "details";

export const mcpCommand: CommandBody = {
  async run(host, argument, signal) {
    const texts = await loadTexts("mcp_commands", host.locale);
    const { servers, loaded } = await host.session();
    const waiting = loaded.needsTrust.filter(({ kind }) => kind === "plugin").map(({ name }) => name);
    const [first = "", second = "", ...tools] = argument.split(/\s+/);
    const action = actionNamed(first);
    if (action && second !== "") return await act(host, { action, name: second, tools, texts, signal });
    if (action) throw usageError(texts.whichServer(action), texts.mcpUsage);
    if (first !== "") {
      if (!servers) throw usageError(texts.noServers, texts.addServer);
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
  async completeNext(host, { before: [word, name, ...more] }) {
    const action = actionNamed(word ?? "");
    if (!action) return [];
    if (name === undefined) return await serverNames(host);
    if (action !== "trust" && action !== "untrust") return [];
    const { servers } = await host.session();
    return servers
      ? trustRows(servers, name).filter(({ raw, trusted }) =>
        trusted === (action === "untrust") && !more.includes(raw)
      ).map(({ raw }) => ({ value: raw }))
      : [];
  },
};

function actionNamed(word: string): Action | undefined {
  return SYNONYMS.get(word) ?? ACTIONS.find((each) => each === word);
}

interface TrustRow {
  /** The name that the server gives the tool. */
  readonly raw: string;
  /** The user vouches for it. */
  readonly trusted: boolean;
  /** The server declares that it only reads. */
  readonly claims: boolean;
}

function trustRows(servers: McpServers, server: string): TrustRow[] {
  const trusted = new Set(servers.tools().filter((tool) => tool.trusted).map(({ name }) => name));
  return servers.offers().filter((offer) => offer.server === server).map(({ name, info }) => ({
    raw: info.name,
    trusted: trusted.has(name),
    claims: info.claimsToRead,
  }));
}

/**
 * Trusts tools to be read-only, or no longer: for this session, and in the user's configuration where that
 * describes the server. Without names: those that the server declares, or all that are trusted.
 */
async function setTrust(
  host: CommandHost,
  { name, tools, texts }: Pick<Wish, "name" | "texts"> & { readonly tools: readonly string[] },
  on: boolean,
): Promise<string> {
  const { servers, loaded, paths } = await host.session();
  const rows = servers ? trustRows(servers, name) : [];
  const unknown = tools.find((tool) => !rows.some(({ raw }) => raw === tool));
  if (unknown !== undefined) {
    const near = suggestNames(unknown, rows.map(({ raw }) => raw), 1)[0];
    throw usageError(
      texts.trust.noTool(name, oneLine(unknown, 60)),
      near === undefined ? texts.trust.listTools(name) : texts.trust.didYouMean(oneLine(near, 60)),
    );
  }
  const named = rows.filter(({ raw, claims, trusted }) =>
    tools.length > 0 ? tools.includes(raw) : on ? claims && !trusted : trusted
  ).map(({ raw }) => raw);
  if (named.length === 0) return on ? texts.trust.noneDeclared(name) : texts.trust.noneTrusted(name);
  const file = userConfigFile(paths);
  const isSaved = describesServer(loaded, file, name) &&
    await (await loadServerEdits()).setTrustedTools(file, name, { tools: named, trusted: on });
  servers?.vouch(name, named, on);
  const list = oneLine(named.join(", "), 400);
  const elsewhere = !on && loaded.config.agent.plan_mode_allowed_tools.length > 0
    ? [texts.trust.alsoListed]
    : [];
  return [
    on ? texts.trust.trusted(list) : texts.trust.untrusted(list),
    isSaved ? texts.trust.savedIn(file) : texts.trust.sessionOnly(name),
    ...elsewhere,
  ].join("\n\n");
}

/** Lets the user switch the trust in single tools until they leave. */
async function trustPanel(host: CommandHost, name: string, texts: ServerTexts): Promise<void> {
  let current = 0;
  while (true) {
    const { servers } = await host.session();
    const rows = servers ? trustRows(servers, name) : [];
    const declared = rows.filter(({ claims, trusted }) => claims && !trusted).length;
    const chosen = await host.choose<TrustRow | "all">(texts.trust.title(name), [
      ...(declared > 0 ? [{ label: texts.trust.all(declared), value: "all" as const }] : []),
      ...rows.map((row) => ({
        label: `[${row.trusted ? "x" : " "}] ${oneLine(row.raw, 60)}`,
        ...(row.claims ? { detail: texts.trust.declared } : {}),
        value: row,
      })),
    ], { current, filter: rows.length > 8 });
    if (chosen === undefined) return;
    const isOne = chosen !== "all";
    current = isOne ? rows.findIndex(({ raw }) => raw === chosen.raw) + (declared > 0 ? 1 : 0) : 0;
    const tools = isOne ? [chosen.raw] : [];
    host.say(await setTrust(host, { name, tools, texts }, !(isOne && chosen.trusted)));
  }
}

async function serverNames(host: CommandHost): Promise<ArgumentValue[]> {
  const { servers } = await host.session();
  const { states } = await loadTexts("mcp_commands", host.locale);
  return (servers?.status ?? []).map(({ name, state }) => ({ value: name, detail: states[state] }));
}

interface Wish {
  readonly action: Action;
  readonly name: string;
  /** Tools of it, by the server's names; absent: none is named. */
  readonly tools?: readonly string[];
  readonly texts: ServerTexts;
  readonly signal: AbortSignal | undefined;
}

async function act(host: CommandHost, wish: Wish): Promise<void> {
  const { action, name, tools = [], texts, signal } = wish;
  const { servers } = await host.session();
  if (!servers) throw usageError(texts.noServers, texts.addServer);
  const server = servers.named(name);
  if (action === "trust" || action === "untrust") {
    if (!server.isKnown) await server.start();
    return host.say(await setTrust(host, { name, tools, texts }, action === "trust"));
  }
  if (action === "login" && !await signInAt(host, server.spec, texts.signIn, signal)) return;
  if (action === "load" || action === "unload") await server.setEnabled(action === "load");
  else if (server.enabled) await server.restart();
  else throw usageError(texts.isOff(name), `/mcp load ${name}`);
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
    await openServer(host, status, texts, signal);
    if (signal?.aborted) return;
  }
}

async function openServer(
  host: CommandHost,
  status: ServerStatus,
  texts: ServerTexts,
  signal?: AbortSignal,
): Promise<void> {
  const { name, state } = status;
  const { servers } = await host.session();
  if (state === "provider") return await host.show(name, stateText(status, texts));
  const labels = texts.panelActions;
  const offered: PanelAction[] = [
    "details",
    ...(status.tools > 0 ? ["tools", "trust"] as const : []),
    ...(state === "needs-auth" ? ["login"] as const : []),
    ...(state === "disabled" ? ["load"] as const : ["restart", "unload"] as const),
  ];
  const action = await host.choose<PanelAction>(
    `${name}\n${stateText(status, texts)}`,
    offered.map((value) => ({
      label: value === "tools" ? labels.tools(status.tools) : labels[value],
      value,
    })),
  );
  const server = servers?.named(name);
  if (action === undefined || !server) return;
  if (action === "details") return await host.show(name, detailText(server, texts));
  if (action === "trust") return await trustPanel(host, name, texts);
  if (action !== "tools") return await act(host, { action, name, texts, signal });
  const lines = server.listing.tools.filter(({ name }) => server.spec.offers(name))
    .map(({ name, description }) => `${oneLine(name, 60)}: ${oneLine(description, 200)}`);
  await host.show(labels.tools(lines.length), lines.join("\n"));
}

type SignInTexts = Texts["mcp_commands"]["signIn"];

/**
 * Signs the user in at a server: shows the address, opens it after a yes, and waits until the browser has
 * come back, the user has left, or the signal aborts. Returns whether they are signed in; throws a
 * ReasonixError that says what was in the way.
 */
async function signInAt(
  host: CommandHost,
  spec: McpServerSpec,
  texts: SignInTexts,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { paths, loaded } = await host.session();
  const { signIn } = await loadSignIn();
  const left = new AbortController();
  const pasted = Promise.withResolvers<string>();
  try {
    const { issuer, scope } = await signIn(spec, {
      home: paths.home,
      secret: (variable) => lookUpSecret(variable, loaded.keys),
      visit: async (address) => {
        const text = await send(host, address, texts, paths.cwd);
        if (text === undefined) left.abort(new DOMException("The user left", "AbortError"));
        else if (text !== "") pasted.resolve(text);
      },
      pasted: once(pasted.promise),
      refused: (why) => host.say(oneLine(texts.notTaken(why), 300)),
      signal: signal ? AbortSignal.any([signal, left.signal]) : left.signal,
    });
    host.say(texts.done(spec.name, oneLine(issuer, 200), scope === undefined ? "" : oneLine(scope, 300)));
    return true;
  } catch (error) {
    if (!isAbort(error)) throw error;
    host.say(texts.stopped);
    return false;
  } finally {
    left.abort();
    pasted.resolve("");
  }
}

/** Shows the address, and opens it when asked. The address that the user has pasted; undefined: they left. */
async function send(
  host: CommandHost,
  address: URL,
  texts: SignInTexts,
  cwd: string,
): Promise<string | undefined> {
  const how = await host.choose(`${texts.how(address.host)}\n${address.href}`, [
    { label: texts.open, value: "open" as const },
    { label: texts.myself, value: "myself" as const },
    { label: texts.paste, value: "paste" as const },
  ]);
  if (how === undefined) return undefined;
  const isOpen = how === "open" && openInBrowser(address, [cwd]);
  if (how === "open" && !isOpen) host.say(texts.noBrowser);
  // Never broken into lines: it is to be copied.
  host.say(`${isOpen ? texts.opened : texts.visit}\n\n${address.href}`, "plain");
  if (how === "paste") return await host.prompt(texts.pasteHere);
  host.say(texts.waiting);
  return "";
}

async function* once(text: Promise<string>): AsyncGenerator<string> {
  yield await text;
}

/** One line: the state of a server, what it offers, and what is wrong. */
function stateText(status: ServerStatus, texts: ServerTexts): string {
  const { state, detail, lastFailure = "", tools, prompts, resources, problems, restarts } = status;
  const counts = texts.counts;
  const parts = [
    texts.states[state],
    ...(tools > 0 ? [counts.tools(tools)] : []),
    ...(prompts > 0 ? [counts.prompts(prompts)] : []),
    ...(resources > 0 ? [counts.resources(resources)] : []),
    ...(problems.length > 0 ? [counts.problems(problems.length)] : []),
    ...(restarts > 0 ? [counts.restarts(restarts)] : []),
  ].join(" · ");
  const why = detail !== undefined
    ? writtenText(status.said, detail)
    : state === "idle" && lastFailure !== ""
    ? texts.lastTime(writtenText(status.lastFailureSaid, lastFailure))
    : undefined;
  return why === undefined ? parts : oneLine(texts.because(parts, why), 400);
}

function listText(
  all: readonly ServerStatus[],
  waiting: readonly string[],
  texts: ServerTexts,
): string {
  return rowsText([
    ...all.map((status) => [oneLine(status.name, 60), stateText(status, texts)] as const),
    ...waiting.map((name) => [oneLine(name, 60), texts.waitsForTrust] as const),
  ]);
}

function toolText(name: string, { shortNames }: McpServer["spec"]): string {
  const alias = shortNames.get(name);
  return alias === undefined ? name : `${name} (${alias})`;
}

function detailText({ status, listing, spec }: McpServer, texts: ServerTexts): string {
  const { about, protocol, problems, log } = status;
  const { fields } = texts;
  const rows = rowsText([
    [fields.state, stateText(status, texts)],
    [fields.server, about && oneLine(`${about.name} ${about.version}`)],
    [fields.protocol, protocol && `MCP ${protocol}, ${spec.type}`],
    [
      fields.command,
      spec.type === "stdio" ? oneLine([spec.command, ...spec.args].join(" "), 300) : undefined,
    ],
    [fields.address, spec.type === "stdio" ? undefined : spec.url],
    [
      fields.tools,
      listing.tools.filter(({ name }) => spec.offers(name)).map(({ name }) => toolText(name, spec)).join(
        ", ",
      ),
    ],
    [fields.prompts, listing.prompts.map(({ name }) => name).join(", ")],
    [fields.resources, [...listing.resources, ...listing.templates].map(({ uri }) => uri).join(", ")],
    [fields.log, log],
  ]);
  const wrong = problems.map((problem) => `! ${terminalSafe(problem)}\n`).join("");
  return rows + wrong;
}
