import type { LoadedConfig } from "../../config/mod.ts";
import { type ContextReport, loadReport } from "../../context/mod.ts";
import { type Message, message, type Prefix, ReasonixError } from "../../core/mod.ts";
import type { Texts } from "../../i18n/mod.ts";
import { type McpServers, namePrefix } from "../../mcp/mod.ts";
import { loadTaughtPrefix, modelInfo, sendsReasoning } from "../../provider/mod.ts";
import type { SessionState } from "../../session/mod.ts";
import { terminalSafe } from "../../util/terminal_text.ts";
import { grouped } from "../../view/mod.ts";
import { namedModel, providerOf } from "../provider.ts";
import type { PromptInputs } from "./prompt_inputs.ts";
import { buildRegistry } from "../tools/offered_tools.ts";
import { askServerWindow } from "./context_management.ts";

export interface ContextReportDeps {
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

/** The report for people. */
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
