import { loadConfig, originOf, resolveModel } from "../../src/config/mod.ts";
import { type ContextReport, loadReport } from "../../src/context/mod.ts";
import type { Prefix } from "../../src/core/mod.ts";
import { emptyState, lastSession, loadEvents, projectDir, type SessionState } from "../../src/session/mod.ts";
import { terminalSafe } from "../../src/util/terminal_text.ts";
import { type CliContext, fail } from "../context.ts";
import { gatherKnowledge } from "../knowledge.ts";
import { buildRegistry, buildWorkspace } from "../parts.ts";
import { type Place, workingPlace } from "../place.ts";

interface ContextFlags {
  readonly json?: boolean;
  readonly continue?: boolean;
}

/** What a run would send here, by category: of a new conversation, or of the latest session. */
export async function context(this: CliContext, flags: ContextFlags): Promise<void> {
  try {
    const report = await reportOf(workingPlace(this), flags.continue ?? false);
    this.process.stdout.write(flags.json ? `${JSON.stringify(report, null, 2)}\n` : reportText(report));
  } catch (error) {
    fail(this, error);
  }
}

async function reportOf(place: Place, latest: boolean): Promise<ContextReport> {
  const loaded = await loadConfig(place);
  const { config } = loaded;
  const { entry, model } = resolveModel(config);
  const state = latest ? latestState(place) : emptyState();
  const workspace = buildWorkspace(place, config);
  const knowledge = await gatherKnowledge({ place, loaded, workspace, messages: () => state.messages });
  const prefix: Prefix = state.prefix ??
    { system: knowledge.system, tools: buildRegistry(config, knowledge.tools).schemas() };
  const { contextReport } = await loadReport();
  const { auto, ratio } = config.compaction;
  const declared = originOf(loaded, `providers.${entry.name}.context_window`).source !== "default";
  return await contextReport({
    prefix,
    state,
    model,
    instructions: knowledge.instructions,
    skills: knowledge.skillSet,
    window: entry.context_window,
    compaction: { auto, ratio },
    sendsReasoning: entry.compat.reasoning_field !== undefined,
    ...(knowledge.catalogue === undefined ? {} : { catalogue: knowledge.catalogue }),
    ...(declared ? { windowSource: "declared" } : {}),
    ...(entry.max_output_tokens === undefined ? {} : { maxOutputTokens: entry.max_output_tokens }),
  });
}

function latestState({ home, cwd }: Place): SessionState {
  const last = lastSession(projectDir(home, cwd));
  return last ? loadEvents(last.path).state : emptyState();
}

function reportText(report: ContextReport): string {
  const share = report.percent === undefined
    ? "window unknown"
    : `${report.percent.toFixed(1)} % of ${report.window}`;
  const lines = [
    `${report.model}: ${report.tokens} tokens ${report.measure}, ${share}`,
    ...(report.compactsAt === undefined ? [] : [`compacts at ${report.compactsAt} tokens`]),
    "",
    ...report.categories.map((row) => `${String(row.tokens).padStart(8)}  ${row.name}`),
    "",
    ...report.loaded.map((part) =>
      `${String(part.tokens).padStart(8)}  ${part.kind} ${part.name}${part.from ? `  ${part.from}` : ""}`
    ),
  ];
  return lines.map((line) => `${terminalSafe(line)}\n`).join("");
}
