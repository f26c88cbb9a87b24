import { isLoopback, type LoadedConfig, type ModelChoice, resolveKey } from "../../config/mod.ts";
import {
  Compaction,
  type ContextReport,
  LateInstructions,
  loadReport,
  loadSkills,
  loadTodoReminder,
  type TodoReminder,
} from "../../context/mod.ts";
import { appendIfChanged, changeTools, type ControlledDeps, type Recorder } from "../../control/mod.ts";
import { type Message, message, newNotice, type Prefix, ReasonixError } from "../../core/mod.ts";
import type { Texts } from "../../i18n/mod.ts";
import { type McpServers, namePrefix } from "../../mcp/mod.ts";
import {
  loadTaughtPrefix,
  loadWindow,
  modelInfo,
  type Provider,
  sendsReasoning,
  type WindowFound,
} from "../../provider/mod.ts";
import { loadArchive, type SessionState } from "../../session/mod.ts";
import { programFetch } from "../../util/network/fetch.ts";
import { terminalSafe } from "../../util/terminal_text.ts";
import { unlessAborted } from "../../util/timer.ts";
import { grouped } from "../../view/mod.ts";
import { namedModel, providerOf } from "../provider.ts";
import type { RunContext } from "../run_context.ts";
import { buildRegistry } from "../tools/toolbox.ts";
import type { PromptInputs } from "./prompt_inputs.ts";

/**
 * The work between steps: instructions of directories that were touched, and compaction when the context
 * fills up.
 */
export interface ContextManager
  extends
    Required<Pick<ControlledDeps, "betweenSteps" | "onContextOverflow" | "compact">>,
    Pick<ControlledDeps, "onFailure"> {
  /** Takes what plugins changed, chooses the model that answers, and adds changes of its environment. */
  beforeTurn(): Promise<void>;
  /** Starts plugins and looks up the context window while the model is thinking. */
  warm(): Promise<void>;
  /** Ends the look-up of the context window, with the command that it may wait for. */
  close(): Promise<void>;
}

export async function manageContext(sources: RunContext): Promise<ContextManager> {
  const { recorder, modes, plugins, model: { fallback } } = sources;
  const window = new ContextWindow(sources);
  const compaction = await openCompaction(sources, () => window.tokens);
  const late = lateInstructions(sources);
  const todos = todoReminder(recorder);
  let offered = sources.registry.schemas();
  return {
    async beforeTurn() {
      await plugins?.beforeTurn();
      await fallback?.beforeTurn(sources);
      for (const block of sources.inputs.surroundings()) await appendIfChanged(recorder, block);
    },
    ...(fallback ? { onFailure: (error, failed) => fallback.onFailure(error, failed, sources) } : {}),
    async betweenSteps(signal) {
      await plugins?.betweenSteps();
      // A model that takes no tools answers for the moment: it is offered none.
      if (offered !== sources.registry.schemas() && recorder.state.toolMode !== "none") {
        offered = sources.registry.schemas();
        await changeTools(recorder, offered);
      }
      await modes.announceSwitch();
      for (const content of [...sources.extensions.drainUpdates(), ...late.take()]) {
        await recorder.record({ type: "message.user", content, origin: "context" });
      }
      await compaction.betweenSteps(signal);
      // Behind the compaction, which may have taken the list with it.
      const reminder = await todos();
      if (reminder) await recorder.record({ type: "message.user", content: reminder, origin: "reminder" });
    },
    onContextOverflow: (signal) => compaction.onContextOverflow(signal),
    async compact(hint, signal) {
      await window.discover();
      return await compaction.compact(hint, signal);
    },
    warm() {
      plugins?.warm();
      return window.discover();
    },
    close: () => window.close(),
  };
}

async function openCompaction(sources: RunContext, window: () => number): Promise<Compaction> {
  const { loaded, model: { provider, choice }, recorder, session, inputs, registry } = sources;
  const { auto, ratio, strategy, prune, max_summary_tokens, summary_model } = loaded.config.compaction;
  const carry = inputs.skills && (await loadSkills()).carriedSkill;
  return new Compaction({
    provider,
    conversation: recorder,
    settings: { auto, ratio, strategy, prune, maxSummaryTokens: max_summary_tokens },
    window,
    describe: registry.describe,
    archive: async (messages) => (await loadArchive()).writeArchive(session.paths, messages, new Date()),
    sendsReasoning: (message) => sendsReasoning(message, provider.model, choice?.entry.compat),
    ...(summary_model === "" ? {} : { summaryProvider: () => providerOf(loaded, summary_model) }),
    ...(carry ? { carry } : {}),
    hooks: sources.extensions.compaction,
  });
}

/** Takes the reminder of the todo list that is due, once there is one and the model can change it. */
function todoReminder(recorder: Recorder): () => Promise<string | undefined> {
  let reminder: TodoReminder | undefined;
  return async () => {
    const { state, prefix } = recorder;
    const isKept = state.todos.length > 0 && prefix.tools.some(({ name }) => name === "todo_write");
    if (!isKept) return undefined;
    reminder ??= new (await loadTodoReminder()).TodoReminder();
    return reminder.take(state);
  };
}

function lateInstructions(deps: RunContext): LateInstructions {
  const { paths, loaded, recorder, workspace, registry } = deps;
  return new LateInstructions({
    cwd: paths.cwd,
    home: paths.home,
    maxBytes: loaded.config.instructions_max_bytes || Infinity,
    hidden: (path) => workspace.hidden(path),
    messages: () => recorder.messages,
    describe: registry.describe,
    onNotice: ({ path, problem }) => {
      void recorder.record(newNotice("warning", "instructions", `${path} ${problem}`));
    },
  });
}

/**
 * Tokens the model accepts: what the configuration declares, else what a server on this machine says of
 * itself.
 */
class ContextWindow {
  readonly #sources: RunContext;
  readonly #stop = new AbortController();
  #found = 0;
  #asking: Promise<void> = Promise.resolve();

  constructor(sources: RunContext) {
    this.#sources = sources;
  }

  /** Of the model that answers at the moment. */
  get tokens(): number {
    const { provider: { model }, choice } = this.#sources.model;
    const asked = choice?.entry.name === model.provider && choice.model === model.id;
    return model.contextWindow ?? (asked ? this.#found : 0);
  }

  discover(): Promise<void> {
    const asking = this.#discover();
    const settled = asking.catch(() => {});
    this.#asking = this.#asking.then(() => settled);
    return asking;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#asking;
  }

  async #discover(): Promise<void> {
    const { loaded, recorder, model: { choice, provider } } = this.#sources;
    if (provider.model.contextWindow !== undefined || !choice) return;
    const found = await askServerWindow(loaded, choice, { provider, signal: this.#stop.signal });
    if (!found) return;
    this.#found = found.tokens;
    const text = message`The server's context window is ${grouped(found.tokens)} tokens (${found.source})`;
    await recorder.record(newNotice("info", "window", text));
  }
}

/**
 * Returns the context window of a server on this machine; undefined when the configuration declares it, or
 * the server does not report one.
 */
async function askServerWindow(
  loaded: LoadedConfig,
  { entry, model }: ModelChoice,
  { provider, signal }: { readonly provider?: Provider; readonly signal?: AbortSignal } = {},
): Promise<WindowFound | undefined> {
  if (provider?.askWindow && entry.context_window === undefined) {
    const tokens = await unlessAborted(provider.askWindow(), signal).catch(() => undefined);
    return tokens === undefined ? undefined : { tokens, source: "props" };
  }
  if (entry.context_window !== undefined || !isLoopback(entry.base_url)) return undefined;
  const { discoverWindow } = await loadWindow();
  const apiKey = resolveKey(entry, loaded.keys);
  return await discoverWindow({
    entry,
    model,
    fetch: programFetch,
    apiKey,
    ...(signal ? { signal } : {}),
  });
}

interface ContextReportDeps {
  readonly loaded: LoadedConfig;
  readonly inputs: PromptInputs;
  /** The conversation; one that has not begun yet shows what it would begin with. */
  readonly state: SessionState;
  /** Asks the server for the count. */
  readonly exact?: boolean;
  /** The MCP servers, as far as it is known what they offer. */
  readonly servers?: Pick<McpServers, "tools" | "servers"> | undefined;
}

/** Returns what a run would send next, by category: the data of `reasonix context` and `/context`. */
export async function contextReportOf(
  { loaded, inputs, state, servers, exact = false }: ContextReportDeps,
): Promise<ContextReport> {
  const { config } = loaded;
  const choice = namedModel(loaded, "");
  const { entry, model } = choice;
  const registry = buildRegistry(config, { builtin: inputs.tools, toolMode: inputs.toolMode });
  const sentPrefix = inputs.toolMode === "pseudo" ? (await loadTaughtPrefix()).taughtPrefix : undefined;
  if (servers) registry.setPluginTools(servers.tools());
  const prefix: Prefix = state.prefix ?? { system: inputs.system, tools: registry.schemas() };
  const { contextReport } = await loadReport();
  const { auto, ratio } = config.compaction;
  const info = await modelInfo({ entry, model, home: loaded.home });
  const asked = info.contextWindow === undefined ? await askServerWindow(loaded, choice) : undefined;
  const source = asked?.source ?? (entry.context_window === undefined ? "facts" : "declared");
  return contextReport({
    exact: exact ? await exactCount(loaded, prefix, state.messages) : undefined,
    prefix,
    state,
    model,
    instructions: inputs.instructions,
    skills: inputs.skillSet,
    supplements: inputs.supplements,
    ...(servers
      ? {
        servers: servers.servers.filter(({ enabled }) => enabled)
          .map(({ spec: { name } }) => ({ name, prefix: namePrefix(name) })),
      }
      : {}),
    window: asked?.tokens ?? info.contextWindow ?? 0,
    compaction: { auto, ratio },
    sentPrefix,
    sendsReasoning: (message) => sendsReasoning(message, info, entry.compat),
    ...(inputs.catalogue === undefined ? {} : { catalogue: inputs.catalogue }),
    ...(!asked && info.contextWindow === undefined ? {} : { windowSource: source }),
    ...(info.maxOutputTokens === undefined ? {} : { maxOutputTokens: info.maxOutputTokens }),
  });
}

/** Tokens of a request as its server counts them. Rejects with a ReasonixError where it counts none. */
async function exactCount(
  loaded: LoadedConfig,
  prefix: Prefix,
  messages: readonly Message[],
): Promise<number> {
  const { entry, model } = namedModel(loaded, "");
  const provider = await providerOf(loaded, `${entry.name}/${model}`);
  const counted = await provider.count?.({ prefix, messages }, new AbortController().signal);
  if (counted !== undefined) return counted;
  throw new ReasonixError(
    message`Provider "${entry.name}" of kind "${entry.kind}" counts no tokens beforehand`,
    {
      exit: "config",
      remedy: message`leave --exact out: the count is then made here, or taken from the last reply`,
    },
  );
}

export function contextText(report: ContextReport, texts: Texts["report_commands"]["contextReport"]): string {
  const share = report.percent === undefined
    ? texts.windowUnknown
    : texts.share(report.percent.toFixed(1), grouped(report.window ?? 0));
  const lines = [
    texts.total[report.measure](report.model, grouped(report.tokens), share),
    ...(report.compactsAt === undefined ? [] : [texts.compactsAt(grouped(report.compactsAt))]),
    "",
    ...report.categories.filter(({ tokens }) => tokens > 0)
      .map((row) => `${grouped(row.tokens).padStart(9)}  ${texts.categories[row.name]}`),
    "",
    ...report.loaded.filter(({ kind, tokens }) => tokens > 0 || kind !== "skill").map((part) =>
      `${grouped(part.tokens).padStart(9)}  ${texts.kinds[part.kind]} ${part.name}${
        part.from ? `  ${part.from}` : ""
      }`
    ),
    ...report.shadowed.map(({ path, by }) => texts.shadowed(path, by)),
    ...report.notices.map(({ path, text }) => `! ${path} ${text}`),
  ];
  return lines.map((line) => `${terminalSafe(line)}\n`).join("");
}
