import { loadAgentList, loadHookList } from "../../features/mod.ts";
import { contextReportOf, contextText, withJail } from "../../run/mod.ts";
import type { ArgumentValue, ChangedFile, CommandBody, CommandHost, SlashCommand } from "../command.ts";
import { commandsOf } from "../markdown/markdown_commands.ts";
import {
  loadChanges,
  loadDoctor,
  loadLists,
  type Row,
  rowsText,
  type SessionChange,
} from "../../reports/mod.ts";
import { errorMessage, ReasonixError, usageError } from "../../core/mod.ts";
import { loadTexts, loadTranslator, type Texts } from "../../i18n/mod.ts";
import { isAbsolute } from "../../path/lexical.ts";
import type { ModelInfo } from "../../provider/mod.ts";
import { checklist, type MemoryEntry, type MemoryPort } from "../../tool/mod.ts";
import { displayWidth, padDisplay } from "../../util/display_width.ts";
import { suggestNames } from "../../util/suggest.ts";
import { oneLine, terminalSafe } from "../../util/terminal_text.ts";
import { VERSION } from "../../util/version.ts";
import { cacheShare, grouped, lineFigures, moneyFigure } from "../../view/mod.ts";

export const helpCommand: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("report_commands", host.locale);
    const name = argument.replace(/^\//, "");
    if (name === "keys" && host.keys) return host.say(await host.keys());
    const commands = await host.commands();
    if (name === "" || name === "all") {
      const unused = await unusedLines(host, commands, texts);
      return host.say(
        [listText(commands, texts, { all: name === "all", hasKeys: host.keys !== undefined }), ...unused]
          .join(""),
        "plain",
      );
    }
    const found = commands.find((each) => each.name === name || each.aliases?.includes(name));
    if (!found) throw unknown(name, commands, texts);
    host.say([
      lineOf(found),
      ...(found.aliases ? [texts.alsoCalled(found.aliases.map((alias) => `\`/${alias}\``).join(", "))] : []),
      ...(found.origin === undefined ? [] : [texts.from(found.origin)]),
    ].join("\n"));
  },
  async complete(host) {
    const names = (await host.commands()).map(({ name, brief }) => ({ value: name, detail: brief }));
    return [{ value: "all" }, ...(host.keys ? [{ value: "keys" }] : []), ...names];
  },
};

const FIRST: readonly string[] = [
  "new",
  "resume",
  "compact",
  "undo",
  "diff",
  "context",
  "model",
  "mode",
  "plan",
  "permissions",
  "help",
  "quit",
];

type Group = keyof Texts["report_commands"]["groups"];

/** The other commands by what they are about; those that stand nowhere here come last. */
const GROUPS: readonly (readonly [Group, readonly string[]])[] = [
  ["session", ["clear", "fork", "rename", "rewind", "redo", "export", "copy"]],
  ["work", ["todo", "goal", "review", "verify", "init"]],
  ["reports", ["status", "cost", "doctor", "bug"]],
  ["extensions", ["mcp", "agents", "hooks", "skills", "memory"]],
  ["settings", ["effort", "sandbox", "settings", "theme", "lang"]],
];

function listText(
  commands: readonly SlashCommand[],
  texts: Texts["report_commands"],
  { all, hasKeys }: { readonly all: boolean; readonly hasKeys: boolean },
): string {
  const builtin = commands.filter(({ kind }) => kind === "builtin");
  const section = (title: string, shown: readonly SlashCommand[]) => {
    const aligned = shown[0]?.kind === "builtin" ? builtin : shown;
    const width = Math.max(...aligned.map(({ name }) => displayWidth(name))) + 1;
    return shown.length === 0 ? [] : [
      `${title}\n`,
      ...shown.map(({ name, brief }) => `  ${padDisplay(`/${name}`, width)}  ${terminalSafe(brief)}\n`),
      "\n",
    ];
  };
  const named = (names: readonly string[]) =>
    names.flatMap((name) => builtin.filter((each) => each.name === name));
  const grouped = new Set<string>([...FIRST, ...GROUPS.flatMap(([, names]) => names)]);
  const rest = builtin.filter(({ name }) => !grouped.has(name));
  const groups: (readonly [title: string, commands: readonly SlashCommand[]])[] = [
    ...GROUPS.map(([group, names], at) =>
      [texts.groups[group], [...named(names), ...(at === GROUPS.length - 1 ? rest : [])]] as const
    ),
    [texts.ownCommands, commands.filter(({ kind }) => kind === "markdown")],
    [texts.skills, commands.filter(({ kind }) => kind === "skill")],
    [texts.serverPrompts, commands.filter(({ kind }) => kind === "prompt")],
  ];
  const shown = groups.filter(([, { length }]) => length > 0);
  const width = Math.max(...shown.map(([title]) => displayWidth(title)));
  return [
    ...section(texts.groups.first, named(FIRST)),
    ...(all ? shown.flatMap(([title, each]) => section(title, each)) : [
      ...shown.map(([title, each]) =>
        `${padDisplay(title, width)}  ${each.map(({ name }) => `/${name}`).join(" ")}\n`
      ),
      "\n",
    ]),
    `${texts.otherLines}\n`,
    `${all ? texts.moreHelp : texts.allHelp}${hasKeys ? ` ${texts.keysAre}` : ""}\n`,
  ].join("");
}

/** Command files that are passed over, with the reason. */
async function unusedLines(
  host: CommandHost,
  commands: readonly SlashCommand[],
  texts: Texts["report_commands"],
): Promise<string[]> {
  const assembly = await host.session().catch(() => undefined);
  if (!assembly) return [];
  const found = commandsOf(assembly);
  const own = new Set(
    commands.filter(({ kind }) => kind === "builtin").flatMap(({ name, aliases = [] }) => [name, ...aliases]),
  );
  const lines = [
    ...found.commands.filter(({ name }) => own.has(name)).map(({ file, name }) =>
      texts.builtinWins(terminalSafe(file), name)
    ),
    ...found.unused.map(({ text }) => terminalSafe(text)),
  ];
  return lines.length === 0 ? [] : [`\n${texts.notUsed}\n`, ...lines.map((line) => `  ${line}\n`)];
}

function lineOf({ name, argumentHint = "", brief }: SlashCommand): string {
  return `- \`/${[name, argumentHint].filter(Boolean).join(" ")}\`: ${brief}`;
}

function unknown(
  name: string,
  commands: readonly SlashCommand[],
  texts: Texts["report_commands"],
): ReasonixError {
  const near = suggestNames(name, commands.map((each) => each.name));
  return usageError(
    texts.noHelp(name),
    near.length === 0 ? texts.helpListsAll : texts.meant(near.map((each) => `/help ${each}`).join(", ")),
  );
}

/** Lines of all diffs together; `/diff PATH` shows more. */
const MOST_LINES = 400;

export const diffCommand: CommandBody = {
  async run(host, path) {
    const texts = await loadTexts("report_commands", host.locale);
    const changes = await changesOf(host);
    const wanted = path === "" ? changes : changes.filter((change) => change.path === path);
    if (changes.length === 0) return host.say(texts.noChanges);
    if (wanted.length === 0) {
      const names = changes.map((change) => change.path).slice(0, 20).join(", ");
      throw usageError(texts.notChanged(path), texts.changedAre(names));
    }
    if (host.lookAt) return await host.lookAt(texts.changedFiles(wanted.length), wanted.map(fileOf(texts)));
    host.say(changesText(wanted, path === "" && !host.headless ? MOST_LINES : Infinity, texts));
  },
  complete: async (host) => (await changesOf(host)).map((change) => ({ value: change.path })),
};

async function changesOf(host: CommandHost): Promise<SessionChange[]> {
  return await (await loadChanges()).sessionChanges(await host.session());
}

function fileOf(texts: ReportTexts): (change: SessionChange) => ChangedFile {
  return (change) => ({ ...change, what: texts.actions[change.action] });
}

type ReportTexts = Awaited<ReturnType<typeof loadTexts<"report_commands">>>;

function changesText(changes: readonly SessionChange[], most: number, texts: ReportTexts): string {
  let left = most;
  const parts = changes.map(({ path, action, diff, ...figures }) => {
    const hunks = diff?.split("\n");
    const head = `**${path}** ${texts.actions[action]}${hunks ? ` ${lineFigures(figures)}` : ""}`;
    if (!hunks) return `${head}, ${texts.noText}`;
    const shown = hunks.slice(0, Math.max(0, left));
    left -= hunks.length;
    if (shown.length === 0) return `${head}, ${texts.askFor(path)}`;
    const more = shown.length < hunks.length ? `\n${texts.restOf(hunks.length - shown.length, path)}` : "";
    const fence = shown.some((line) => line.includes("```")) ? "````" : "```";
    return `${head}\n${fence}diff\n${shown.map(terminalSafe).join("\n")}\n${fence}${more}`;
  });
  return parts.join("\n\n");
}

export const todoCommand: CommandBody = {
  async run(host) {
    const { todos } = (await host.session()).session.state;
    if (todos.length > 0) return host.say(checklist(todos), "plain");
    host.say((await loadTexts("report_commands", host.locale)).noTodos);
  },
};

export const contextCommand: CommandBody = {
  async run(host) {
    const { loaded, inputs, session, servers } = await host.session();
    const { contextReport } = await loadTexts("report_commands", host.locale);
    const report = await contextReportOf({ loaded, inputs, state: session.state, servers });
    host.say(contextText(report, contextReport), "plain");
  },
};

export const costCommand: CommandBody = {
  async run(host) {
    const texts = await loadTexts("report_commands", host.locale);
    const { session: { state }, provider } = await host.session();
    const { usage, turns, durationMs, unpriced } = state;
    if (usage.inputTokens + usage.outputTokens + unpriced === 0) return host.say(texts.nothingSpent);
    const { inputTokens, cachedTokens, outputTokens, reasoningTokens } = usage;
    const share = cacheShare(usage);
    const last = turns.at(-1);
    host.say(
      rowsText([
        [texts.model, provider.model.id],
        [texts.turns, grouped(turns.length)],
        [texts.tokensIn, texts.cachedPart(grouped(inputTokens), grouped(cachedTokens), share)],
        [
          texts.tokensOut,
          reasoningTokens > 0
            ? texts.thoughtPart(grouped(outputTokens), grouped(reasoningTokens))
            : grouped(outputTokens),
        ],
        [texts.cost, moneyFigure(state) ?? texts.unknown],
        ...priceRows(provider.model, texts),
        [texts.lastTurn, last?.cost && `${last.cost.amount.toFixed(4)} ${last.cost.currency}`],
        [texts.time, texts.seconds((durationMs / 1000).toFixed(1))],
      ]),
      "plain",
    );
  },
};

/** The prices that requests are computed with from now on, and their day. */
function priceRows({ price }: ModelInfo, texts: Texts["report_commands"]): Row[] {
  if (!price) return [];
  const { input, cachedInput, cacheWrite = input, output, tiers = [], date = "" } = price;
  const rates = texts.ratesOf(String(input), String(cachedInput), String(cacheWrite), String(output));
  const [above] = tiers.map((tier) => tier.above).sort((a, b) => a - b);
  return [
    [texts.prices, texts.perMillion(rates, price.currency) + (date === "" ? "" : ` (${date})`)],
    ...(above === undefined ? [] : [["", texts.longCostMore(grouped(above))] as const]),
  ];
}

export const statusCommand: CommandBody = {
  async run(host) {
    host.say(rowsText(await rows(host)), "plain");
  },
};

async function rows(host: CommandHost): Promise<readonly Row[]> {
  const texts = await loadTexts("report_commands", host.locale);
  const { loaded, facts } = await host.session();
  const { session, title, directory, model, modes, context, spending, instructions } = facts;
  const { approval, permission, collaboration } = modes;
  const tokens = context && grouped(context.tokens);
  return [
    ["Reasonix", VERSION],
    [texts.session, title === undefined ? session : `${session} "${title}"`],
    [texts.directory, directory],
    [texts.modes, [approval, permission, collaboration].join(" · ")],
    [texts.sandbox, facts.confined ? texts.sandboxOn : texts.sandboxOff],
    [texts.model, `${model.provider}/${model.id}`],
    [texts.effort, model.effort],
    [texts.turns, grouped(facts.turns)],
    [
      texts.context,
      tokens !== undefined && context?.window ? texts.ofWindow(tokens, grouped(context.window)) : tokens,
    ],
    [texts.cacheHit, spending.usage.inputTokens === 0 ? undefined : cacheShare(spending.usage)],
    [texts.cost, moneyFigure(spending)],
    [texts.instructions, instructions.join(", ")],
    [texts.configuration, loaded.files.filter(({ found }) => found).map(({ path }) => path).join(", ")],
    [texts.mcpServers, await serverStates(host)],
    [texts.problem, facts.problem],
  ];
}

/** Counts of MCP servers by state, with the names of those that do not work. */
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

export const sandboxCommand: CommandBody = {
  async run(host) {
    const translator = await loadTranslator(host.locale);
    const { paths, loaded, workspace } = await host.session();
    const lines = await withJail({ paths, loaded, workspace }, (jail) => [
      translator.text(jail.describe(paths.cwd)),
      "",
      ...jail.data.rejected.map(({ backend, reason }) => `- ${backend}: ${reason}`),
    ]);
    host.say(terminalSafe(lines.join("\n").trimEnd()));
  },
};

export const agentsCommand: CommandBody = {
  async run(host) {
    const texts = await loadTexts("report_commands", host.locale);
    const { paths, loaded } = await host.session();
    const { agents, warnings } = await (await loadAgentList()).agentList(paths, loaded);
    const { agentsText } = await loadLists();
    const faults = warnings.map(({ path, line, text }) => `! ${path}:${line}: ${text}\n`);
    host.say(agentsText(agents, texts) + faults.join(""), "plain");
  },
};

export const hooksCommand: CommandBody = {
  async run(host) {
    const texts = await loadTexts("report_commands", host.locale);
    const { paths, loaded } = await host.session();
    const rows = await (await loadHookList()).hookRows(loaded, paths);
    host.say((await loadLists()).hooksText(rows, texts), "plain");
  },
};

export const skillsCommand: CommandBody = {
  async run(host) {
    const texts = await loadTexts("report_commands", host.locale);
    const { inputs, paths, loaded } = await host.session();
    const { skillsText } = await loadLists();
    host.say(await skillsText(inputs.skillSet, { paths, loaded }, texts), "plain");
  },
};

export const memoryCommand: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("report_commands", host.locale);
    const memory = await memoryOf(host);
    const [, name] = /^forget\s+(\S+)$/.exec(argument) ?? [];
    if (name !== undefined) {
      const { archived } = await memory.forget(name);
      return host.say(texts.forgotten(name, archived));
    }
    const [isArchive, archived] = /^archive(?:\s+(\S+))?$/.exec(argument) ?? [];
    if (isArchive !== undefined) return host.say(archiveText(await memory.archive(), archived, texts));
    if (argument !== "") {
      const { name, description, text, scope, updated } = await memory.read(argument);
      return host.say(`**${name}** (${texts.scopes[scope]}, ${updated}): ${description}\n\n${text}`);
    }
    const count = (await memory.archive()).length;
    const hint = [texts.memoryHint, ...(count > 0 ? [texts.archiveHint(count)] : [])].join("\n\n");
    const lines = (await memory.list()).map((fact) =>
      `- \`${fact.name}\` (${texts.scopes[fact.scope]}): ${oneLine(fact.description, 160)}`
    );
    if (lines.length > 0) return host.say([...lines, "", hint].join("\n"));
    host.say([texts.noMemory, ...(count > 0 ? [texts.archiveHint(count)] : [])].join("\n\n"));
  },
  async complete(host) {
    const facts = await factNames(host);
    const isArchived = (await (await memoryOf(host)).archive()).length > 0;
    return [
      ...facts,
      ...(facts.length > 0 ? [{ value: "forget" }] : []),
      ...(isArchived ? [{ value: "archive" }] : []),
    ];
  },
  async completeNext(host, { before: [verb, ...more] }) {
    if (more.length > 0) return [];
    if (verb === "archive") return entries(await (await memoryOf(host)).archive());
    return verb === "forget" ? factNames(host) : [];
  },
};

function archiveText(
  facts: Awaited<ReturnType<MemoryPort["archive"]>>,
  name: string | undefined,
  texts: Texts["report_commands"],
): string {
  if (facts.length === 0) return texts.archiveEmpty;
  if (name === undefined) {
    return facts.map((fact) =>
      `- \`${fact.name}\` (${texts.scopes[fact.scope]}, ${texts.archivedOn(fact.archivedOn)}): ${
        oneLine(fact.description, 160)
      }`
    ).join("\n");
  }
  const found = facts.filter((fact) => fact.name === name);
  if (found.length === 0) {
    throw usageError(texts.notArchived(name), texts.archiveRemedy);
  }
  return found.map((fact) =>
    `**${fact.name}** (${texts.scopes[fact.scope]}, ${
      texts.archivedOn(fact.archivedOn)
    }): ${fact.description}\n\n` +
    fact.text
  ).join("\n\n");
}

async function factNames(host: CommandHost): Promise<ArgumentValue[]> {
  return entries(await (await memoryOf(host)).list());
}

function entries(facts: readonly MemoryEntry[]): ArgumentValue[] {
  return facts.map(({ name, description }) => ({ value: name, detail: oneLine(description, 60) }));
}

async function memoryOf(host: CommandHost): Promise<MemoryPort> {
  const { memory } = (await host.session()).inputs.ports;
  if (memory) return await memory();
  throw new ReasonixError((await loadTexts("report_commands", host.locale)).memoryOff);
}

export const doctorCommand: CommandBody = {
  async run(host, argument) {
    const { paths, loaded } = await host.session();
    const locale = host.locale;
    const texts = await loadTexts("doctor", locale);
    const words = argument.split(/\s+/).map((word) => word.replace(/^--/, ""));
    const online = words.includes("online");
    const { diagnose, reportText } = await loadDoctor();
    const report = await diagnose(paths, { online, loaded, locale, texts, warnings: [] });
    host.say(await reportText(report, texts, { verbose: words.includes("verbose") }), "plain");
  },
  complete: () => [{ value: "online" }, { value: "verbose" }],
};

export const bugCommand: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("report_commands", host.locale);
    const { paths, redact } = await host.session();
    const report = redact(await bugReport(host));
    if (argument === "") {
      const fence = "`".repeat(Math.max(3, ...(report.match(/`+/g) ?? []).map((run) => run.length + 1)));
      return host.say(host.headless ? report : `${fence}text\n${report}${fence}\n\n${texts.bugHint}`);
    }
    const file = isAbsolute(argument) ? argument : `${paths.cwd}/${argument}`;
    try {
      Deno.writeTextFileSync(file, report, { createNew: true });
    } catch (error) {
      const exists = error instanceof Deno.errors.AlreadyExists;
      throw usageError(texts.cannotWrite(file, exists ? texts.exists : errorMessage(error)), texts.otherName);
    }
    host.say(texts.bugWritten(file));
  },
};

/** A report in English, without secrets and without the conversation. */
async function bugReport(host: CommandHost): Promise<string> {
  const { paths, loaded, session: { id, state }, provider: { model } } = await host.session();
  const texts = await loadTexts("doctor", "en");
  const { diagnose, reportText } = await loadDoctor();
  const report = await diagnose(paths, { online: false, loaded, locale: "en", texts, warnings: [] });
  const { env } = paths;
  const terminal = ["TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLORTERM", "TMUX", "LANG", "LC_ALL"]
    .flatMap((name) => env(name) ? [`  ${name.padEnd(10)} ${name === "TMUX" ? "yes" : env(name)}`] : []);
  return [
    "What happened, and what should have happened:\n\n",
    `Session\n  id         ${id}\n  model      ${model.provider}/${model.id}\n`,
    `  turns      ${state.turns.length}\n${lastProblem(state)}\n`,
    `Terminal\n${terminal.join("\n")}\n\n`,
    await reportText(report, texts, { verbose: true }),
  ].join("");
}

type State = Awaited<ReturnType<CommandHost["session"]>>["session"]["state"];

function lastProblem({ events }: State): string {
  const found = [...events.known].findLast((event) =>
    event?.type === "error" || (event?.type === "turn.end" && event.reason !== "done")
  );
  if (found?.type === "error") return `  error      ${found.time} ${found.code}: ${found.text}\n`;
  if (found?.type !== "turn.end") return "";
  return `  last end   ${found.time} ${found.reason}${
    found.detail === undefined ? "" : `: ${found.detail}`
  }\n`;
}
